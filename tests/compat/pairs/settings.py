"""CMP112 and CMP6xx: settings, and those that Flink refuses. ``python.execution-mode`` is in ``modes``."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, UNKNOWN, Pair, pair, under
from tests.compat.pairs.programs import value


def set_by(*calls: str) -> str:
    """A counter with some calls on its environment."""
    return value("L", settings="\n".join(["env.set_parallelism(1)", *(f"env.{call}" for call in calls)]))


_UNCHAINED = "disable_operator_chaining()"
_CHAINED = 'configure(Configuration().set_string("pipeline.operator-chaining.enabled", "true"))'


def with_option(key: str, value: str) -> str:
    """A counter with an option of Flink."""
    return set_by(f'configure(Configuration().set_string("{key}", "{value}"))')


def _with_backend(name: str) -> str:
    return with_option("state.backend.type", name)


def run_as(mode: str) -> str:
    """A counter of few numbers in a runtime mode."""
    return with_option("execution.runtime-mode", mode).replace("10000000", "60")


def refused(name: str, key: str, value: str) -> Pair:
    """A pair whose NEW has an option that Flink does not take."""
    given = pair(name, set_by(), with_option(key, value), UNKNOWN, "CMP901", unrecorded="Flink refuses the program")
    return under(given, whole=True)


_FORST = "PyFlink comes without ForSt; what it restores from is recorded in tests/golden/forst"
_OVER_SOON = "the job ends before a savepoint could be taken, or its restore be seen"

SETTINGS = [
    pair("batch_mode", set_by(), run_as("BATCH"), BROKEN, "CMP112"),
    pair("batch_mode_before", run_as("BATCH"), set_by(), BROKEN, "CMP112", unrecorded=_OVER_SOON),
    pair("batch_mode_by_its_sources", set_by(), run_as("AUTOMATIC"), BROKEN, "CMP112", unrecorded=_OVER_SOON),
    refused("max_parallelism_zero", "pipeline.max-parallelism", "0"),
    pair(
        "max_parallelism_as_derived",
        set_by(),
        with_option("pipeline.max-parallelism", "128"),
        OK,
        unrecorded="max_parallelism_as_it_was is recorded, with the setter of this option",
    ),
    refused("backend_of_no_name", "state.backend.type", "rocks"),
    pair(
        "backend_of_another_name",
        set_by(),
        with_option("state.backend.type", "hashmap"),
        OK,
        unrecorded="it is the default one",
    ),
    pair("backend_to_rocksdb", set_by(), _with_backend("rocksdb"), OK, "CMP607"),
    pair("backend_same", _with_backend("rocksdb"), _with_backend("rocksdb"), OK),
    pair("backend_to_forst", _with_backend("hashmap"), _with_backend("forst"), BROKEN, "CMP607", unrecorded=_FORST),
    pair("backend_untold_to_forst", set_by(), _with_backend("forst"), UNKNOWN, "CMP607", unrecorded=_FORST),
    pair(
        "backend_rocksdb_to_forst",
        _with_backend("rocksdb"),
        _with_backend("forst"),
        UNKNOWN,
        "CMP607",
        unrecorded=_FORST,
    ),
    pair("backend_from_forst", _with_backend("forst"), _with_backend("rocksdb"), OK, unrecorded=_FORST),
    pair("streaming_mode", set_by(), run_as("STREAMING"), OK, unrecorded=_OVER_SOON),
    pair("chaining_disabled", set_by(), set_by(_UNCHAINED), OK, "CMP601"),
    pair("chaining_set_to_its_default", set_by(), set_by(_CHAINED), OK),
    pair("checkpoints_off", set_by("enable_checkpointing(1000)"), set_by(), OK, "CMP602"),
    pair("checkpoints_farther_apart", set_by("enable_checkpointing(1000)"), set_by("enable_checkpointing(9000)"), OK),
]
