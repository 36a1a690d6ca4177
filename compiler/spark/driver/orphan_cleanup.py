"""The removal of late output of attempts whose job is over: unreachable workers may go on for a while after the job's
last sweep.

A job that ends leaves a note with the folders of its attempts. The start of another job cleans these folders, once the attempts
have ended.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from compat.compiler.spark.connectors.sinks import SinkFolder, sweep_folder
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.stores.paths import Place

PATIENCE = 300.0
"""The seconds after a job's end within which its last attempts end: they fail, as their results are not accepted."""
FORGOTTEN = 7 * 86400.0
"""The seconds after which the search ends: the folder is unreachable, or a failed job was abandoned."""
_FOLDER = "ended"


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The places where attempts of a job write: its state table, and the folders of its sinks."""

    job_id: str
    state: str
    sinks: tuple[SinkFolder, ...]


def note(store: JobStore, remains: Remains) -> None:
    """Note the places for a later job's start. Is called before the job is reported as ended. Raises OSError."""
    (store.root / _FOLDER / f"{remains.job_id}.json").write(msgspec.json.encode(remains))


def sweep(store: JobStore, now: float) -> None:
    """Remove what is left of jobs that have been over for long: a request, and a few for each that ended since the last time.

    Of a job that may go on nothing is removed: whoever goes on with it sweeps. Raises OSError if the notes cannot be listed.
    """
    for entry in (store.root / _FOLDER).list():
        if entry.size is None or now - entry.modified < PATIENCE:
            continue
        place = store.root / _FOLDER / entry.name
        with suppress(OSError, StoreError):
            if _swept(store, place) or now - entry.modified > FORGOTTEN:
                place.delete()


def _swept(store: JobStore, place: Place) -> bool:
    """Sweep where a note says; False if that is not done. Raises OSError."""
    try:
        remains = msgspec.json.decode(place.read(), type=Remains)
    except msgspec.DecodeError:
        return True  # damaged: nobody will know
    if not store.is_over(remains.job_id):
        return False
    with suppress(OSError, StoreError):
        _sweep(remains)
        return True
    return False


def _sweep(remains: Remains) -> None:
    for folder in remains.sinks:
        sweep_folder(folder, remains.job_id)
    with suppress(StoreError):  # the job was discarded, with its state
        SnapshotLog.open(remains.state).sweep()
