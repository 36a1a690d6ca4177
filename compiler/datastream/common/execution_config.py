"""Settings of a job. Flink: ``ExecutionConfig``."""

from __future__ import annotations

from typing import Any

from compat.compiler.configuration import AUTO_GENERATED_UIDS, MAX_PARALLELISM, PARALLELISM, parse_duration
from compat.compiler.datastream._versions import only
from compat.compiler.datastream.common.configuration import Configuration, as_text
from compat.compiler.datastream.common.execution_mode import ExecutionMode
from compat.compiler.datastream.common.input_dependency_constraint import InputDependencyConstraint
from compat.compiler.datastream.common.restart_strategy import (
    RESTART_OPTIONS,
    RestartStrategyConfiguration,
    strategy_of,
)
from compat.compiler.errors import illegal_argument
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM

__all__ = ["ExecutionConfig"]

CLOSURE_CLEANER = "pipeline.closure-cleaner-level"
AUTO_WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"
LATENCY_INTERVAL = "metrics.latency.interval"
CANCELLATION_INTERVAL = "task.cancellation.interval"
CANCELLATION_TIMEOUT = "task.cancellation.timeout"
FORCE_KRYO = "pipeline.force-kryo"
GENERIC_TYPES = "pipeline.generic-types"
FORCE_AVRO = "pipeline.force-avro"
OBJECT_REUSE = "pipeline.object-reuse"
GLOBAL_JOB_PARAMETERS = "pipeline.global-job-parameters"
DEFAULT_KRYO = "pipeline.default-kryo-serializers"
KRYO_SERIALIZERS = "pipeline.kryo-serializers-of-types"
KRYO_TYPES = "pipeline.registered-kryo-types"
POJO_TYPES = "pipeline.registered-pojo-types"
AUTO_TYPES = "pipeline.auto-type-registration"
EXECUTION_MODE = "pipeline.data-set-execution-mode"
INPUT_CONSTRAINT = "pipeline.input-dependency-constraint"
SNAPSHOT_COMPRESSION = "execution.checkpointing.snapshot-compression"


class ExecutionConfig:
    """Reads and writes the options of the environment that it belongs to."""

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration, default_parallelism: int = 1) -> None:
        self._configuration = configuration
        self._default_parallelism = default_parallelism

    def enable_closure_cleaner(self) -> ExecutionConfig:
        return self._set(CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        return self._set(CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        return self._configuration.get_string(CLOSURE_CLEANER, "RECURSIVE").upper() != "NONE"

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Milliseconds between periodic watermarks; 0 switches them off."""
        if interval < 0:
            raise illegal_argument("Auto watermark interval must not be negative.")
        return self._set(AUTO_WATERMARK_INTERVAL, f"{interval} ms")

    def get_auto_watermark_interval(self) -> int:
        return self._duration(AUTO_WATERMARK_INTERVAL, 200)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Milliseconds between latency markers; 0 switches them off."""
        return self._set(LATENCY_INTERVAL, f"{interval} ms")

    def get_latency_tracking_interval(self) -> int:
        return self._duration(LATENCY_INTERVAL, 0)

    def get_parallelism(self) -> int:
        return self._configuration.get_integer(PARALLELISM, self._default_parallelism)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """The parallelism of operators that have none of their own."""
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise illegal_argument(
                "Parallelism must be at least one, or ExecutionConfig.PARALLELISM_DEFAULT (use system default)."
            )
        return self._set(PARALLELISM, parallelism)

    def get_max_parallelism(self) -> int:
        return self._configuration.get_integer(MAX_PARALLELISM, -1)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """The number of key groups of operators that set none themselves."""
        if not 0 < max_parallelism <= HIGHEST_MAX_PARALLELISM:
            raise illegal_argument(
                f"maxParallelism is out of bounds 0 < maxParallelism <= {HIGHEST_MAX_PARALLELISM}. "
                f"Found: {max_parallelism}"
            )
        return self._set(MAX_PARALLELISM, max_parallelism)

    def get_task_cancellation_interval(self) -> int:
        return self._duration(CANCELLATION_INTERVAL, 30_000)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        return self._set(CANCELLATION_INTERVAL, f"{interval} ms")

    def get_task_cancellation_timeout(self) -> int:
        return self._duration(CANCELLATION_TIMEOUT, 180_000)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        if timeout < 0:
            raise illegal_argument("Timeout needs to be >= 0.")
        return self._set(CANCELLATION_TIMEOUT, f"{timeout} ms")

    def enable_force_kryo(self) -> ExecutionConfig:
        return self._set(FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        return self._set(FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        return self._configuration.get_boolean(FORCE_KRYO, False)

    def enable_generic_types(self) -> ExecutionConfig:
        return self._set(GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        return self._set(GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        return not self._configuration.get_boolean(GENERIC_TYPES, True)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        return self._set(AUTO_GENERATED_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse operators without a uid."""
        return self._set(AUTO_GENERATED_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        return self._configuration.get_boolean(AUTO_GENERATED_UIDS, True)

    def enable_force_avro(self) -> ExecutionConfig:
        return self._set(FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        return self._set(FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        return self._configuration.get_boolean(FORCE_AVRO, False)

    def enable_object_reuse(self) -> ExecutionConfig:
        return self._set(OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        return self._set(OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        return self._configuration.get_boolean(OBJECT_REUSE, False)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Parameters that every function of the job can read."""
        text = self._configuration.get_string(GLOBAL_JOB_PARAMETERS, "")
        return dict(_pair(item) for item in text.split(",") if item)

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        return self._set(
            GLOBAL_JOB_PARAMETERS,
            ",".join(f"{_quoted(key)}:{_quoted(as_text(value))}" for key, value in global_job_parameters_dict.items()),
        )

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Names of Java classes by the name of the class that they serialize; nothing here is serialized with Kryo."""
        return self._serializers(DEFAULT_KRYO)

    def get_registered_kryo_types(self) -> list[str]:
        """Names of Java classes; nothing here is serialized with Kryo."""
        return self._classes(KRYO_TYPES)

    def get_registered_pojo_types(self) -> list[str]:
        """Names of Java classes; there are no Java objects here."""
        return self._classes(POJO_TYPES)

    @only("1.20")
    def get_registered_types_with_kryo_serializer_classes(self) -> dict[str, str]:
        """Names of Java classes by the name of the class that they serialize; nothing here is serialized with Kryo."""
        return self._serializers(KRYO_SERIALIZERS)

    @only("1.20")
    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> ExecutionConfig:
        return self._append(DEFAULT_KRYO, f"class:{type_class_name},serializer:{serializer_class_name}")

    @only("1.20")
    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> ExecutionConfig:
        return self._append(KRYO_SERIALIZERS, f"class:{type_class_name},serializer:{serializer_class_name}")

    @only("1.20")
    def register_kryo_type(self, type_class_name: str) -> ExecutionConfig:
        return self._append(KRYO_TYPES, type_class_name)

    @only("1.20")
    def register_pojo_type(self, type_class_name: str) -> ExecutionConfig:
        return self._append(POJO_TYPES, type_class_name)

    @only("1.20")
    def is_auto_type_registration_disabled(self) -> bool:
        return not self._configuration.get_boolean(AUTO_TYPES, True)

    @only("1.20")
    def disable_auto_type_registration(self) -> ExecutionConfig:
        return self._set(AUTO_TYPES, False)

    @only("1.20")
    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> ExecutionConfig:
        """Set the restart strategy of the job."""
        for key in RESTART_OPTIONS:
            self._configuration.remove_config(key)
        for key, value in restart_strategy_configuration.options().items():
            self._set(key, value)
        return self

    @only("1.20")
    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """The restart strategy of the job; the cluster's if the program sets none."""
        return strategy_of(self._configuration.to_dict())

    @only("1.20")
    def set_execution_mode(self, execution_mode: ExecutionMode) -> ExecutionConfig:
        """Set how batch programs of Flink's DataSet API exchanged data; it has no effect on streams."""
        return self._set(EXECUTION_MODE, execution_mode.name)

    @only("1.20")
    def get_execution_mode(self) -> ExecutionMode:
        return ExecutionMode[self._configuration.get_string(EXECUTION_MODE, "PIPELINED")]

    @only("1.20")
    def set_default_input_dependency_constraint(
        self, input_dependency_constraint: InputDependencyConstraint
    ) -> ExecutionConfig:
        """Stored, but unused since Flink 1.13."""
        return self._set(INPUT_CONSTRAINT, input_dependency_constraint.name)

    @only("1.20")
    def get_default_input_dependency_constraint(self) -> InputDependencyConstraint:
        return InputDependencyConstraint[self._configuration.get_string(INPUT_CONSTRAINT, "ANY")]

    def is_use_snapshot_compression(self) -> bool:
        return self._configuration.get_boolean(SNAPSHOT_COMPRESSION, False)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def _set(self, key: str, value: str | int | bool) -> ExecutionConfig:
        self._configuration.set_string(key, as_text(value))
        return self

    def _append(self, key: str, item: str) -> ExecutionConfig:
        present = self._configuration.get_string(key, "")
        return self._set(key, f"{present};{item}" if present else item)

    def _classes(self, key: str) -> list[str]:
        return [name for name in self._configuration.get_string(key, "").split(";") if name]

    def _serializers(self, key: str) -> dict[str, str]:
        pairs = (dict(_pair(part) for part in item.split(",")) for item in self._classes(key))
        return {pair["class"]: pair["serializer"] for pair in pairs}

    def _duration(self, key: str, default: int) -> int:
        text = self._configuration.get_string(key, "")
        return parse_duration(text) if text else default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)


_ESCAPES = (("%", "%25"), (",", "%2C"), (":", "%3A"))


def _quoted(text: str) -> str:
    for raw, escaped in _ESCAPES:
        text = text.replace(raw, escaped)
    return text


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition(":")
    for raw, escaped in reversed(_ESCAPES):
        key, value = key.replace(escaped, raw), value.replace(escaped, raw)
    return key, value
