"""States that could not be found out: the advice fits who could have told them."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.loader.failure import CLASSPATH
from tests.compat.builders import operator, program

QUERY = "[3]:PythonGroupAggregate(groupBy=[k], select=[k, total(v) AS s])"


@pytest.mark.parametrize(
    ("language", "description", "words"),
    [
        ("java", None, "Ask for all states in open()"),
        ("python", None, "Ask for all states in open()"),
        ("python", QUERY, "get_accumulator_type()"),
        ("sql", QUERY, "open() of the functions that it calls"),
    ],
)
def test_what_to_do_about_states_that_are_not_known(language: str, description: str | None, words: str) -> None:
    sides = (
        program(
            name,
            operator("Aggregate", uid="a", states=None, states_unknown="open() failed", description=description),
            language=language,
        )
        for name in ("old", "new")
    )
    (finding,) = (one for one in check(*sides).findings if one.rule == "CMP410")
    assert words in finding.fixes[0].text


@pytest.mark.parametrize(
    ("unknown", "words", "code"),
    [
        ("open() failed: java.lang.ClassNotFoundException: org.shop.Prices", "the jar that has org.shop.Prices", True),
        (
            "open() failed: java.lang.NoClassDefFoundError: org/apache/hadoop/conf/Configuration",
            "--connector hadoop",
            "--connector hadoop",
        ),
        (
            "UnsupportedFileSystemSchemeException: Hadoop is not in the classpath/dependencies.",
            "--connector hadoop",
            "--connector hadoop",
        ),
        ("open() failed: java.lang.ClassNotFoundException: com.mysql.cj.jdbc.Driver", "the database's driver", True),
        ("open() failed: java.sql.SQLException: No suitable driver found for jdbc:x", "the database's driver", True),
        ("open() failed: java.net.ConnectException: Connection refused", "before it connects", False),
        ("open() of f.Job failed: ModuleNotFoundError: No module named 'redis'", "the module redis", False),
        ("open() was not called (--no-open)", "Check without --no-open.", False),
        ("open() failed: FileNotFoundError: /models/a", "a file that is not here", False),
    ],
)
def test_the_advice_fits_what_open_failed_with(unknown: str, words: str, code: bool | str) -> None:
    sides = (
        program(name, operator("Prices", uid="a", states=None, states_unknown=unknown), language="java")
        for name in ("old", "new")
    )
    (finding,) = (one for one in check(*sides).findings if one.rule == "CMP410")
    assert words in finding.fixes[0].text
    assert finding.fixes[0].code == (CLASSPATH if code is True else code or None)
