"""Ignore comments, and rules that the settings ignore."""

from __future__ import annotations

import pytest

from compat.check.findings import Level
from compat.check.ignores import IgnoredRule, apply_ignored_rules, apply_ignores, comments
from compat.state.model.source_line import SourceLine
from tests.compat.builders import finding, operator

LINE_1 = SourceLine("new.py", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1  # compat: ignore[CMP402] on purpose", [(("CMP402",), "on purpose")]),
        ("x = 1  # compat:ignore[cmp402, CMP401]: both", [(("CMP402", "CMP401"), "both")]),
        ("x = 1  # noqa  # compat: ignore[CMP402] why # noqa", [(("CMP402",), "why")]),
        ("x = 1  # compat: ignore[CMP402]", [(("CMP402",), "")]),
        ("x = 1  # compat: ignore", [((), "")]),
        ("x = 1  # compat: ignore all", [((), "")]),
        ("x = 1  # compat: ignore[]", [((), "")]),
        ("x = '# compat: ignore[CMP402]'", []),
        ('x = """\n# compat: ignore[CMP402]\n"""', []),
        ("x = (1  # compat: ignore[CMP402] before the end is missing", [(("CMP402",), "before the end is missing")]),
        ('{"spec": "compat: ignore[CMP402]"}', []),
    ],
)
def test_comments(text: str, expected: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(ignore.rules, ignore.reason) for ignore in comments("f", text)] == expected


def test_a_finding_on_the_line_is_suppressed_with_its_reason() -> None:
    hit, other = finding("CMP402", new_line=LINE_1), finding("CMP402", new_line=SourceLine("new.py", 2))
    kept, suppressed, extra = apply_ignores([hit, other], new={"new.py": "f()  # compat: ignore[CMP402] known\ng()"})
    assert kept == (other,)
    assert [each.ignored for each in suppressed] == ["known"]
    assert extra == ()


def test_another_rule_is_kept_and_the_comment_reported() -> None:
    kept, suppressed, extra = apply_ignores(
        [finding("CMP404", new_line=LINE_1)], new={"new.py": "f()  # compat: ignore[CMP402]"}
    )
    assert (len(kept), suppressed) == (1, ())
    assert [(each.rule, each.level, each.new_line) for each in extra] == [("CMP904", Level.WARNING, LINE_1)]


@pytest.mark.parametrize("comment", ["ignore", "ignore[]", "ignore[CMP999]", "ignore everything"])
def test_an_ignore_without_a_rule_ignores_nothing(comment: str) -> None:
    kept, _, extra = apply_ignores([finding("CMP402", new_line=LINE_1)], new={"new.py": f"f()  # compat: {comment}"})
    assert len(kept) == 1
    assert [each.rule for each in extra] == ["CMP905"]


def test_a_comment_in_old_covers_only_what_is_gone_from_new() -> None:
    old_line = SourceLine("old.py", 1)
    gone = finding("CMP101", old=operator("Count", at=old_line))
    changed = finding("CMP402", old_line=old_line, new_line=LINE_1)
    text = "f()  # compat: ignore[CMP101, CMP402] last time"
    kept, suppressed, extra = apply_ignores([gone, changed], old={"old.py": text}, new={"new.py": "f()"})
    assert kept == (changed,)
    assert [each.rule for each in suppressed] == ["CMP101"]
    assert extra == ()


def test_a_finding_about_several_operators_wants_a_comment_at_each() -> None:
    many = finding("CMP104", related=(("a", LINE_1), ("b", SourceLine("new.py", 2))))
    one, both = "f()  # compat: ignore[CMP104]\ng()", "f()  # compat: ignore[CMP104]\ng()  # compat: ignore[CMP104]"
    assert apply_ignores([many], new={"new.py": one}) == ((many,), (), ())
    assert apply_ignores([many], new={"new.py": both})[0] == ()


def test_settings_ignore_a_rule_or_one_operator_of_it() -> None:
    count, total = finding(new=operator("Count", uid="count")), finding(new=operator("Total", uid="total"))
    assert apply_ignored_rules([count, total], [IgnoredRule("CMP102")])[0] == ()
    kept, suppressed = apply_ignored_rules([count, total], [IgnoredRule("CMP102", "count", "known")])
    assert kept == (total,)
    assert suppressed[0].ignored == "ignored in the settings: known"
