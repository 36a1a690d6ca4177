"""What PyFlink 1.20 has and 2.3 has not: settings of the environment. Values seen in PyFlink 1.20.1."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from compat.compiler.datastream.checkpoint_config import ExternalizedCheckpointCleanup
from compat.compiler.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from compat.compiler.datastream.common.execution_mode import ExecutionMode
from compat.compiler.datastream.common.input_dependency_constraint import InputDependencyConstraint
from compat.compiler.datastream.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.state_backend import (
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    RocksDBStateBackend,
    StateBackend,
)
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.datastream.time_characteristic import TimeCharacteristic
from compat.compiler.errors import FlinkError


@pytest.fixture
def environment() -> Iterator[StreamExecutionEnvironment]:
    with running(Program(flink="1.20")):
        yield StreamExecutionEnvironment.get_execution_environment()


def test_what_holds_where_nothing_is_said(environment: StreamExecutionEnvironment) -> None:
    config, checkpoints = environment.get_config(), environment.get_checkpoint_config()
    assert environment.get_state_backend() is None
    assert environment.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    assert type(environment.get_restart_strategy()) is RestartStrategies.FallbackRestartStrategyConfiguration
    assert checkpoints.get_checkpoint_storage() is None
    assert (
        checkpoints.get_externalized_checkpoint_cleanup() is ExternalizedCheckpointCleanup.NO_EXTERNALIZED_CHECKPOINTS
    )
    assert config.get_execution_mode() is ExecutionMode.PIPELINED
    assert config.get_default_input_dependency_constraint() is InputDependencyConstraint.ANY
    assert not config.is_auto_type_registration_disabled()
    assert (checkpoints.DEFAULT_TIMEOUT, checkpoints.DEFAULT_MAX_CONCURRENT_CHECKPOINTS) == (600_000, 1)


@pytest.mark.parametrize(
    ("characteristic", "interval"),
    [
        (TimeCharacteristic.ProcessingTime, 0),
        (TimeCharacteristic.IngestionTime, 200),
        (TimeCharacteristic.EventTime, 200),
    ],
)
def test_the_clock_says_how_often_watermarks_come(
    environment: StreamExecutionEnvironment, characteristic: TimeCharacteristic, interval: int
) -> None:
    environment.set_stream_time_characteristic(characteristic)
    assert environment.get_stream_time_characteristic() is characteristic
    assert environment.get_config().get_auto_watermark_interval() == interval


@pytest.mark.parametrize(
    ("backend", "kind", "storage", "folder"),
    [
        (HashMapStateBackend(), "hashmap", None, None),
        (MemoryStateBackend(), "hashmap", "jobmanager", None),
        (MemoryStateBackend("file:///c", "file:///s"), "hashmap", "jobmanager", "file:///c"),
        (FsStateBackend("file:///c"), "hashmap", "filesystem", "file:///c"),
        (RocksDBStateBackend("file:///c", True), "rocksdb", "filesystem", "file:///c"),
        (RocksDBStateBackend(checkpoint_stream_backend=MemoryStateBackend()), "rocksdb", "jobmanager", None),
    ],
)
def test_a_backend_of_the_old_kind_also_says_where_checkpoints_go(
    environment: StreamExecutionEnvironment, backend: StateBackend, kind: str, storage: str | None, folder: str | None
) -> None:
    environment.set_state_backend(backend)
    options = environment.configuration.to_dict()
    assert environment.get_state_backend() is backend
    assert options["state.backend.type"] == kind
    assert options.get("execution.checkpointing.storage") == storage
    assert options.get("execution.checkpointing.dir") == folder


def test_what_backends_tell_of_themselves() -> None:
    files, rocks = FsStateBackend("file:///c"), RocksDBStateBackend("file:///c", True)
    assert (files.get_min_file_size_threshold(), files.get_write_buffer_size()) == (20480, 4096)
    assert files.is_using_asynchronous_snapshots()
    assert MemoryStateBackend().get_max_state_size() == 5242880
    assert rocks.is_incremental_checkpoints_enabled()
    assert rocks.get_number_of_transfering_threads() == 4
    assert isinstance(rocks.get_checkpoint_backend(), FsStateBackend)
    with pytest.raises(FlinkError, match="should be greater than zero"):
        rocks.set_number_of_transfering_threads(0)
    with pytest.raises(ValueError, match="'checkpoint_directory_uri' is required"):
        FsStateBackend()
    with pytest.raises(ValueError, match="needs a checkpoint_data_uri"):
        RocksDBStateBackend()
    with pytest.raises(TypeError, match="None, True or False"):
        MemoryStateBackend(using_asynchronous_snapshots="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(3, 1000),
        RestartStrategies.failure_rate_restart(5, 60_000, 2000),
    ],
)
def test_restart_strategies_come_back(
    environment: StreamExecutionEnvironment, strategy: RestartStrategyConfiguration
) -> None:
    environment.set_restart_strategy(RestartStrategies.failure_rate_restart(1, 1, 1))
    environment.set_restart_strategy(strategy)
    assert environment.get_restart_strategy() == strategy
    assert environment.get_config().get_restart_strategy() == strategy
    assert strategy.options().items() <= environment.configuration.to_dict().items()


def test_a_restart_strategy_takes_times_of_python() -> None:
    made = RestartStrategies.FixedDelayRestartStrategyConfiguration(2, timedelta(seconds=3))
    assert made.get_delay_between_attempts_interval() == timedelta(seconds=3)


@pytest.mark.parametrize(
    ("storage", "kind"),
    [
        (JobManagerCheckpointStorage(), JobManagerCheckpointStorage),
        (FileSystemCheckpointStorage("file:///c"), FileSystemCheckpointStorage),
        (CustomCheckpointStorage("org.example.Storage"), CustomCheckpointStorage),
    ],
)
def test_checkpoint_storages_come_back(
    environment: StreamExecutionEnvironment, storage: CheckpointStorage, kind: type
) -> None:
    checkpoints = environment.get_checkpoint_config()
    checkpoints.set_checkpoint_storage(storage)
    found = checkpoints.get_checkpoint_storage()
    assert type(found) is kind
    assert found.options() == storage.options()


def test_classes_named_to_java_s_serializers_are_told_again(environment: StreamExecutionEnvironment) -> None:
    environment.register_type("a.B")
    environment.register_type_with_kryo_serializer("a.C", "s.C")
    environment.add_default_kryo_serializer("a.D", "s.D")
    environment.add_default_kryo_serializer("a.E", "s.E")
    config = environment.get_config()
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == ["a.B"]
    assert config.get_registered_types_with_kryo_serializer_classes() == {"a.C": "s.C"}
    assert config.get_default_kryo_serializer_classes() == {"a.D": "s.D", "a.E": "s.E"}
