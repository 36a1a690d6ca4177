"""Options as text, read the way Flink reads them.

Flink: ``org.apache.flink.configuration``. A program's settings are a mapping of option keys to text; the setters of the API
write into it, so that an option and its setter are the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from msgspec import Struct, field

from compat.compiler.errors import FlinkError, Location, illegal_argument
from compat.compiler.versions import LATEST_FLINK
from compat.state.model.job import PYTHON_EXECUTION_MODE, STATE_BACKEND

PARALLELISM = "parallelism.default"
DEFAULT_PARALLELISM = 1
"""Flink's own value of it: what is taken where neither the program nor an option says another."""
MAX_PARALLELISM = "pipeline.max-parallelism"
CHAINING = "pipeline.operator-chaining.enabled"
CHAIN_DIFFERENT_MAX_PARALLELISM = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
BUFFER_TIMEOUT = "execution.buffer-timeout.interval"
BUFFER_TIMEOUT_ENABLED = "execution.buffer-timeout.enabled"
RUNTIME_MODE = "execution.runtime-mode"
AUTO_GENERATED_UIDS = "pipeline.auto-generate-uids"
JOB_NAME = "pipeline.name"
BATCH_SHUFFLE_MODE = "execution.batch-shuffle-mode"
VERTEX_INDEX_PREFIX = "pipeline.vertex-name-include-index-prefix"
VERTEX_DESCRIPTION_MODE = "pipeline.vertex-description-mode"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"
CHECKPOINT_MODE = "execution.checkpointing.mode"
CHECKPOINT_TIMEOUT = "execution.checkpointing.timeout"
CHECKPOINT_MIN_PAUSE = "execution.checkpointing.min-pause"
CHECKPOINT_MAX_CONCURRENT = "execution.checkpointing.max-concurrent-checkpoints"
CHECKPOINT_TOLERABLE_FAILURES = "execution.checkpointing.tolerable-failed-checkpoints"
CHECKPOINT_RETENTION = "execution.checkpointing.externalized-checkpoint-retention"
CHECKPOINT_ALIGNED_TIMEOUT = "execution.checkpointing.aligned-checkpoint-timeout"
UNALIGNED = "execution.checkpointing.unaligned.enabled"
CHANGELOG = "state.changelog.enabled"
UNALIGNED_FORCED = "execution.checkpointing.unaligned.forced"
APPROXIMATE_RECOVERY = "execution.checkpointing.approximate-local-recovery"
FILE_MERGING = "execution.checkpointing.file-merging.enabled"
TIMER_FACTORY = "state.backend.rocksdb.timer-service.factory"
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
SCHEDULER = "jobmanager.scheduler"
AUTO_PARALLELISM = "execution.batch.adaptive.auto-parallelism.enabled"
PYTHON_CHAINING = "python.operator-chaining.enabled"

SHORTEST_CHECKPOINT = 10
"""The least milliseconds between checkpoints, and for one."""

_OLD_KEYS = {
    "pipeline.operator-chaining": CHAINING,
    "execution.buffer-timeout": BUFFER_TIMEOUT,
    "execution.checkpointing.unaligned": UNALIGNED,
    "execution.checkpointing.alignment-timeout": CHECKPOINT_ALIGNED_TIMEOUT,
    "state.backend": STATE_BACKEND,
    "execution.savepoint.ignore-unclaimed-state": IGNORE_UNCLAIMED,
}

_STATE_BACKENDS = frozenset({"hashmap", "rocksdb", "forst", "jobmanager", "filesystem"})
"""The names that Flink knows; the last two are those that 1.x had for the first."""

RESTART_STRATEGY = "restart-strategy"
RESTART_STRATEGIES = {
    **dict.fromkeys(("none", "off", "disable"), "none"),
    **dict.fromkeys(("fixed-delay", "fixeddelay"), "fixed-delay"),
    **dict.fromkeys(("failure-rate", "failurerate"), "failure-rate"),
    **dict.fromkeys(("exponential-delay", "exponentialdelay"), "exponential-delay"),
}
"""Flink's names of its restart strategies, in all spellings. Flink: ``RestartStrategyOptions.RestartStrategyType``."""

_PLAIN_NAME = re.compile(r"[\w-]+")

_UNITS = {
    "": 1.0, "ms": 1.0, "milli": 1.0, "millis": 1.0, "millisecond": 1.0, "milliseconds": 1.0,
    "ns": 1e-6, "nano": 1e-6, "nanos": 1e-6, "nanosecond": 1e-6, "nanoseconds": 1e-6,
    "us": 1e-3, "µs": 1e-3, "micro": 1e-3, "micros": 1e-3, "microsecond": 1e-3, "microseconds": 1e-3,
    "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
    "m": 6e4, "min": 6e4, "minute": 6e4, "minutes": 6e4,
    "h": 3.6e6, "hour": 3.6e6, "hours": 3.6e6,
    "d": 8.64e7, "day": 8.64e7, "days": 8.64e7,
}  # fmt: skip
_BYTES = {
    "": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "kibibytes": 10, "m": 20, "mb": 20, "mebibytes": 20,
    "g": 30, "gb": 30, "gibibytes": 30, "t": 40, "tb": 40, "tebibytes": 40,
}  # fmt: skip
_SIZE = re.compile(r"(\d+)\s*([a-z]*)")
_DURATION = re.compile(r"(-?\d+)\s*([a-zµ]*)")
_ISO_DURATION = re.compile(r"pt(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


class RuntimeMode(Enum):
    """Flink's ``RuntimeExecutionMode``."""

    STREAMING = "STREAMING"
    BATCH = "BATCH"
    AUTOMATIC = "AUTOMATIC"


def normal_key(key: str) -> str:
    """The present spelling of an option's key, for the ones that Flink renamed."""
    return _OLD_KEYS.get(key, key)


def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as ``10 s``, ``500ms``, ``PT1M`` or a bare number of milliseconds.

    Raises the refusal of Flink's ``TimeUtils.parseDuration`` for anything else.
    """
    lowered = text.strip().lower()
    if match := _DURATION.fullmatch(lowered):
        number, unit = match.groups()
        if unit in _UNITS:
            scale = _UNITS[unit]
            return int(number) * int(scale) if scale >= 1 else int(int(number) * scale)
    if lowered != "pt" and (match := _ISO_DURATION.fullmatch(lowered)):
        hours, minutes, seconds = match.groups()
        return int(int(hours or 0) * 3_600_000 + int(minutes or 0) * 60_000 + float(seconds or 0) * 1000)
    raise illegal_argument(
        f"Could not parse the duration {text!r}: write a number and a unit, for instance '10 s' or '500 ms'."
    )


def checkpoint_interval(options: Mapping[str, str], location: Location | None = None) -> int | None:
    """The milliseconds between checkpoints, None if there are none. Flink: ``CheckpointConfig.setCheckpointInterval``."""
    text = options.get(CHECKPOINT_INTERVAL)
    if text is None:
        return None
    interval = parse_duration(text)
    if interval < SHORTEST_CHECKPOINT:
        raise illegal_argument(
            f"Checkpoint interval must be larger than or equal to {SHORTEST_CHECKPOINT} ms, and {CHECKPOINT_INTERVAL} is "
            f"{text!r}; where it is not set, no checkpoints are taken.",
            location=location,
        )
    return interval


def parse_bytes(text: str) -> int:
    """The bytes of a memory size such as ``512m``, ``1 gb`` or a bare number. Flink: ``MemorySize.parse``."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or match[2] not in _BYTES:
        raise illegal_argument(
            f"Could not parse the memory size {text!r}: write a number and a unit, for instance '512m' or '1g'."
        )
    return int(match[1]) << _BYTES[match[2]]


def parse_boolean(key: str, text: str) -> bool:
    """True or False of ``true`` and ``false`` in any case; anything else is refused."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise illegal_argument(f"Option {key!r} takes true or false, not {text!r}.")


def parse_integer(key: str, text: str) -> int:
    """The whole number that an option holds."""
    try:
        return int(text.strip())
    except ValueError:
        raise illegal_argument(f"Option {key!r} takes a whole number, not {text!r}.") from None


class JobSettings(Struct, frozen=True):
    """The settings that hold for the whole job, read from its options. ``options`` are all of them, as text."""

    job_name: str | None = None
    parallelism: int = 1
    max_parallelism: int = -1
    chaining: bool = True
    chain_different_max_parallelism: bool = True
    buffer_timeout: int = 100
    mode: RuntimeMode = RuntimeMode.STREAMING
    auto_generated_uids: bool = True
    batch_shuffle_mode: str = "ALL_EXCHANGES_BLOCKING"
    vertex_index_prefix: bool = False
    vertex_description_cascading: bool = False
    checkpoint_interval: int | None = None
    at_least_once: bool = False
    unaligned: bool = False
    unaligned_forced: bool = False
    force_checkpointing: bool = False
    approximate_recovery: bool = False
    file_merging: bool = False
    ignore_unclaimed: bool = False
    adaptive_batch: bool = True
    auto_parallelism: bool = True
    python_chaining: bool = True
    python_thread_mode: bool = False
    flink: str = LATEST_FLINK
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def legacy(self) -> bool:
        """True for the semantics of Flink 1.x."""
        return self.flink.startswith("1.")

    @property
    def checkpointing(self) -> bool:
        """True when the job takes checkpoints."""
        return self.checkpoint_interval is not None

    @classmethod
    def from_options(
        cls, options: Mapping[str, str], *, flink: str = LATEST_FLINK, parallelism: int = 1
    ) -> JobSettings:
        """Read the options. ``parallelism`` is what the environment gives where the options say nothing."""
        given = {normal_key(key): text for key, text in options.items()}

        def boolean(key: str, default: bool) -> bool:
            return parse_boolean(key, given[key]) if key in given else default

        def integer(key: str, default: int) -> int:
            return parse_integer(key, given[key]) if key in given else default

        _require_state_backend(given.get(STATE_BACKEND))
        _require_restart_strategy(restart_strategy(given))
        boolean(CHANGELOG, False)  # no graph depends on it, but Flink refuses other values
        timeout = parse_duration(given[BUFFER_TIMEOUT]) if BUFFER_TIMEOUT in given else 100
        return cls(
            job_name=given.get(JOB_NAME),
            parallelism=integer(PARALLELISM, parallelism),
            max_parallelism=_max_parallelism(given),
            chaining=boolean(CHAINING, True),
            chain_different_max_parallelism=boolean(CHAIN_DIFFERENT_MAX_PARALLELISM, True),
            buffer_timeout=timeout if boolean(BUFFER_TIMEOUT_ENABLED, True) else -1,
            mode=_mode(given.get(RUNTIME_MODE, "STREAMING")),
            auto_generated_uids=boolean(AUTO_GENERATED_UIDS, True),
            batch_shuffle_mode=given.get(BATCH_SHUFFLE_MODE, "ALL_EXCHANGES_BLOCKING")
            .strip()
            .upper()
            .replace("-", "_"),
            vertex_index_prefix=boolean(VERTEX_INDEX_PREFIX, False),
            vertex_description_cascading=given.get(VERTEX_DESCRIPTION_MODE, "TREE").upper() == "CASCADING",
            checkpoint_interval=checkpoint_interval(given),
            at_least_once=given.get(CHECKPOINT_MODE, "").upper().replace("-", "_") == "AT_LEAST_ONCE",
            unaligned=boolean(UNALIGNED, False),
            unaligned_forced=boolean(UNALIGNED_FORCED, False),
            approximate_recovery=boolean(APPROXIMATE_RECOVERY, False),
            file_merging=boolean(FILE_MERGING, False),
            ignore_unclaimed=boolean(IGNORE_UNCLAIMED, False),
            adaptive_batch=given.get(SCHEDULER, "AdaptiveBatch").lower().replace("-", "") == "adaptivebatch",
            auto_parallelism=boolean(AUTO_PARALLELISM, True),
            python_chaining=boolean(PYTHON_CHAINING, True),
            python_thread_mode=given.get(PYTHON_EXECUTION_MODE, "process").strip().lower() == "thread",
            flink=flink,
            options=MappingProxyType(dict(given)),
        )


def _max_parallelism(given: Mapping[str, str]) -> int:
    """The max parallelism of the job, -1 where none is set. Flink: ``ExecutionConfig.setMaxParallelism``."""
    if MAX_PARALLELISM not in given:
        return -1
    number = parse_integer(MAX_PARALLELISM, given[MAX_PARALLELISM])
    if number <= 0:
        raise illegal_argument("The maximum parallelism must be greater than 0.")
    return number


def _require_state_backend(name: str | None) -> None:
    """Refuse a name of no state backend. Flink: ``StateBackendLoader``, which takes any other name for a factory's class.

    Whether a class in a package is there is for the cluster to say.
    """
    if name is not None and _PLAIN_NAME.fullmatch(name) and name.lower() not in _STATE_BACKENDS:
        raise FlinkError(
            "org.apache.flink.util.DynamicCodeLoadingException",
            f"Cannot find configured state backend factory class: {name}",
        )


def restart_strategy(options: Mapping[str, str]) -> str:
    """The name of the restart strategy in some options, as it is spelled there; empty if there is none."""
    return options.get(f"{RESTART_STRATEGY}.type") or options.get(RESTART_STRATEGY) or ""


def _require_restart_strategy(name: str) -> None:
    """Refuse a name of no restart strategy, as the JobMaster does; a class in a package is the cluster's to find."""
    if _PLAIN_NAME.fullmatch(name) and name not in RESTART_STRATEGIES:
        raise illegal_argument(f"{name} is an unknown value of RestartStrategyType.")


def _mode(text: str) -> RuntimeMode:
    try:
        return RuntimeMode(text.strip().upper())
    except ValueError:
        raise illegal_argument(f"Option {RUNTIME_MODE!r} takes STREAMING, BATCH or AUTOMATIC, not {text!r}.") from None
