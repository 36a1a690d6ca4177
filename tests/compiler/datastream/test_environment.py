"""The environment: settings are options, jobs are handed over, ids go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from compat.compiler.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    MemorySize,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from compat.compiler.datastream.common import Configuration, JobExecutionResult, JobStatus, RestartStrategies, Types
from compat.compiler.datastream.program import Program, running
from compat.compiler.errors import FlinkError, ProgramError

Environment = StreamExecutionEnvironment


@pytest.fixture
def environment(recorder: Any) -> Environment:
    return Environment.get_execution_environment()


@pytest.mark.parametrize(
    ("call", "key", "text"),
    [
        (lambda e: e.set_parallelism(3), "parallelism.default", "3"),
        (lambda e: e.set_max_parallelism(64), "pipeline.max-parallelism", "64"),
        (lambda e: e.set_runtime_mode(RuntimeExecutionMode.BATCH), "execution.runtime-mode", "BATCH"),
        (lambda e: e.set_buffer_timeout(5), "execution.buffer-timeout.interval", "5 ms"),
        (lambda e: e.set_buffer_timeout(-1), "execution.buffer-timeout.enabled", "false"),
        (lambda e: e.disable_operator_chaining(), "pipeline.operator-chaining.enabled", "false"),
        (lambda e: e.enable_checkpointing(1000), "execution.checkpointing.interval", "1000 ms"),
        (
            lambda e: e.enable_checkpointing(1000, CheckpointingMode.AT_LEAST_ONCE),
            "execution.checkpointing.mode",
            "AT_LEAST_ONCE",
        ),
        (
            lambda e: e.get_checkpoint_config().set_externalized_checkpoint_retention(
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
            ),
            "execution.checkpointing.externalized-checkpoint-retention",
            "RETAIN_ON_CANCELLATION",
        ),
        (lambda e: e.get_config().disable_auto_generated_uids(), "pipeline.auto-generate-uids", "false"),
        (lambda e: e.add_python_archive("a.zip", "t"), "python.archives", "a.zip#t"),
        (lambda e: e.set_python_requirements("r.txt"), "python.requirements", "r.txt"),
        (lambda e: e.add_jars("file:///a.jar", "file:///b.jar"), "pipeline.jars", "file:///a.jar;file:///b.jar"),
        (
            lambda e: e.register_cached_file("/f", "n", True),
            "pipeline.cached-files",
            "name:n,path:'/f',executable:true",
        ),
    ],
)
def test_a_setter_is_an_option(
    environment: Environment, call: Callable[[Environment], Any], key: str, text: str
) -> None:
    call(environment)
    assert environment.configuration.to_dict()[key] == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/opt/a.jar", "no protocol: /opt/a.jar"),
        ("a.jar", "no protocol: a.jar"),
        ("s3://b/a.jar", "unknown protocol: s3"),
        ("C:/a.jar", "unknown protocol: c"),
    ],
)
def test_archives_are_urls(environment: Environment, text: str, told: str) -> None:
    """PyFlink makes a `java.net.URL` of each."""
    for call in (environment.add_jars, environment.add_classpaths):
        with pytest.raises(FlinkError, match=told) as refused:
            call(text)
        assert refused.value.kind == "java.net.MalformedURLException"
    environment.add_jars("FILE:///opt/a.jar", "file:a.jar", "jar:file:/a.jar!/")


def test_options_come_from_outside_the_argument_and_setters(recorder: Any) -> None:
    with running(Program(recorder, options={"parallelism.default": "7", "pipeline.name": "outside"})):
        environment = Environment.get_execution_environment(Configuration.from_dict({"pipeline.name": "inside"}))
        assert environment.get_parallelism() == 7
        environment.set_parallelism(8)
        environment.from_collection([1]).print()
        environment.execute()
    assert recorder.graphs[0].job_name == "inside"
    assert recorder.jobs[0].settings.parallelism == 8


def test_the_default_parallelism() -> None:
    with running(Program(parallelism=5)):
        assert Environment.get_execution_environment().get_parallelism() == 5


def test_getters_tell_what_setters_said(environment: Environment) -> None:
    checkpoints = environment.get_checkpoint_config()
    assert (checkpoints.get_checkpoint_interval(), checkpoints.is_checkpointing_enabled()) == (-1, False)
    checkpoints.set_checkpoint_interval(500).set_min_pause_between_checkpoints(20).set_max_concurrent_checkpoints(2)
    checkpoints.enable_unaligned_checkpoints().set_force_unaligned_checkpoints()
    assert environment.get_checkpoint_interval() == 500
    assert checkpoints.get_min_pause_between_checkpoints() == 20
    assert environment.is_unaligned_checkpoints_enabled()
    assert environment.is_force_unaligned_checkpoints()
    environment.get_config().set_global_job_parameters({"a:b": "1,2", "c": 3})
    assert environment.get_config().get_global_job_parameters() == {"a:b": "1,2", "c": "3"}


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.set_parallelism(0),
        lambda e: e.set_max_parallelism(40_000),
        lambda e: e.set_buffer_timeout(-2),
        lambda e: e.enable_checkpointing(1),
        lambda e: e.get_checkpoint_config().set_max_concurrent_checkpoints(0),
        lambda e: [e.register_cached_file("/f", "n") for _ in range(2)],
    ],
)
def test_wrong_settings(environment: Environment, call: Callable[[Environment], Any]) -> None:
    with pytest.raises(ProgramError, match=r"\w+ \w+"):
        call(environment)


def test_after_a_job_the_environment_starts_with_nothing_but_ids_go_on(recorder: Any) -> None:
    first = Environment.get_execution_environment()
    first.from_collection([1]).rebalance().print()  # 1 to 4; translating the partition takes 5
    first.execute("first")
    with pytest.raises(ProgramError, match="No operators"):
        first.execute("again")
    second = Environment.get_execution_environment()
    assert second.from_collection([1])._id == 6


def test_locations_are_lines_of_the_program(environment: Environment) -> None:
    stream = environment.from_collection([1])
    keyed = (
        stream.map(lambda x: x)
        .key_by(lambda x: x)
    )  # fmt: skip
    lines = [t.location.line for t in environment.pipeline if t.location is not None]
    assert [line - lines[0] for line in lines] == [0, 2, 3, 3]
    assert {t.location.file for t in environment.pipeline if t.location} == {__file__}
    assert keyed._transformation.name == "Partition"


def test_async_execution_is_not_attached(environment: Environment, recorder: Any) -> None:
    environment.from_collection([1]).print()
    client = environment.execute_async()
    assert not recorder.jobs[0].attached
    assert client.get_job_status().result() is JobStatus.CREATED
    assert client.get_job_execution_result().result().get_all_accumulator_results() == {}
    assert client.trigger_savepoint("/tmp/s/").result() == "/tmp/s/savepoint-of-a-planned-job"
    assert client.stop_with_savepoint(False).result() == "file:/savepoint-of-a-planned-job"
    assert client.cancel().result() is None
    assert client.get_accumulators().result() == {}


def test_a_planned_job_has_a_result(environment: Environment) -> None:
    environment.from_collection([1]).print()
    result = environment.execute()
    assert isinstance(result, JobExecutionResult)
    assert (result.get_net_runtime(), result.get_all_accumulator_results()) == (0, {})


def test_listeners_hear_nothing_of_planned_jobs(environment: Environment) -> None:
    class Listener:
        def on_job_submitted(self, client: Any) -> None:
            raise AssertionError(client)

        def on_job_executed(self, result: Any) -> None:
            raise AssertionError(result)

    environment.program.planning = True
    environment.register_job_listener(Listener())
    environment.from_collection([1]).print()
    environment.execute()


def test_collecting_adds_a_sink_with_a_uid(environment: Environment, recorder: Any) -> None:
    stream = environment.from_collection([1, 2], Types.INT()).map(lambda x: x, Types.INT())
    with stream.execute_and_collect("collect") as records:
        assert list(records) == []
    job = recorder.jobs[0]
    sink = job.pipeline[job.collect]
    assert (sink.uid, sink.parallelism) == (f"dataStreamCollect_{sink.id}", 1)
    assert stream.execute_and_collect(limit=1) == []
    assert len(recorder.jobs) == 2


def test_listeners_hear_of_jobs(environment: Environment) -> None:
    class Listener:
        heard: list[str] = []

        def on_job_submitted(self, client: Any) -> None:
            self.heard.append("submitted")

        def on_job_executed(self, result: Any) -> None:
            self.heard.append("executed")

    environment.register_job_listener(Listener())
    environment.from_collection([1]).print()
    environment.execute()
    assert Listener.heard == ["submitted", "executed"]


def test_slot_sharing_groups_keep_their_resources(environment: Environment) -> None:
    big = SlotSharingGroup.builder("big").set_cpu_cores(2.0).set_task_heap_memory_mb(100).build()
    assert big.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    stream = environment.from_collection([1]).map(lambda x: x).slot_sharing_group(big)
    assert stream._transformation.slot_sharing_group == "big"
    resources = stream._transformation.slot_resources
    assert resources == big.resources()
    assert resources.location.file == __file__
    assert stream.slot_sharing_group("big")._transformation.slot_resources is None
    environment.register_slot_sharing_group(big)
    assert environment.pipeline.copy().slot_sharing_groups == {"big": big.resources()}


def test_backends_and_restart_strategies_are_options() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    assert backend.options()["execution.checkpointing.incremental"] == "true"
    strategy = RestartStrategies.fixed_delay_restart(3, 1000)
    assert strategy.options()["restart-strategy.fixed-delay.delay"] == "1000 ms"
    assert strategy == RestartStrategies.fixed_delay_restart(3, 1000)


def test_configuration_reads_what_it_wrote() -> None:
    configuration = Configuration().set_integer("i", 3).set_boolean("b", True).set_float("f", 0.5)
    configuration.set_bytearray("y", bytearray(b"\x00\xff"))
    assert configuration.get_integer("i", 0) == 3
    assert configuration.get_boolean("b", False)
    assert configuration.get_float("f", 0) == 0.5
    assert configuration.get_bytearray("y", bytearray()) == bytearray(b"\x00\xff")
    assert Configuration(configuration) == configuration
    assert Configuration().add_all(configuration, "p.").contains_key("p.i")
    assert configuration.remove_config("i")
    assert not configuration.remove_config("i")
    assert Configuration.parse_list_value("[a, 'b']") == Configuration.parse_list_value("- a\n- b") == ["a", "b"]


def test_the_plan_is_json_and_leaves_the_program_as_it_is(environment: Environment, recorder: Any) -> None:
    environment.from_collection([1]).map(lambda x: x).print()
    names = [node["type"] for node in json.loads(environment.get_execution_plan())["nodes"]]
    assert names[0] == "Source: Collection Source"
    environment.execute()
    assert len(recorder.jobs) == 1
