"""The columns of CSV files, and how they are written. Flink: ``CsvSchema``; :mod:`.csv` has the names."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.formats._row_types import type_of
from compat.state.types import RowTypeInfo, TypeInformation, Types


class CsvSchema:
    """Columns and delimiters (Jackson: ``CsvSchema``). ``settings`` is everything but the columns."""

    def __init__(self, columns: tuple[tuple[str, str, TypeInformation], ...], settings: dict[str, Any]) -> None:
        self.columns = columns
        self.settings = dict(settings)
        self.row_type = RowTypeInfo([type_ for _, _, type_ in columns], [name for name, _, _ in columns])

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Start without columns."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CsvSchema) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.columns)

    def __str__(self) -> str:
        def shown(setting: str) -> str:
            return "true" if self.settings.get(setting) else "false"

        columns = ",".join(f'"{name}"/{kind}' for name, kind, _ in self.columns)
        return (
            f"[CsvSchema: columns=[{columns}], header? {shown('use_header')}, "
            f"skipFirst? {shown('skip_first_data_row')}, comments? {shown('allow_comments')}, "
            f"any-properties? {self.settings.get('any_property_name') or 'N/A'}]"
        )

    __repr__ = __str__


class CsvSchemaBuilder:
    """Collects columns and settings of a :class:`CsvSchema`."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, str, TypeInformation]] = []
        self._settings: dict[str, Any] = {}

    def build(self) -> CsvSchema:
        """The schema."""
        return CsvSchema(tuple(self._columns), self._settings)

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> CsvSchemaBuilder:
        """A column of several values with a separator between them; texts if no type is given."""
        element = Types.STRING() if element_type is None else type_of(element_type)
        self._settings.setdefault("array_separators", {})[name] = separator
        return self._add(name, "ARRAY", Types.OBJECT_ARRAY(element))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of true and false."""
        return self._add(name, "BOOLEAN", Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """A column of numbers; of 64 bits if no type is given."""
        return self._add(name, "NUMBER", Types.LONG() if number_type is None else type_of(number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of texts."""
        return self._add(name, "STRING", Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """The columns of another schema."""
        self._columns.extend(schema.columns)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Set whether lines that begin with # are skipped."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """The name under which surplus columns are put."""
        return self._set(any_property_name=name)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """No separator inside columns."""
        return self._set(array_element_separator="")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """No separator inside one column."""
        self._settings.setdefault("array_separators", {})[self._columns[index][0]] = ""
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """The separator of values inside a column."""
        return self._set(array_element_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """The separator of columns."""
        return self._set(column_separator=_one_character("Column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No escape character."""
        return self._set(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that escapes the next one."""
        return self._set(escape_char=_one_character("Escape char", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """The separator of lines, for writing."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text for None."""
        return self._set(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """No quotes."""
        return self._set(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """The quote around texts with separators inside."""
        return self._set(quote_char=_one_character("Quote char", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line is skipped."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Set whether the header must have the schema's columns."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line names the columns."""
        return self._set(use_header=use)

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _add(self, name: str, kind: str, type_info: TypeInformation) -> CsvSchemaBuilder:
        self._columns.append((name, kind, type_info))
        return self

    def _set(self, **settings: Any) -> CsvSchemaBuilder:
        self._settings.update(settings)
        return self


def _one_character(what: str, char: str) -> str:
    if len(char) != 1:
        raise ValueError(f"{what} must be a single char, got {char}")
    return char
