"""Every failure of a real restore that is recorded here is recognised by its text."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from compat.check.catalogue import RULES
from compat.diagnosis.catalogue import ENTRIES
from compat.diagnosis.diagnosing import Diagnosis, diagnose
from compat.diagnosis.lines import split
from tests.compat.diagnosis.recorded import Recorded, failures

NEVER_STARTS = re.compile(
    r"Generic types have been disabled|[Mm]aximum parallelism must be|Hash collision on user-specified ID|"
    r"Could not parse value|Unrecognized option for boolean|does not start with a number|unknown value of RestartStrategyType|"
    r"AsyncFunction is still not supported|requires to set a uid|Forward partitioning does not allow|NoSuchFieldException|"
    r"is not supported in PyFlink currently|Cannot find configured state backend factory|ClassNotFoundException: forst|"
    r"does not integrate the async processing logic|Can't pickle"
)
"""What the new program throws without any state, too: no failure of a restore."""
CUT = re.compile(
    r"Traceback \(most recent call last\):(?!.*\n\w+(?:Error|Exception): )|the process ended with -\d+", re.DOTALL
)
"""The record was cut before Python's traceback came to its point, or there is no text at all."""
OF_ANY_PROGRAM = re.compile(
    r"(?:IndexOutOfBounds|ClassNotFound|EOF|ClassCast|NoSuchElement|DateTime|IO)Exception: |<class 'TypeError'>: |"
    r"NullPointerException$|IllegalArgumentException: c$"
)
"""What any program throws: only the exceptions and stack traces around it, which these records do not have, say more."""

RESTORING = (
    "org.apache.flink.runtime.state.BackendBuildingException: Failed when trying to restore heap backend\nCaused by: "
)
RECORDED = list(failures())


def of(text: str) -> Diagnosis:
    return diagnose(line for part in text.split("\n") for line in split(part))


def last(recorded: Recorded) -> str:
    return recorded.exceptions[-1]


def test_records_of_every_kind_are_read():
    kinds = Counter(recorded.where.split()[0] for recorded in RECORDED)
    assert kinds["topology"] > 600
    assert kinds["restore"] > 400
    assert kinds["java"] > 200
    assert kinds["types"] > 180
    assert {"drawn", "query", "pair", "remapped", "forst"} < set(kinds)


def test_every_failed_restore_is_recognised_by_its_text():
    missed = Counter()
    for recorded in RECORDED:
        found = of(recorded.log)
        if found.failures:
            assert len(found.failures) == 1, recorded
            assert not NEVER_STARTS.search(last(recorded)), (recorded, found)
            continue
        kind = next(
            (name for name, known in _UNTOLD.items() if known.search(last(recorded))),
            recorded,
        )
        missed[kind] += 1
    assert set(missed) == set(_UNTOLD)
    assert sum(missed.values()) < 0.08 * len(RECORDED), missed


_UNTOLD = {"never starts": NEVER_STARTS, "cut": CUT, "of any program": OF_ANY_PROGRAM}


@pytest.mark.parametrize(
    "text",
    sorted(
        {
            re.sub(r"\d+", "1", last(one))
            for one in RECORDED
            if OF_ANY_PROGRAM.match(last(one)) and not of(one.log).failures
        }
    ),
)
def test_what_any_program_throws_is_recognised_where_state_is_restored(text):
    assert not of(text).failures
    assert of(RESTORING + text).failures


def test_the_entries_give_reasons_and_most_have_a_record():
    said = Counter()
    for recorded in RECORDED:
        for failure in of(recorded.log).failures:
            said[failure.entry.name] += 1
    assert said["operator-not-available"] > 600
    assert said["state-serializer-incompatible"] > 200
    assert said["max-parallelism-mismatch"] > 150
    assert said["key-serializer-incompatible"] > 100
    assert said["backend-not-restored"] < 5, "an entry that gives no reason"
    assert len(said) > 35


def test_each_entry_names_rules_that_exist_and_has_a_name_of_its_own():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry.rules
        assert set(entry.rules) <= set(RULES), entry.name


def test_what_an_entry_says_ends_with_its_sentence():
    for entry in ENTRIES:
        for text in (entry.happened, entry.now, entry.versions):
            assert text == text.strip(), entry.name
            assert not text or text.endswith((".", "'")), entry.name
