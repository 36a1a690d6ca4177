"""CMP1xx: uids, user hashes and generated ids."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, pair, under
from tests.compat.pairs.programs import KEPT, KEYED, value

KEEP = "b9306f835fc194e9fd24bb7e9c29e111"  # the ids that the uids "keep" and "second" give
SECOND = "6730ef7375fb60f9d9bbdfdfd174d803"
_TWO = KEYED + '\nnumbers.key_by(lambda x: x % 5 + 10, L).process(Keep(), S).uid("second").print().uid("more")'


def two(*edits: tuple[str, str]) -> str:
    """Two counters with keys of their own, with some texts of the graph replaced."""
    graph = _TWO
    for old, new in edits:
        assert old in graph, old
        graph = graph.replace(old, new)
    return value("L", graph=graph)


_PLAIN = '.uid("keep").print()', ".print()"
_MAP = '.key_by(lambda x: x % 5 + 10, L).process(Keep(), S).uid("second")', '.map(lambda x: "x", S).uid("second")'


def kept(*, uid: str = '"keep"', hash: str = "", before: str = "") -> str:
    """One counter with a uid in source text, a user hash, and a line before it."""
    calls = f".uid({uid})" + (f'.set_uid_hash("{hash}")' if hash else "")
    return value("L", graph=before + KEYED.replace('.uid("keep")', calls))


RANDOM = "f\"keep-{__import__('uuid').uuid4()}\""
FIXED = "f\"keep-{__import__('uuid').UUID(int=7)}\""

IDENTITY = [
    pair("operator_removed", two(), value("L"), BROKEN, "CMP101"),
    pair("stateless_operator_removed", two(_MAP), value("L"), OK),
    pair("uid_changed", kept(), kept(uid='"kept"'), BROKEN, "CMP102"),
    pair("name_changed", kept(), kept(uid='"keep").name("kept"'), OK),
    pair("operator_added", value("L"), two(), OK, "CMP107"),
    pair("stateless_operator_added", value("L"), two(_MAP), OK),
    pair("no_uids", two(_PLAIN), two(_PLAIN), OK, "CMP104"),
    pair("uids_as_they_were", two(), two(), OK),
    pair(
        "uids_exchanged",
        two(),
        two(('"keep"', '"?"'), ('"second"', '"keep"'), ('"?"', '"second"')),
        BROKEN,
        "CMP419",
        unrecorded="with keys that only the other operator had, nothing that is printed tells of the old ones",
    ),
    pair("uid_twice", two(), two(('"second"', '"keep"')), BROKEN, "CMP105"),
    pair("user_hash_no_hash", two(), two(('.uid("second")', '.set_uid_hash("second")')), BROKEN, "CMP109"),
    pair("user_hash_of_an_old_id", two(), two(('.uid("second")', f'.set_uid_hash("{SECOND}")')), OK, "CMP104"),
    pair("user_hash_shadows", two(), kept(hash=SECOND), BROKEN, "CMP106"),
    pair(
        "states_of_two_operators_under_one",
        two(),
        two(('"keep")', f'"keep").set_uid_hash("{SECOND}")'), ('"second"', '"third"')),
        BROKEN,
        "CMP106",
        "CMP107",
        "CMP431",
    ),
    pair("user_hash_of_its_own_id", two(), kept(hash=KEEP), BROKEN, "CMP101"),
    # Flink gives the state to one of the two, in the order of a hash set of objects; recorded is a run in which it was lost.
    pair(
        "user_hash_that_another_uid_gives",
        value("L"),
        two(('.uid("second")', f'.uid("second").set_uid_hash("{KEEP}")')),
        BROKEN,
        "CMP111",
    ),
    pair(
        "user_hash_of_nobody",
        value("L"),
        two(('.uid("second")', f'.uid("second").set_uid_hash("{SECOND}")')),
        OK,
        "CMP107",
    ),
    pair(
        "user_hash_twice",
        two(),
        two(
            ('"keep")', f'"first").set_uid_hash("{KEEP}")'),
            ('.uid("second")', f'.uid("third").set_uid_hash("{KEEP}")'),
        ),
        BROKEN,
        "CMP102",
        "CMP111",
    ),
    pair("names_given", two(), two(('.uid("second")', '.uid("second").name("Second")')), OK),
    pair(
        "uid_of_a_merged_operator",
        value("L"),
        value("L", graph=KEPT + '.map(lambda s: s, S).uid("lost").print().uid("out")'),
        OK,
        "CMP110",
    ),
    pair(
        "uid_of_an_operator_apart",
        value("L"),
        value("L", graph=KEPT + '.map(lambda s: s, S).start_new_chain().uid("lost").print().uid("out")'),
        OK,
    ),
    under(pair("uid_drawn_at_random", kept(uid=RANDOM), kept(uid=RANDOM), BROKEN, "CMP102", "CMP108"), whole=True),
    under(pair("uid_computed", kept(uid=FIXED), kept(uid=FIXED), OK), whole=True),
]
