"""Takes the jobs of a program where it submits them: an execution environment whose executor keeps the StreamGraph.

Python objects implement Flink's interfaces; the program goes on as if its job had run without results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jpype

from compat.compiler.configuration import DEFAULT_PARALLELISM, PARALLELISM
from compat.loader.jvm.bridge import Java, flink, is_a, java, member
from compat.loader.jvm.call_sites import Places
from compat.loader.jvm.environments import Environments

TARGET = "compat"
_COLLECT = "streaming.api.operators.collect."
_NOT_GIVEN = 1 << 15
"""The value in place of the parallelism of a local environment without one: no job has as much."""
_BYTES = "api.common.typeutils.base.array.BytePrimitiveArraySerializer"
Take = Callable[[Java, Java], None]
"""Called with the pipeline of each job, a ``StreamGraph``, and the class loader of the user's code."""


def take_jobs(take: Take, options: Mapping[str, str], environments: Environments, places: Places) -> None:
    """Have every environment of the program, Flink's or its own, give its jobs to ``take``."""
    executors = _service_loader(take)
    factory = _environment_factory(executors, options, environments, places)
    kind = flink("streaming.api.environment.StreamExecutionEnvironment")
    for method in kind.class_.getDeclaredMethods():
        if str(method.getName()) == "initializeContextEnvironment":
            method.setAccessible(True)
            method.invoke(None, [factory])
    kind.setDefaultLocalParallelism(_NOT_GIVEN)
    environments.have(executors, lambda given: _of_its_own(given, options, places))


def configuration(options: Mapping[str, str]) -> Java:
    """A ``Configuration`` of Flink with these options."""
    made = flink("configuration.Configuration")()
    for key, value in options.items():
        made.setString(key, value)
    return made


def _environment_factory(
    executors: Java, options: Mapping[str, str], environments: Environments, places: Places
) -> Java:
    @jpype.JImplements("org.apache.flink.streaming.api.environment.StreamExecutionEnvironmentFactory")
    class Factory:
        @jpype.JOverride
        def createExecutionEnvironment(self, given: Java) -> Java:  # noqa: N802
            return environments.make(executors, _settled(given, options, places))

    return Factory()


def _of_its_own(given: Java, options: Mapping[str, str], places: Places) -> Java:
    """The configuration of an environment that the program makes for itself.

    Flink puts a default parallelism there, of the machine that it runs on, where the program gives none.
    """
    places.alone = True
    own = given.clone()
    if str(own.toMap().get(PARALLELISM)) == str(_NOT_GIVEN):
        own.removeKey(PARALLELISM)
    return _settled(own, options, places)


def _settled(given: Java, options: Mapping[str, str], places: Places) -> Java:
    """The configuration of an environment: that of the program over the options of the cluster."""
    places.parallelism_given |= bool(given.containsKey(PARALLELISM))
    merged = configuration({PARALLELISM: str(DEFAULT_PARALLELISM), **options})
    merged.addAll(given)
    merged.setString("execution.target", TARGET)
    merged.setString("execution.attached", "true")
    return merged


def _service_loader(take: Take) -> Java:
    executor_factory = _executor_factory(take)

    @jpype.JImplements("org.apache.flink.core.execution.PipelineExecutorServiceLoader")
    class ServiceLoader:
        @jpype.JOverride
        def getExecutorFactory(self, given: Java) -> Java:  # noqa: N802
            return executor_factory

        @jpype.JOverride
        def getExecutorNames(self) -> Java:  # noqa: N802
            return java("java.util.stream.Stream").of(TARGET)

    return ServiceLoader()


def _executor_factory(take: Take) -> Java:
    @jpype.JImplements("org.apache.flink.core.execution.PipelineExecutor")
    class Executor:
        @jpype.JOverride
        def execute(self, pipeline: Java, given: Java, loader: Java) -> Java:
            take(pipeline, loader)
            return _done(_client(_collected(pipeline)))

    @jpype.JImplements("org.apache.flink.core.execution.PipelineExecutorFactory")
    class ExecutorFactory:
        @jpype.JOverride
        def getName(self) -> str:  # noqa: N802
            return TARGET

        @jpype.JOverride
        def isCompatibleWith(self, given: Java) -> bool:  # noqa: N802
            return True

        @jpype.JOverride
        def getExecutor(self, given: Java) -> Java:  # noqa: N802
            return Executor()

    return ExecutorFactory()


def _done(value: Java) -> Java:
    return java("java.util.concurrent.CompletableFuture").completedFuture(value)


def _collected(pipeline: Java) -> Java:
    """The accumulators of a job that has run on no records: its collecting sinks have collected nothing."""
    accumulators = java("java.util.HashMap")()
    for node in pipeline.getStreamNodes() if hasattr(pipeline, "getStreamNodes") else ():
        if not is_a(node.getOperatorFactory(), _COLLECT + "CollectSinkOperatorFactory"):
            continue
        function = member(member(node.getOperatorFactory(), "operator"), "sinkFunction")
        empty = java("java.util.ArrayList")()
        result = flink(_COLLECT + "CollectSinkFunction").serializeAccumulatorResult(0, "", 0, empty)
        results = flink("api.common.accumulators.SerializedListAccumulator")()
        results.add(result, flink(_BYTES).INSTANCE)
        name = member(function, "accumulatorName")
        accumulators.put(name, flink("util.OptionalFailure").of(results.getLocalValue()))
    return accumulators


def _client(accumulators: Java) -> Java:
    """The client of a job that has finished with these accumulators."""
    job_id = flink("api.common.JobID")()

    @jpype.JImplements(
        "org.apache.flink.core.execution.JobClient",
        "org.apache.flink.runtime.operators.coordination.CoordinationRequestGateway",
    )
    class Client:
        @jpype.JOverride
        def getJobID(self) -> Java:  # noqa: N802
            return job_id

        @jpype.JOverride
        def getJobStatus(self) -> Java:  # noqa: N802
            return _done(flink("api.common.JobStatus").FINISHED)

        @jpype.JOverride
        def cancel(self) -> Java:
            return _done(None)

        @jpype.JOverride
        def stopWithSavepoint(self, *given: Java) -> Java:  # noqa: N802
            return _done("")

        @jpype.JOverride
        def triggerSavepoint(self, *given: Java) -> Java:  # noqa: N802
            return _done("")

        @jpype.JOverride
        def getAccumulators(self) -> Java:  # noqa: N802
            return _done(java("java.util.HashMap")())

        @jpype.JOverride
        def getJobExecutionResult(self) -> Java:  # noqa: N802
            return _done(flink("api.common.JobExecutionResult")(job_id, 0, accumulators))

        @jpype.JOverride
        def sendCoordinationRequest(self, *given: Java) -> Java:  # noqa: N802
            failed = java("java.util.concurrent.CompletableFuture")()
            failed.completeExceptionally(java("java.lang.IllegalStateException")("the job has finished"))
            return failed

        @jpype.JOverride
        def reportHeartbeat(self, expires: int) -> None:  # noqa: N802
            return None

    return Client()
