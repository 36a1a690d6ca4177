"""Writes a savepoint by a recipe, reads it back, and compares it with the program that will restore it, before it
counts as done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct, json
from msgspec.structs import replace

from compat import __version__
from compat.check.findings import Account, Fate, Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, Outcomes, compare
from compat.loader.inputs import FlinkJars, Input, InputKind
from compat.loader.jvm.warm import WarmJvms
from compat.migration.functions import Functions
from compat.migration.keyed_forms import for_classes, require_flink, write_keyed
from compat.migration.new_job import NewJob, Writer, new_job
from compat.migration.other_kryo import told_apart
from compat.migration.recipe import Recipe
from compat.migration.resolving import Resolved, resolve
from compat.migration.telling import rewritten, told_after
from compat.savepoint.load import read_old
from compat.savepoint.names import Names
from compat.savepoint.operators import RequestError
from compat.state.flink import Draft, Savepoint, read_metadata, self_contained, with_references
from compat.state.flink.crew import Crew
from compat.state.flink.header_parts import Field, StateKey
from compat.state.flink.remapping import Remapped, Unfinished, unfinished_together
from compat.state.flink.remote import Uploading, unfinished_at
from compat.state.flink.tally import Tally
from compat.state.flink.transfer import Transfer, Transferred
from compat.state.flink.transferring import Watch, count_entries, unwatched, write_states

if TYPE_CHECKING:
    from compat.loader.jvm.messages import NativeBackend


class Migration(Struct, frozen=True, kw_only=True):
    """The request: the savepoint, the recipe, the names of its operators, and the check that the result has to pass.

    ``old`` is the program that wrote it, whose classes may be needed to read it, and ``old_flink`` the location of its
    Flink. ``check`` compares OUT and NEW, and gets the names after the migration. With ``copy`` all state files are
    copied, with ``canonical`` no keyed state stays in a backend's own format, and with ``native`` all of it is in that of
    this backend; ``keep`` is false for a dry run. An unknown
    verdict is accepted if ``check`` allows open questions: ``allow_unknown``. The ``crew`` writes the state.
    """

    draft: Draft
    recipe: Recipe
    names: Names
    check: Comparison
    old: str | None = None
    old_flink: FlinkJars = FlinkJars()
    copy: bool = False
    canonical: bool = False
    native: NativeBackend | None = None
    keep: bool = True
    allow_unknown: bool = False
    crew: Crew = Crew()

    @property
    def work(self) -> str:
        """A digest that is the same on all machines that work on one migration."""
        asked = (self.recipe, self.check.new, self.copy, self.canonical, self.native, self.crew.machines, __version__)
        return sha256(json.encode((self.draft.savepoint.digest, *asked))).hexdigest()[:16]


class Migrated(Struct, frozen=True):
    """The result: the resolved recipe, the fate of the entries of each state, the metadata, the outcomes of the check.

    ``digest`` is that of OUT's metadata. ``open`` are accounts of the ledger that the recipe does not cover and that
    NEW does not restore. ``passed`` says that there are none, ``kept`` that OUT exists. ``by_flink`` is how many entries
    NEW's Flink wrote in the form that was asked for.
    """

    resolved: Resolved
    tally: Tally
    made: Remapped
    digest: str
    outcomes: Outcomes
    open: tuple[Account, ...]
    passed: bool
    kept: bool
    by_flink: int = 0

    @property
    def entries(self) -> Mapping[StateKey, int]:
        """The entries of each state that were written."""
        return self.tally.written


def migrate(migration: Migration, jvms: WarmJvms | None = None, watch: Watch = unwatched) -> Migrated:
    """Write a savepoint by a recipe, and keep it if its program restores all of it.

    ``jvms`` are for callers that have several, ``watch`` shows how far it is. Raises RequestError for a recipe that does not
    fit, and a `SavepointError` for what cannot be read or written; the savepoint itself is never touched. Of several machines
    this is for the one that leads, and `take_part` for the others.
    """
    with ExitStack() as stack:
        jvms = jvms or stack.enter_context(WarmJvms())
        new, resolved, making = _begin(migration, jvms, stack)
        by_flink = resolved.transfer.by_flink
        written, made = _write(migration, resolved.transfer, new, making, watch)
        entries = 0
        if new is not None and (by_flink or migration.native is not None):
            ids = (resolved.transfer.id_of(id) for id in by_flink - resolved.transfer.dropped)
            entries = write_keyed(making.metadata, tuple(ids), migration.native, new)
        names = told_after(migration.names, resolved.transfer, None if new is None else new.program)
        check = replace(migration.check, rewritten=rewritten(resolved.transfer), moving=None)
        outcomes = compare(_of(check, making.metadata, names), jvms=jvms)
        still = tuple(account for one in outcomes.outcomes for account in _open(one, migration.allow_unknown))
        passed = not still and all(_passes(one, migration.allow_unknown) for one in outcomes.outcomes)
        digest = read_metadata(making.metadata).digest
        if kept := passed and migration.keep:
            making.finish()
        return Migrated(resolved, written.tally, made, digest, outcomes, still, passed, kept, entries)


def take_part(migration: Migration, jvms: WarmJvms, watch: Watch = unwatched) -> None:
    """Do the share of a machine that does not lead: write state, and read back what was written. Raises as `migrate` does."""
    with ExitStack() as stack:
        new, resolved, making = _begin(migration, jvms, stack)
        _write(migration, resolved.transfer, new, making, watch)


def _begin(
    migration: Migration, jvms: WarmJvms, stack: ExitStack
) -> tuple[NewJob | None, Resolved, Unfinished | Uploading]:
    """The job whose classes are needed, what the recipe means, and the folder to fill."""
    in_form = migration.canonical or migration.native is not None
    for_flink = for_classes(migration.draft.savepoint) if in_form else frozenset()
    new = _new_job(migration, bool(for_flink), jvms, stack)
    functions = Functions(migration.check.load, stack)
    resolved = resolve(migration.recipe, migration.draft.savepoint, migration.names, functions, new)
    by_flink = for_flink if new is not None and new.classes is not None else frozenset()
    resolved = replace(resolved, transfer=replace(resolved.transfer, canonical=in_form, by_flink=by_flink))
    out, crew = migration.check.old, migration.crew
    making = unfinished_together(out, migration.work, crew.leads) if crew.shared else unfinished_at(out)
    return new, resolved, stack.enter_context(making)


def _new_job(migration: Migration, for_flink: bool, jvms: WarmJvms, stack: ExitStack) -> NewJob | None:
    """The job whose classes write values, or whose Flink writes state ``for_flink``; None if neither is needed."""
    if not (migration.recipe.converts or for_flink or migration.native is not None):
        return None
    savepoint = migration.draft.savepoint
    wrote = Writer(migration.old, migration.old_flink, savepoint.format_version)
    new = new_job(migration.check, migration.recipe, wrote, jvms, stack)
    if migration.native is not None or (for_flink and new.classes is not None):
        require_flink(savepoint, new)
    return new


def _write(
    migration: Migration, transfer: Transfer, new: NewJob | None, making: Unfinished | Uploading, watch: Watch
) -> tuple[Transferred, Remapped]:
    """Write the savepoint that is being made, and count what is in it."""
    draft = migration.draft if new is None else told_apart(migration.draft, transfer, new.program.flink)
    # Values that need NEW's classes go through its one JVM.
    through_jvm = migration.recipe.converts and new is not None and new.classes is not None
    crew = replace(migration.crew, processes=1) if through_jvm else migration.crew
    written = write_states(draft.savepoint, transfer, making.folder, crew, watch)
    _require_all_met(transfer, written)
    changes = written.changes
    made = self_contained(draft, changes) if migration.copy else with_references(draft, changes)
    if crew.leads:
        making.take(made)
    crew.until(making.metadata)
    _require_counted(transfer, written, read_metadata(making.metadata), migration.crew, watch)
    return written, made


def _of(check: Comparison, metadata: str, names: Names) -> Comparison:
    """The check of what is not there yet under the name that it will have: of its metadata."""
    known = Input(check.old, metadata, InputKind.SAVEPOINT)
    return replace(check, known={check.old: known}, read={check.old: read_old(known, names)})


def _require_all_met(transfer: Transfer, written: Transferred) -> None:
    """Raise RequestError for a name of a type that no serializer has: the recipe means something else.

    A class may stand in values alone: where some are converted, NEW has to have it.
    """
    for name in (*(transfer.types.classes if not transfer.converted else ()), *transfer.types.fields):
        if name not in written.types:
            what = f"field or constant {name.name} of {name.owner}" if isinstance(name, Field) else f"class {name}"
            raise RequestError(f"No serializer in the savepoint names the {what}; compat inspect shows what is there.")


def _require_counted(transfer: Transfer, written: Transferred, made: Savepoint, crew: Crew, watch: Watch) -> None:
    """Raise RequestError unless what was written is there when it is read back, entry by entry: the leader sees all of it."""
    expected: Counter[StateKey] = Counter()
    for key, entries in written.entries.items():
        became = transfer.becomes(key)
        assert became is not None
        expected[became] += entries
    found = count_entries(made, {key.operator for key in expected}, crew, watch)
    wrong = [key for key in expected if crew.leads and found[key] != expected[key]]
    if wrong:
        raise RequestError(
            f"The state {wrong[0].name!r} has {found[wrong[0]]:,} entries where {expected[wrong[0]]:,} were written: "
            "nothing is kept. Is the disk sound?"
        )


def _passes(outcome: Report | Undecided, allow_unknown: bool) -> bool:
    return outcome.verdict.restores or (allow_unknown and outcome.verdict is Verdict.UNKNOWN)


def _open(outcome: Report | Undecided, allow_unknown: bool) -> Iterator[Account]:
    """The accounts of what NEW does not take, or of which nobody knows whether it does."""
    fine = (Fate.RESTORED, Fate.MIGRATED, *((Fate.UNKNOWN,) if allow_unknown else ()))
    if isinstance(outcome, Report):
        yield from (account for account in outcome.accounts if account.fate not in fine)
