"""What the way of an upgrade puts at risk, whatever the check of the two versions says."""

from __future__ import annotations

from collections.abc import Iterator

from compat.service.admission.resources import Deployment, Upgrade
from compat.state.flink.formats import backend_of


def risks(new: Deployment, old: Deployment | None, restored: str | None) -> Iterator[str]:
    """The warnings about where ``new`` gets its state: a savepoint that it names (``restored``), or what ``old`` leaves.

    A deployment whose upgrades take the last state starts by the data of Flink's high availability, from the last checkpoint;
    Flink takes that for the start of the same job and then never drops state (``CheckpointCoordinator``,
    ``restoreInitialCheckpointIfPresent``).
    """
    if restored is not None:
        if new.drops_state:
            yield _drops(new)
        return
    if old is None:
        return
    match new.upgrade:
        case Upgrade.STATELESS:
            yield f"{new.name}: upgradeMode is stateless, so the job starts without the state that it had."
        case Upgrade.SAVEPOINT:
            if new.drops_state:
                yield _drops(new)
        case Upgrade.LAST_STATE:
            yield from _of_last_state(new, old)


def _drops(new: Deployment) -> str:
    return (
        f"{new.name}: allowNonRestoredState is true: state that no operator takes Flink drops without an error, "
        f"at this and at each later start from a savepoint."
    )


def _of_last_state(new: Deployment, old: Deployment) -> Iterator[str]:
    yield (
        f"{new.name}: upgradeMode is last-state: the job starts from its last checkpoint. Records since then are read again, "
        f"and sinks that are not exactly-once write them twice."
    )
    if None not in (old.backend, new.backend) and _backend(old) != _backend(new):
        yield (
            f"{new.name}: the state backend changes from {old.backend} to {new.backend}, and upgradeMode is last-state: "
            f"checkpoints are in the backend's own format. A savepoint in the canonical format can change backends."
        )
    if new.drops_state:
        yield (
            f"{new.name}: allowNonRestoredState is true, and not heeded where the last state comes from high availability: "
            f"state that no operator takes fails the start."
        )


def _backend(deployment: Deployment) -> str | None:
    name = deployment.backend
    return name if name is None else backend_of(name) or name
