"""CMP5xx: savepoints and checkpoints that cannot be read, or not by this program."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, UNKNOWN, Saved, pair, under
from tests.compat.pairs.shape import FINISHED, rewritten
from tests.compat.savepoint.golden import saved

COUNTS, ROCKSDB = "small_uid_p2_canonical", "all_states_rocksdb_native"
_FILE = "069d8083-35d3-4bed-bc0f-4342e81fbe86"
_COUNTING, _EVERYTHING, _RULES = (saved(name)["program"] for name in (COUNTS, ROCKSDB, FINISHED))
_LONG = 'ValueStateDescriptor("count", Types.LONG())'
_BACKEND = "state.backend.type"

SNAPSHOTS = [
    pair("savepoint_cut", Saved(COUNTS, cut=2000), _COUNTING, UNKNOWN, "CMP501"),
    pair("savepoint_whole", Saved(COUNTS), _COUNTING, OK),
    under(
        pair("savepoint_without_a_file", Saved(FINISHED, without=_FILE), _RULES, BROKEN, "CMP410", "CMP502"),
        names=_RULES,
    ),
    under(pair("savepoint_with_all_files", Saved(FINISHED), _RULES, OK), names=_RULES),
    under(
        pair("native_format_of_rocksdb_on_heap", Saved(ROCKSDB), _EVERYTHING, BROKEN, "CMP503"),
        definitions={_BACKEND: "hashmap"},
        names=_EVERYTHING,
    ),
    under(
        pair("native_format_of_rocksdb", Saved(ROCKSDB), _EVERYTHING, OK),
        definitions={_BACKEND: "rocksdb"},
        names=_EVERYTHING,
    ),
    under(
        pair(
            "native_format_without_names",
            Saved(ROCKSDB),
            _EVERYTHING,
            UNKNOWN,
            "CMP504",
            unrecorded="native_format_of_rocksdb is the same restore",
        ),
        definitions={_BACKEND: "rocksdb"},
    ),
    under(
        pair("savepoint_with_names", Saved(COUNTS), _COUNTING, OK, unrecorded="savepoint_whole is the same restore"),
        names=_COUNTING,
    ),
    pair(
        "savepoint_of_another_type",
        Saved(COUNTS),
        rewritten(COUNTS, _LONG, _LONG.replace("LONG", "STRING")),
        BROKEN,
        "CMP505",
    ),
]
