"""The risks of an upgrade mode, independent of the check of the two versions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.deployment.resources import Deployment, Upgrade
from compat.state.flink.formats import backend_of

_SAVEPOINT_INSTEAD = "Upgrade with upgradeMode: savepoint."


class Risk(Struct, frozen=True, kw_only=True):
    """A setting of a deployment, its effect on state, and what to do; ``lost`` if no state is restored at all."""

    says: str
    therefore: str
    instead: str
    lost: bool = False

    def __str__(self) -> str:
        """Both in one line."""
        return f"{self.says}: {self.therefore}"


def risks(new: Deployment, old: Deployment | None, restored: str | None) -> Iterator[Risk]:
    """The risks of the source of ``new``'s state: a savepoint that it names (``restored``), or the state of ``old``.

    With the upgrade mode last-state, a new version starts from the last checkpoint, which Flink's high availability recorded.
    Flink treats this as a start of the same job, and then never drops state (``CheckpointCoordinator``,
    ``restoreInitialCheckpointIfPresent``).
    """
    if restored is not None:
        if new.drops_state:
            yield _DROPS
        return
    if old is None:
        return
    match new.upgrade:
        case Upgrade.STATELESS:
            yield _STATELESS
        case Upgrade.SAVEPOINT:
            if new.drops_state:
                yield _DROPS
        case Upgrade.LAST_STATE:
            yield from _of_last_state(new, old)


_STATELESS = Risk(
    says="upgradeMode is stateless",
    therefore="the job starts without the state that it had, and without an error.",
    instead=_SAVEPOINT_INSTEAD,
    lost=True,
)
_DROPS = Risk(
    says="allowNonRestoredState is true",
    therefore="state that no operator takes Flink drops without an error, at this and at each later start from a savepoint.",
    instead="Leave it out, and say so where state is to go once.",
)


def _of_last_state(new: Deployment, old: Deployment) -> Iterator[Risk]:
    yield Risk(
        says="upgradeMode is last-state",
        therefore="the job starts from its last checkpoint. Records since then are read again, and sinks that are not "
        "exactly-once write them twice.",
        instead=_SAVEPOINT_INSTEAD,
    )
    if None not in (old.backend, new.backend) and _backend(old) != _backend(new):
        yield Risk(
            says=f"the state backend changes from {old.backend} to {new.backend}, and upgradeMode is last-state",
            therefore="checkpoints are in the backend's own format. A savepoint in the canonical format can change backends.",
            instead=f"{_SAVEPOINT_INSTEAD} Its format has to be canonical.",
            lost=True,
        )
    if new.drops_state:
        yield Risk(
            says="allowNonRestoredState is true, and not heeded where the last state comes from high availability",
            therefore="state that no operator takes fails the start.",
            instead="Give that state an operator, or upgrade with upgradeMode: savepoint.",
        )


def _backend(deployment: Deployment) -> str | None:
    name = deployment.backend
    return name if name is None else backend_of(name) or name
