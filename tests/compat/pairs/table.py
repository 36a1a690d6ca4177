"""Old and new versions of jobs, and what ``compat check`` says of them.

What real PyFlink made of the state is in ``restores.json``, written by ``record.py``, for every pair but those that say why
it is not; a test compares it with the verdict. ``NEAR_MISSES`` holds for each rule a pair where it speaks and the smallest
edit after which it is silent.
"""

from __future__ import annotations

from tests.compat.pairs.connectors import CONNECTORS
from tests.compat.pairs.identity import IDENTITY
from tests.compat.pairs.keys import KEYS
from tests.compat.pairs.loading import LOADING
from tests.compat.pairs.modes import MODES
from tests.compat.pairs.operators import BROADCAST, OPERATORS, SOURCES
from tests.compat.pairs.scaling import SCALING
from tests.compat.pairs.settings import SETTINGS
from tests.compat.pairs.shape import SHAPE
from tests.compat.pairs.snapshots import SNAPSHOTS
from tests.compat.pairs.states import DISCOVERY, KINDS, NAMES, OBJECTS, REDISTRIBUTION, TTL
from tests.compat.pairs.stored_types import TYPES
from tests.compat.pairs.windows import WINDOWS

PAIRS = [
    *IDENTITY,
    *SHAPE,
    *SCALING,
    *TYPES,
    *KINDS,
    *NAMES,
    *TTL,
    *REDISTRIBUTION,
    *DISCOVERY,
    *OBJECTS,
    *KEYS,
    *WINDOWS,
    *BROADCAST,
    *OPERATORS,
    *SOURCES,
    *MODES,
    *SNAPSHOTS,
    *SETTINGS,
    *CONNECTORS,
    *LOADING,
]

NEAR_MISSES = {
    "CMP101": ("operator_removed", "stateless_operator_removed"),
    "CMP102": ("uid_changed", "name_changed"),
    "CMP103": ("keyed_process_to_reduce", "keyed_process_replaced_by_reduce"),
    "CMP104": ("no_uids", "uids_as_they_were"),
    "CMP105": ("uid_twice", "uids_as_they_were"),
    "CMP106": ("user_hash_shadows", "user_hash_of_its_own_id"),
    "CMP107": ("operator_added", "stateless_operator_added"),
    "CMP108": ("uid_drawn_at_random", "uid_computed"),
    "CMP109": ("user_hash_no_hash", "user_hash_of_an_old_id"),
    "CMP110": ("uid_of_a_merged_operator", "uid_of_an_operator_apart"),
    "CMP111": ("user_hash_that_another_uid_gives", "user_hash_of_nobody"),
    "CMP112": ("batch_mode", "streaming_mode"),
    "CMP201": ("chain_broken", "chain_that_begins_there"),
    "CMP202": ("forward_between_parallelisms", "rebalance_between_parallelisms"),
    "CMP203": ("iterations_with_checkpoints", "iterations_without_checkpoints"),
    "CMP204": ("operator_put_into_a_finished_chain", "operator_put_behind_a_finished_chain"),
    "CMP205": ("exchange_with_records_in_flight_gone", "exchange_with_records_in_flight_kept"),
    "CMP206": ("finished_source_renamed", "finished_source_kept"),
    "CMP207": ("finished_source_without_end", "finished_source_kept"),
    "CMP301": ("max_parallelism_set", "max_parallelism_as_it_was"),
    "CMP302": ("parallelism_above_max", "parallelism_at_max"),
    "CMP303": ("chain_of_different_key_groups", "chains_of_different_key_groups"),
    "CMP304": ("derived_max_parallelism_moves", "derived_max_parallelism_stays"),
    "CMP305": ("parallelism_above_own_max", "parallelism_at_own_max"),
    "CMP401": ("state_removed", "two_states_kept"),
    "CMP402": ("state_renamed", "state_replaced_by_another_type"),
    "CMP403": ("kind_value_to_reducing", "kind_value_same"),
    "CMP404": ("type_long_to_int", "type_long_to_big_int"),
    "CMP405": ("type_row_last_field_removed", "type_row_field_added"),
    "CMP406": ("key_long_to_int", "key_selector_rewritten"),
    "CMP407": ("window_size_changed", "window_trigger_changed"),
    "CMP408": ("ttl_on_in_flink_1_20", "ttl_longer_in_flink_1_20"),
    "CMP409": ("list_to_union_list", "union_list_same"),
    "CMP410": ("states_that_open_does_not_tell", "states_behind_a_file_that_is_there"),
    "CMP411": ("type_pickled_both", "type_same"),
    "CMP412": ("timers_dropped", "timers_kept"),
    "CMP413": ("reduce_unchanged", "reduce_in_a_window"),
    "CMP414": ("window_process_to_reduce", "window_same"),
    "CMP417": ("ttl_shorter", "ttl_same"),
    "CMP429": ("thread_sessions", "thread_window_same"),
    "CMP430": ("pickled_class_renamed", "pickled_class_same"),
    "CMP431": ("pickled_class_changed_by_a_call", "pickled_class_same"),
    "CMP501": ("savepoint_cut", "savepoint_whole"),
    "CMP502": ("savepoint_without_a_file", "savepoint_with_all_files"),
    "CMP503": ("native_format_of_rocksdb_on_heap", "native_format_of_rocksdb"),
    "CMP504": ("native_format_without_names", "native_format_of_rocksdb"),
    "CMP505": ("savepoint_of_another_type", "savepoint_whole"),
    "CMP506": ("timers_on_heap", "timers_in_rocksdb"),
    "CMP601": ("chaining_disabled", "chaining_set_to_its_default"),
    "CMP602": ("checkpoints_off", "checkpoints_farther_apart"),
    "CMP603": ("mode_process_to_thread", "thread_same"),
    "CMP604": ("consumer_into_flink_2", "consumer_in_flink_1"),
    "CMP607": ("backend_to_rocksdb", "backend_same"),
    "CMP801": ("kafka_topic_dropped", "kafka_topics_in_another_order"),
    "CMP802": ("kafka_topic_added_from_latest", "kafka_topic_added_from_earliest"),
    "CMP803": ("kafka_group_changed", "kafka_group_same"),
    "CMP804": ("kafka_end_removed", "kafka_end_same"),
    "CMP805": ("kafka_prefix_changed", "kafka_prefix_same"),
    "CMP806": ("kafka_at_least_once_to_none", "kafka_at_least_once_same"),
    "CMP807": ("files_left_behind", "files_kept"),
    "CMP809": ("files_read_once_and_looked_for", "files_looked_for_as_before"),
    "CMP810": ("files_read_once_from_two_folders", "files_looked_for_in_two_folders"),
    "CMP901": ("program_fails", "program_does_not_fail"),
    "CMP902": ("program_waits_for_long", "program_waits"),
    "CMP903": ("no_job", "a_job"),
    "CMP904": ("ignored_nothing", "ignored_finding"),
    "CMP905": ("ignored_without_a_rule", "ignored_finding"),
    "CMP907": ("beyond_pyflink", "beyond_pyflink_on_spark"),
}
"""For each rule a pair where it speaks, and one where the smallest edit of it makes it silent."""
