"""The entry point of programs. Flink: ``StreamExecutionEnvironment``."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from compat.compiler.configuration import (
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    CHAIN_DIFFERENT_MAX_PARALLELISM,
    CHAINING,
    PYTHON_CHAINING,
    RUNTIME_MODE,
    JobSettings,
    checkpoint_interval,
    parse_duration,
)
from compat.compiler.datastream._location import here
from compat.compiler.datastream._sources import Sources
from compat.compiler.datastream._versions import only
from compat.compiler.datastream.beyond.environment import EnvironmentBeyond
from compat.compiler.datastream.checkpoint_config import CheckpointConfig
from compat.compiler.datastream.checkpointing_mode import CheckpointingMode
from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.common.execution_config import ExecutionConfig
from compat.compiler.datastream.common.job_execution_result import DetachedJobExecutionResult, JobExecutionResult
from compat.compiler.datastream.common.restart_strategy import RestartStrategyConfiguration
from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.datastream.program import current_program
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.datastream.state_backend import StateBackend
from compat.compiler.datastream.time_characteristic import TimeCharacteristic
from compat.compiler.errors import ErrorCode, FlinkError, illegal_argument, illegal_state
from compat.compiler.job import Job
from compat.compiler.transformations.alignment import align
from compat.compiler.transformations.merging import merge
from compat.compiler.transformations.pipeline import Pipeline

if TYPE_CHECKING:
    from compat.compiler.datastream.common.job_client import JobClient

__all__ = ["StreamExecutionEnvironment"]

ATTACHED = "execution.attached"
CHANGELOG = "state.changelog.enabled"
TIME_CHARACTERISTIC = "pipeline.time-characteristic"
SAVEPOINT_DIRECTORY = "execution.checkpointing.savepoint-dir"
PYTHON_FILES = "python.files"
PYTHON_REQUIREMENTS = "python.requirements"
PYTHON_ARCHIVES = "python.archives"
PYTHON_EXECUTABLE = "python.executable"
JARS = "pipeline.jars"
_PROTOCOLS = frozenset({"file", "ftp", "http", "https", "jar", "jmod", "jrt", "mailto"})
"""The protocols of URLs that Java knows."""
CLASSPATHS = "pipeline.classpaths"
CACHED_FILES = "pipeline.cached-files"


class StreamExecutionEnvironment(Sources, EnvironmentBeyond):
    """Makes streams, and turns what was built into jobs.

    ``configuration`` holds every setting as an option; the setters write into it. ``pipeline`` holds the transformations, and
    ``program`` the things that the environments of one program share.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.program = current_program()
        self.configuration = Configuration()
        for key, value in self.program.options.items():
            self.configuration.set_string(key, value)
        if configuration is not None:
            self.configuration.add_all(configuration)
        checkpoint_interval(self.configuration.to_dict(), here())
        self.pipeline = Pipeline(self.program.counter)
        self._built: Pipeline | None = None
        self.job_listeners: list[Any] = []
        self._state_backend: StateBackend | None = None

    def __reduce__(self) -> Any:
        """Refused: it belongs to the program that builds the job, not to the functions that run in it."""
        raise TypeError(f"cannot pickle a {type(self).__name__}: functions cannot use what builds the job")

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """A new environment, with the options of ``configuration`` over those from outside."""
        return StreamExecutionEnvironment(configuration)

    def get_config(self) -> ExecutionConfig:
        """The settings of the job, except those of checkpoints."""
        return ExecutionConfig(self.configuration, self.program.parallelism)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """The parallelism of operators built from now on that have none of their own."""
        self.get_config().set_parallelism(parallelism)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """The number of key groups of operators that set none themselves."""
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """Set the resources of a group's slots; the last call counts, as in Flink."""
        resources = slot_sharing_group.resources(here())
        if resources is not None:
            self.pipeline.slot_sharing_groups[slot_sharing_group.get_name()] = resources
        return self

    def get_parallelism(self) -> int:
        return self.get_config().get_parallelism()

    def get_max_parallelism(self) -> int:
        return self.get_config().get_max_parallelism()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set the mode: streaming, batch, or by the sources."""
        self.configuration.set_string(RUNTIME_MODE, execution_mode.name)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Set how long a buffer may wait to be filled; 0 sends each record at once, -1 waits for full ones."""
        if timeout_millis < -1:
            raise illegal_argument("Timeout of buffer must be non-negative or -1", location=here())
        self.configuration.set_boolean(BUFFER_TIMEOUT_ENABLED, timeout_millis >= 0)
        if timeout_millis >= 0:
            self.configuration.set_string(BUFFER_TIMEOUT, f"{timeout_millis} ms")
        return self

    def get_buffer_timeout(self) -> int:
        if not self.configuration.get_boolean(BUFFER_TIMEOUT_ENABLED, True):
            return -1
        return parse_duration(self.configuration.get_string(BUFFER_TIMEOUT, "100 ms"))

    @only("1.20")
    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Set whether watermarks come by themselves: every 200 ms, or not at all in processing time."""
        self.get_config().set_auto_watermark_interval(0 if characteristic is TimeCharacteristic.ProcessingTime else 200)
        self.configuration.set_string(TIME_CHARACTERISTIC, characteristic.name)

    @only("1.20")
    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        return TimeCharacteristic[self.configuration.get_string(TIME_CHARACTERISTIC, "EventTime")]

    @only("1.20")
    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Set the backend of working state; backends of the old kind also set the storage of checkpoints."""
        for key, value in state_backend.options().items():
            self.configuration.set_string(key, value)
        self._state_backend = state_backend
        return self

    @only("1.20")
    def get_state_backend(self) -> StateBackend | None:
        """The state backend that was set; None if none was."""
        return self._state_backend

    @only("1.20")
    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> None:
        """Set the restart strategy of the job."""
        self.get_config().set_restart_strategy(restart_strategy_configuration)

    @only("1.20")
    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """The restart strategy of the job; the cluster's if the program sets none."""
        return self.get_config().get_restart_strategy()

    @only("1.20")
    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        self.get_config().add_default_kryo_serializer(type_class_name, serializer_class_name)

    @only("1.20")
    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        self.get_config().register_type_with_kryo_serializer(type_class_name, serializer_class_name)

    @only("1.20")
    def register_type(self, type_class_name: str) -> None:
        """Register a class with Flink's own serializers and with Kryo; nothing here is serialized by them."""
        self.get_config().register_pojo_type(type_class_name)
        self.get_config().register_kryo_type(type_class_name)

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Run every operator in a thread of its own. PyFlink's merging of Python operators is another switch."""
        self.configuration.set_boolean(CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        return self.configuration.get_boolean(CHAINING, True)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        return self.configuration.get_boolean(CHAIN_DIFFERENT_MAX_PARALLELISM, True)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The checkpoint settings."""
        return CheckpointConfig(self.configuration)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> StreamExecutionEnvironment:
        """Take a checkpoint every ``interval`` milliseconds."""
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between checkpoints; -1 when there are none."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        return self.get_checkpointing_mode()

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Keep a log of state changes beside the state."""
        self.configuration.set_boolean(CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """None when nothing is said about it."""
        if not self.configuration.contains_key(CHANGELOG):
            return None
        return self.configuration.get_boolean(CHANGELOG, False)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Set the directory of savepoints without a path of their own."""
        self.configuration.set_string(SAVEPOINT_DIRECTORY, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        return self.configuration.to_dict().get(SAVEPOINT_DIRECTORY)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def configure(self, configuration: Configuration) -> None:
        """Take over all options of ``configuration``. As in Flink, an option that no job can have is refused here."""
        self.configuration.add_all(configuration)
        checkpoint_interval(self.configuration.to_dict(), here())

    def add_python_file(self, file_path: str) -> None:
        """A module, package or archive that the functions import."""
        self._append(PYTHON_FILES, file_path, ",", front=True)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """A requirements file for the tasks' Python, and a directory that has the packages."""
        self.configuration.set_string(
            PYTHON_REQUIREMENTS, _with_parameter(requirements_file_path, requirements_cache_dir)
        )

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """An archive that is unpacked in the tasks' working directory."""
        self._append(PYTHON_ARCHIVES, _with_parameter(archive_path, target_dir), ",")

    def set_python_executable(self, python_exec: str) -> None:
        """The interpreter of the tasks."""
        self.configuration.set_string(PYTHON_EXECUTABLE, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Java archives of connectors, as URLs. They are kept among the options; nothing here needs them."""
        for jar in jars_path:
            self._append(JARS, _url(jar), ";")

    def add_classpaths(self, *classpaths: str) -> None:
        """Class paths of the user's code, as URLs. They are kept among the options; nothing here needs them."""
        for path in classpaths:
            self._append(CLASSPATHS, _url(path), ";")

    def get_default_local_parallelism(self) -> int:
        """The default parallelism of a local run."""
        return self.program.parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the default parallelism of a local run, for all environments."""
        self.program.set_local_parallelism(parallelism)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """A file that every task finds under ``name``."""
        if f"name:{name}," in self.configuration.get_string(CACHED_FILES, ""):
            raise illegal_argument(f"cache file named {name} already exists!", location=here())
        path = file_path.replace("'", "''")
        entry = f"name:{name},path:'{path}',executable:{str(executable).lower()}"
        self._append(CACHED_FILES, entry, ";")

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Submit the program so far as a job and wait for its end; with ``execution.attached=false``, do not wait."""
        self.optimise()
        attached = self.configuration.get_boolean(ATTACHED, True)
        client = self.submit(job_name, attached=attached)
        if not attached:
            detached = DetachedJobExecutionResult(client.get_job_id())
            self._tell("on_job_executed", detached, None)
            return detached
        try:
            result: JobExecutionResult = client.get_job_execution_result().result()
        except Exception as error:
            self._tell("on_job_executed", None, error)
            raise
        self._tell("on_job_executed", result, None)
        return result

    def execute_async(self, job_name: str = "Flink Streaming Job") -> JobClient:
        """Submit the program so far as a job; gives its client at once."""
        self.optimise()
        return self.submit(job_name, attached=False)

    def get_execution_plan(self) -> str:
        """The graph of the program so far, in the JSON that Flink's plan visualizer reads."""
        from compat.compiler.streamgraph.json_plan import execution_plan

        self.optimise()
        job = self._job(None, attached=True, collect=None)
        plan = execution_plan(job)
        self.pipeline.catch_up()
        return plan

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def optimise(self, target: int | None = None) -> int:
        """Apply PyFlink's two passes to the program so far; gives the transformation in place of ``target``."""
        if self.program.planning:
            self._built = self.pipeline.copy()
        align(self.pipeline)
        if self.configuration.get_boolean(PYTHON_CHAINING, True):
            target = merge(self.pipeline, target)
        return -1 if target is None else target

    def submit(self, job_name: str | None, *, attached: bool, collect: int | None = None) -> JobClient:
        """Hand the program so far to the executor, and start empty again."""
        job = self._job(job_name, attached=attached, collect=collect)
        try:
            client: Any = self.program.require_executor().submit(job)
        except Exception as error:
            self._tell("on_job_submitted", None, error)
            raise
        self.pipeline.catch_up()
        self.pipeline.clear()
        self._tell("on_job_submitted", client, None)
        return client  # type: ignore[no-any-return]

    def _tell(self, method: str, told: Any, error: Exception | None) -> None:
        """Tell the listeners of a job, or why there is none."""
        for listener in () if self.program.planning else self.job_listeners:
            heard = getattr(listener, method)
            try:
                signature(heard).bind(told, error)
            except TypeError:
                if error is None:
                    heard(told)
            else:
                heard(told, error)

    def _job(self, name: str | None, *, attached: bool, collect: int | None) -> Job:
        if not self.pipeline.registered:
            raise illegal_state(
                "No operators defined in streaming topology. Cannot execute.",
                stage="streamGraph",
                location=here(),
            )
        settings = JobSettings.from_options(self.configuration.to_dict(), parallelism=self.program.parallelism)
        return Job(
            name=name,
            pipeline=self.pipeline.copy(),
            settings=settings,
            attached=attached,
            collect=collect,
            location=here(),
            on_spark=self.program.on_spark,
            beyond=() if self.program.on_spark else tuple(self.program.beyond.items()),
            built=self._built,
        )

    def _append(self, key: str, value: str, separator: str, *, front: bool = False) -> None:
        present = self.configuration.get_string(key, "")
        parts = [value, present] if front else [present, value]
        self.configuration.set_string(key, separator.join(part for part in parts if part))


def _with_parameter(path: str, parameter: str | None) -> str:
    return path if parameter is None else f"{path}#{parameter}"


def _url(text: str) -> str:
    """A text that is a URL to Java. Raises FlinkError for another one, as ``java.net.URL`` does."""
    protocol, colon, _ = text.partition(":")
    if colon and protocol.lower() in _PROTOCOLS:
        return text
    told = f"unknown protocol: {protocol.lower()}" if colon else f"no protocol: {text}"
    raise FlinkError(
        "java.net.MalformedURLException",
        f"{told}. It has to be a URL, such as file:///opt/a.jar.",
        code=ErrorCode.ILLEGAL_ARGUMENT,
        location=here(),
    )
