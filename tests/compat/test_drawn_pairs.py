"""Pairs that were drawn, and really restored: nothing is called compatible that Flink did not keep.

``python -m tests.compat.test_drawn_pairs`` tells how often the verdict is right, unknown, or an alarm, and by which rules.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from tests.compat import verdicts
from tests.compat.loader.jvm.support import flink_of
from tests.compat.verdicts import Pair, verdict

DRAWN = Path(__file__).parents[1] / "golden" / "drawn"
RIGHT_BY_THEIR_ROWS = {"semianti_1025", "h_cte_twice", "h2_mat_strategy", "h2_on_conflict", "h4_pk_moved"}
"""Pairs in SQL whose state is lost or wrong, and whose few rows behind the savepoint did not show it."""

EITHER_WAY = {
    *(
        "uids_in_loop_swapped",
        "swap_behind_maps",
        "swap_behind_flat_map",
        "swap_behind_instances",
        "swap_behind_partial",
    ),
    *("swap_behind_side_outputs", "swap_behind_sources", "swap_windows", "swap_behind_union", "uid_hash_swapped"),
    *("side_tags_swapped", "sources_swapped", "uids_exchanged hashmap", "juids_swapped_maps hashmap"),
    *("jside_uids_swapped hashmap", "jside_tags_swapped hashmap", "jfeeds_swapped hashmap", "jmaps_swapped hashmap"),
}
"""Pairs whose state is lost because uids changed places, or because what feeds them did on purpose: no program tells which."""

OF_ANOTHER_MEANING = {
    *(
        "k3_property",
        "side_yields_swapped",
        "jkey_upstream hashmap",
        "jside_args_swapped hashmap",
    ),  # records do
    *("body_map_keys", "n3_list_index", "jnames_index_swapped hashmap", "jtuple_use_swapped hashmap"),
    *("k2_method_ref_swapped hashmap", "k2_op_use hashmap"),
    *("enum_number_held", "jenum_int hashmap"),
    "jaccumulator_swapped hashmap",  # a warning: CMP421
}
"""Pairs whose state is restored as it was, and whose code takes it, or the records for it, to mean something else."""

ALARMS = {"k3_strip", "connect_swapped_inputs", "jkey_floor_mod hashmap", "p135 hashmap"}
"""Pairs that only other records than theirs would tell apart; and a serializer that compresses in another way."""


RESTORED_WITH_ANOTHER_MEANING = {
    "r_numpyless_scale",  # a unit
    *("ttl_very_short", "w_tumbling_to_sliding", "cw_to_sliding"),  # warnings: CMP417, CMP407
}
"""Pairs with pickled states that are restored as they were, and whose results are others."""

REFUSED_BY_JAVA_ALONE = {
    *("string_bytes_val_p", "dec_string_val_p", "bool_byte_val_p", "wrapped_long_val_p"),  # Python reads either
    *("list_to_value_p", "c_to_module_loaded", "c_property_over_old", "c_reads_with_getattr", "up_record_longer"),
}
"""Pairs that PyFlink restored, and that are called incompatible: their few values did not show it, or code hid it."""


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DRAWN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def kind_of(found: Verdict, *, restored: bool) -> str:
    """Whether a verdict says what Flink did."""
    if found is Verdict.UNKNOWN:
        return "unknown"
    fine = found in (Verdict.COMPATIBLE, Verdict.MIGRATION)
    return "right" if fine is restored else "wrong" if fine else "alarm"


def in_python(folder: Path, every: int = 1, kind: str = "pyflink") -> Iterator[tuple[str, str, Report | Undecided]]:
    """Each program pair of PyFlink, whether its verdict is right, and the report; ``every`` so many are left."""
    for one in records(kind)[::every]:
        paths = {side: folder / one["name"] / side / "job.py" for side in ("old", "new")}
        for number, (side, path) in enumerate(paths.items()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one[side], encoding="utf-8")
            for name, texts in one.get("modules", {}).items():
                path.with_name(f"{name}.py").write_text(texts[number], encoding="utf-8")
        (report,) = compare(Comparison(str(paths["old"]), str(paths["new"]))).outcomes
        yield one["name"], kind_of(report.verdict, restored=one["restored"]), report


def built(kind: str, flink: Any, java: Any, wanted: int | None = None) -> Iterator[tuple[dict[str, Any], Pair]]:
    """The pairs in Java or SQL as Flink builds them."""
    from compat.loader.jvm.messages import JarProgram, SqlScript

    def program(one: dict[str, Any], side: str) -> JarProgram | SqlScript:
        if kind == "java":
            return JarProgram(path=str(DRAWN / f"{side}.jar"), main_class=f"{one['name']}.Job")
        return SqlScript(path=f"{side}.sql", text=one[side])

    found = records(kind)[:: 1 if wanted is None else max(len(records(kind)) // wanted, 1)]
    for number, pair in verdicts.built([(program(one, "old"), program(one, "new")) for one in found], flink, java):
        yield found[number], pair


def in_java(flink: Any, java: Any, wanted: int | None = None) -> Iterator[tuple[str, str, Report | Undecided]]:
    for one, pair in built("java", flink, java, wanted):
        for backend, did in one["flink"].items():
            report = verdict(pair, "programs", Path(), backend)
            yield f"{one['name']} {backend}", kind_of(report.verdict, restored=did["restored"]), report


def in_sql(flink: Any, java: Any, wanted: int | None = None) -> Iterator[tuple[str, str, Report | Undecided]]:
    for one, pair in built("sql", flink, java, wanted):
        report = verdict(pair, "programs", Path(), "hashmap")
        yield one["name"], kind_of(report.verdict, restored=not one["truth"]), report


def named(found: dict[str, str], kind: str) -> set[str]:
    """The pairs of a kind."""
    return {name for name, its in found.items() if its == kind}


def test_a_sample_of_pyflink(tmp_path: Path) -> None:
    found = {name: kind for name, kind, _ in in_python(tmp_path, 6)}
    assert named(found, "wrong") <= OF_ANOTHER_MEANING
    assert named(found, "alarm") <= ALARMS


@pytest.mark.slow
def test_all_of_pyflink(tmp_path: Path) -> None:
    found = {name: kind for name, kind, _ in in_python(tmp_path)}
    assert named(found, "wrong") == OF_ANOTHER_MEANING & found.keys()
    assert named(found, "alarm") == ALARMS & found.keys()
    assert {found[name] for name in EITHER_WAY & found.keys()} == {"unknown"}
    assert len(named(found, "unknown") - EITHER_WAY) <= 16


def test_a_sample_of_pickles(tmp_path: Path) -> None:
    found = {name: kind for name, kind, _ in in_python(tmp_path, 8, "pickles")}
    assert named(found, "wrong") <= RESTORED_WITH_ANOTHER_MEANING
    assert named(found, "alarm") <= REFUSED_BY_JAVA_ALONE


@pytest.mark.slow
def test_all_of_pickles(tmp_path: Path) -> None:
    found = {name: kind for name, kind, _ in in_python(tmp_path, kind="pickles")}
    assert named(found, "wrong") == RESTORED_WITH_ANOTHER_MEANING
    assert named(found, "alarm") == REFUSED_BY_JAVA_ALONE
    assert len(named(found, "unknown")) <= 110


def test_a_sample_of_java(flink: Any, java: Any) -> None:
    found = {name: kind for name, kind, _ in in_java(flink, java, 14)}
    assert len(found) > 12
    assert named(found, "wrong") <= OF_ANOTHER_MEANING


@pytest.mark.slow
def test_all_of_java(flink: Any, java: Any) -> None:
    found = {name: kind for name, kind, _ in in_java(flink, java)}
    assert named(found, "wrong") == OF_ANOTHER_MEANING & found.keys()
    assert named(found, "alarm") == ALARMS & found.keys()
    assert {found[name] for name in EITHER_WAY & found.keys()} == {"unknown"}
    assert len(named(found, "unknown") - EITHER_WAY) <= 12


@pytest.mark.slow
def test_all_of_sql(flink: Any, java: Any) -> None:
    found = {name: kind for name, kind, _ in in_sql(flink, java)}
    assert [name for name, kind in found.items() if kind == "wrong"] == []
    assert {name for name, kind in found.items() if kind != "right"} <= RIGHT_BY_THEIR_ROWS


def main() -> None:
    """Tell the figures."""
    import tempfile

    from compat.loader.jvm.java import find_java

    flink, java = flink_of("2.3.0"), find_java()
    with tempfile.TemporaryDirectory() as folder:
        for title, found in (
            ("PyFlink", in_python(Path(folder))),
            ("pickles", in_python(Path(folder), kind="pickles")),
            ("Java", in_java(flink, java)),
            ("SQL", in_sql(flink, java)),
        ):
            kinds: Counter[str] = Counter()
            causes: Counter[str] = Counter()
            for name, kind, report in found:
                kinds[kind] += 1
                if kind == "wrong":
                    print(f"{title}: {name} is called {report.verdict.value}")
                if kind == "unknown" and isinstance(report, Report):
                    causes.update(
                        {f"{one.rule} {one.subject or ''}" for one in report.findings if one.level is Level.UNKNOWN}
                    )
            print(title, dict(kinds), dict(causes), flush=True)


if __name__ == "__main__":
    main()
