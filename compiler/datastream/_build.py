"""From a call of the API to a transformation in the environment's pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from compat.compiler.datastream._location import here
from compat.compiler.datastream.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TypeInformation, Types
from compat.compiler.transformations.kinds import (
    OneInputTransformation,
    Partition,
    PhysicalTransformation,
    TwoInputTransformation,
)
from compat.compiler.transformations.operators import Operator, PythonFunction
from compat.compiler.transformations.partitioners import Partitioner
from compat.state.model.job import PYTHON_EXECUTION_MODE

if TYPE_CHECKING:
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment

Python = TypeVar("Python", bound=PythonFunction)


def pickled() -> TypeInformation:
    """The type of records whose type the program does not give."""
    return Types.PICKLED_BYTE_ARRAY()


def output_type_of(given: Any) -> Any:
    """The type behind an ``output_type`` argument: pickled for None, a row for a list."""
    if given is None:
        return pickled()
    if isinstance(given, list):
        return RowTypeInfo(given)
    if isinstance(given, TypeInformation):
        return given
    raise TypeError(f"output_type is None, a list of types or a TypeInformation, not {type(given).__name__}.")


def type_in_python(type: Any) -> Any:
    """The type of a stream's records, where PyFlink makes it a type of Python.

    Raises TypeError for ``RowData``, of which it has none (PyFlink: ``_from_java_type``).
    """
    if isinstance(type, ExternalTypeInfo) and type.internal:
        raise TypeError(
            f"The java type info: {type} is not supported in PyFlink currently: these are rows of the Table API, as formats of "
            "files give them. Put a map or process with an output_type before it."
        )
    return type


def require(value: object, kind: type, what: str) -> None:
    """Refuse ``value`` unless it is of that class or a plain callable."""
    if not isinstance(value, kind) and not callable(value):
        raise TypeError(f"{what} takes a {kind.__name__} or a callable, not {type(value).__name__}.")


def in_thread_mode(environment: StreamExecutionEnvironment) -> bool:
    """True when Python functions run inside the task's thread instead of a process beside it."""
    mode = environment.configuration.get_string(PYTHON_EXECUTION_MODE, "process")
    return mode.strip().lower() == "thread"


def python_operator(
    environment: StreamExecutionEnvironment, kind: type[Python], function: Any, **parameters: Any
) -> Python:
    """An operator that PyFlink would run in Python, in the environment's mode of execution."""
    return kind(function=function, thread_mode=in_thread_mode(environment), **parameters)


def one_input(
    environment: StreamExecutionEnvironment,
    input: int,
    name: str,
    output_type: Any,
    operator: Operator,
    **fields: Any,
) -> PhysicalTransformation:
    """Register an operator with one input and the environment's parallelism."""
    return environment.pipeline.add(
        OneInputTransformation(
            id=environment.pipeline.new_id(),
            name=name,
            input=input,
            output_type=output_type,
            parallelism=environment.get_parallelism(),
            operator=operator,
            location=here(),
            **fields,
        )
    )


def two_inputs(
    environment: StreamExecutionEnvironment,
    inputs: tuple[int, int],
    name: str,
    output_type: Any,
    operator: Operator,
    **fields: Any,
) -> PhysicalTransformation:
    """Register an operator with two inputs and the environment's parallelism."""
    return environment.pipeline.add(
        TwoInputTransformation(
            id=environment.pipeline.new_id(),
            name=name,
            input1=inputs[0],
            input2=inputs[1],
            output_type=output_type,
            parallelism=environment.get_parallelism(),
            operator=operator,
            location=here(),
            **fields,
        )
    )


def partition(environment: StreamExecutionEnvironment, input: int, partitioner: Partitioner) -> int:
    """Add a partitioning of transformation ``input``; gives its id."""
    pipeline = environment.pipeline
    upstream = pipeline[input]
    return pipeline.add(
        Partition(
            id=pipeline.new_id(),
            name="Partition",
            input=input,
            output_type=upstream.output_type,
            parallelism=upstream.parallelism,
            parallelism_configured=True,
            partitioner=partitioner,
            location=here(),
        ),
        register=False,
    ).id
