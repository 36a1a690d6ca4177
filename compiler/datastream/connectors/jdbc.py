"""Writing to databases. Flink: ``pyflink.datastream.connectors.jdbc``."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compat.compiler.datastream.functions import SinkFunction
from compat.compiler.errors import illegal_argument
from compat.state.types import RowTypeInfo

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcSink(SinkFunction):
    """Runs a statement for each row, in batches (Flink: ``JdbcSink``)."""

    connector = "jdbc"

    def __init__(self, j_jdbc_sink: Any, settings: dict[str, Any] | None = None) -> None:
        super().__init__(j_jdbc_sink)
        self.settings = settings or {}

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """The sink for a statement with a ``?`` for each field of the row."""
        if not isinstance(type_info, RowTypeInfo):
            raise TypeError(f"JdbcSink.sink takes the type of the rows, such as Types.ROW([…]), got {type_info!r}.")
        return JdbcSink(
            "JdbcSink",
            {
                "sql": sql,
                "type_info": type_info,
                "connection": jdbc_connection_options,
                "execution": jdbc_execution_options or JdbcExecutionOptions.defaults(),
            },
        )


class JdbcConnectionOptions(Struct, frozen=True):
    """The connection to the database (Flink: ``JdbcConnectionOptions``)."""

    url: str
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = None

    def get_db_url(self) -> str:
        """The JDBC URL."""
        return self.url

    def get_driver_name(self) -> str | None:
        """The class of the driver."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """The user."""
        return self.user_name

    def get_password(self) -> str | None:
        """The user's password."""
        return self.password

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({self.url!r}, {self.driver_name!r}, {self.user_name!r})"

    class JdbcConnectionOptionsBuilder:
        """Collects the options; the URL is required."""

        def __init__(self) -> None:
            self._options: dict[str, str] = {}

        def _set(self, **options: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options.update(options)
            return self

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The JDBC URL."""
            return self._set(url=url)

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The class of the driver."""
            return self._set(driver_name=driver_name)

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user."""
            return self._set(user_name=user_name)

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user's password."""
            return self._set(password=password)

        def build(self) -> JdbcConnectionOptions:
            """The options."""
            if "url" not in self._options:
                raise illegal_argument(
                    "JdbcConnectionOptions cannot be built: url is not set. Call with_url(…) on the builder."
                )
            return JdbcConnectionOptions(**self._options)


class JdbcExecutionOptions(Struct, frozen=True):
    """The batches of rows (Flink: ``JdbcExecutionOptions``)."""

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """The longest time that a row waits; 0 for no limit."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """The largest number of rows that wait."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """The number of further tries of a batch."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """5,000 rows, no limit of time, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Start with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Collects the options."""

        def __init__(self) -> None:
            self._options: dict[str, int] = {}

        def _set(self, **options: int) -> JdbcExecutionOptions.Builder:
            self._options.update(options)
            return self

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """The largest number of rows that wait."""
            return self._set(batch_size=size)

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """The longest time that a row waits."""
            return self._set(batch_interval_ms=interval_ms)

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set the number of further tries of a batch."""
            return self._set(max_retries=max_retries)

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            return JdbcExecutionOptions(**self._options)
