"""Exceptions of the state backends: serializers that Flink compares, kinds of states, formats of snapshots."""

from __future__ import annotations

import re

from compat.diagnosis.entry import Entry, Proof

_KEEP_TYPE = "Keep the type as it was, or put the new values into a state of another name."

ENTRIES = (
    Entry(
        name="time-to-live-switched",
        title="The new state serializer (…TtlSerializer…) must not be incompatible with the old state serializer",
        pattern=re.compile(
            r"new state serializer \((?P<new>(?!.*Ttl(?:State|Aware).*must not be incompatible).+)\) must not be "
            r"incompatible with "
            r"the old state serializer \((?P<old>.*Ttl(?:State|Aware).+)\)|"
            r"new state serializer \((?P<now>.*Ttl(?:State|Aware).+)\) must not be incompatible with the old state "
            r"serializer "
            r"\((?P<before>(?!.*Ttl(?:State|Aware)).+)\)|"
            r"must not need ttl state migration with the old state serializer"
        ),
        happened="Time to live was switched on or off for a state, and the values are kept in another form with it.",
        rules=("CMP408",),
        now="Leave time to live on or off as it was, or give the state another name.",
        example="org.apache.flink.util.StateMigrationException: For heap backends, the new state serializer "
        "(org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializer@1) must not be incompatible with the old "
        "state serializer "
        "(org.apache.flink.api.common.typeutils.base.LongSerializer@2).",
        versions="RocksDB migrates most such states from 2.1 on, the heap from 2.2 on; at 2.1 the heap says 'must not need ttl "
        "state migration'.",
    ),
    Entry(
        name="state-serializer-incompatible",
        title="The new state serializer (…) must not be incompatible with the old state serializer (…)",
        pattern=re.compile(
            r"[Tt]he new state serializer \((?P<new>.+?)\)(?: must not be incompatible with the old state serializer "
            r"\((?P<old>.+)\)| must|$)"
        ),
        happened="A keyed state has another type: {new} does not read what {old} wrote.",
        rules=("CMP404", "CMP408"),
        now=_KEEP_TYPE,
        example="org.apache.flink.util.StateMigrationException: For heap backends, the new state serializer "
        "(org.apache.flink.api.common.typeutils.base.StringSerializer@1) must not be incompatible with the old "
        "state serializer "
        "(org.apache.flink.api.common.typeutils.base.LongSerializer@2).",
        versions="'For heap backends, the new …' with hashmap, 'The new …' with RocksDB and ForSt.",
    ),
    Entry(
        name="key-serializer-incompatible",
        title="The new key serializer (…) must be compatible with the previous key serializer (…)",
        pattern=re.compile(
            r"[Tt]he new key serializer (?:must be compatible\.|\((?P<new>.+?)\)(?: must be compatible with the previous key "
            r"serializer \((?P<old>.+)\)| must|$))"
        ),
        happened="The operator is keyed by another type: {new} does not read the keys that {old} wrote, and keys "
        "are never migrated.",
        rules=("CMP406", "CMP703"),
        now="Keep the type of the key, or give the operator another uid and let it start without state.",
        example="org.apache.flink.util.StateMigrationException: The new key serializer "
        "(org.apache.flink.api.common.typeutils.base.StringSerializer@1) must be compatible with the previous key "
        "serializer "
        "(org.apache.flink.api.common.typeutils.base.LongSerializer@2).",
    ),
    Entry(
        name="namespace-serializer-incompatible",
        title="The new namespace serializer (…) must be compatible with the old namespace serializer (…)",
        pattern=re.compile(
            r"[Tt]he new namespace serializer \((?P<new>.+?)\)(?: must be compatible with the old namespace serializer "
            r"\((?P<old>.+)\)| must|$)"
        ),
        happened="The windows are of another type: {new} does not read what {old} wrote.",
        rules=("CMP407",),
        now="Keep the kind of window, or give the operator another uid and let it start without state.",
        example="org.apache.flink.util.StateMigrationException: The new namespace serializer "
        "(org.apache.flink.streaming.api.windowing.windows.GlobalWindow$Serializer@1) must be compatible with the "
        "old namespace "
        "serializer (org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer@2).",
    ),
    Entry(
        name="operator-state-serializer-incompatible",
        title="The new state typeSerializer for operator state must not be incompatible",
        pattern=re.compile(r"The new state typeSerializer for operator state must not be incompatible"),
        happened="A list of operator state has another type, which does not read the old elements.",
        rules=("CMP404",),
        now=_KEEP_TYPE,
        example="org.apache.flink.util.StateMigrationException: The new state typeSerializer for operator state "
        "must not be "
        "incompatible.",
    ),
    Entry(
        name="broadcast-state-serializer-incompatible",
        title="The new key typeSerializer for broadcast state must not be incompatible",
        pattern=re.compile(r"The new (?P<part>key|value) typeSerializer for broadcast state must not be incompatible"),
        happened="The {part}s of a broadcast state have a new type, which does not read the old ones.",
        rules=("CMP404",),
        now=_KEEP_TYPE,
        example="org.apache.flink.util.StateMigrationException: The new key typeSerializer for broadcast state must "
        "not be "
        "incompatible.",
    ),
    Entry(
        name="timers-incompatible",
        title="The new priority queue serializer must not be incompatible",
        pattern=re.compile(
            r"[Tt]he new priority queue serializer must not be incompatible|"
            r"Tried to initialize restored TimerService with new (?:key|namespace) serializer that requires "
            r"migration or is "
            r"incompatible|Tried to restore timers for the same service with different (?:key|namespace) serializers"
        ),
        happened="The timers of an operator have a different key or kind of window, and timers are never migrated.",
        rules=("CMP406", "CMP407", "CMP604"),
        now="Keep the key and the kind of window, or give the operator another uid and let it start without state.",
        example="org.apache.flink.util.StateMigrationException: For heap backends, the new priority queue "
        "serializer must not be "
        "incompatible.",
        versions="'Tried to initialize restored TimerService …' where timers are kept as raw state.",
    ),
    Entry(
        name="kind-of-state-changed",
        title="Incompatible key/value state types. Was […], registered with […]",
        pattern=re.compile(
            r"Incompatible key/value state types\. Was \[(?P<old>\w+)\], registered with \[(?P<new>\w+)\]"
        ),
        happened="A state was stored as {old}, and the new program asks for {new}.",
        rules=("CMP403", "CMP414"),
        now="Keep the kind of the state, or give the new state another name.",
        example="java.lang.IllegalStateException: Incompatible key/value state types. Was [LIST], registered with "
        "[VALUE].",
    ),
    Entry(
        name="kind-of-state-not-found",
        title='Cannot invoke "StateMetaInfoSnapshot.getBackendStateType()" because "stateMetaInfoSnapshot" is null',
        pattern=re.compile(r'NullPointerException: Cannot invoke ".*StateMetaInfoSnapshot\.getBackendStateType\(\)"'),
        happened="The keys of an operator are read as a different class, so the bytes after them are taken for another state.",
        rules=("CMP415", "CMP406"),
        now="Keep the class of the key as it was, or give the operator another uid and let it start without state.",
        example='java.lang.NullPointerException: Cannot invoke "org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot.'
        'getBackendStateType()" because "stateMetaInfoSnapshot" is null',
    ),
    Entry(
        name="redistribution-changed",
        title="Incompatible state assignment modes. Was […], registered with […]",
        pattern=re.compile(
            r"Incompatible state assignment modes\. Was \[(?P<old>\w+)\], registered with \[(?P<new>\w+)\]"
        ),
        happened="An operator state was stored as {old}, and the new program asks for {new}.",
        rules=("CMP409",),
        now="Ask for the state as before (getListState, getUnionListState, getBroadcastState), or give it another "
        "name.",
        example="java.lang.IllegalStateException: Incompatible state assignment modes. Was [SPLIT_DISTRIBUTE], "
        "registered with "
        "[UNION].",
    ),
    Entry(
        name="state-name-changed",
        title="Incompatible state names. Was […], registered with […]",
        pattern=re.compile(r"Incompatible state names\. Was \[(?P<state>.*?)\], registered with \[(?P<new>.*?)\]"),
        happened="The new program asks for the state {state!r} under the name {new!r}.",
        rules=("CMP402",),
        now="Give the state its old name back.",
        example="java.lang.IllegalStateException: Incompatible state names. Was [total], registered with [sum].",
    ),
    Entry(
        name="map-key-schema-changed",
        title="The new serializer for a MapState requires state migration in order for the job to proceed, since "
        "the key schema "
        "has changed",
        pattern=re.compile(
            r"The new serializer for a MapState requires state migration.*since the key schema has changed"
        ),
        happened="The keys inside a MapState have a new schema, and RocksDB migrates only the values of a map.",
        rules=("CMP404", "CMP405"),
        now="Keep the type of the map's keys, or put the new map into a state of another name.",
        example="org.apache.flink.util.StateMigrationException: The new serializer for a MapState requires state "
        "migration in "
        "order for the job to proceed, since the key schema has changed. However, migration for MapState currently "
        "only allows "
        "value schema evolutions.",
    ),
    Entry(
        name="migration-failed",
        title="Error while trying to migrate RocksDB state",
        pattern=re.compile(r"Error while trying to migrate RocksDB (?:list |map )?state"),
        happened="Flink judged the new type of a state compatible, and failed when it rewrote the old values.",
        rules=("CMP404", "CMP415", "CMP418"),
        now=_KEEP_TYPE,
        example="org.apache.flink.util.StateMigrationException: Error while trying to migrate RocksDB state.",
        versions="RocksDB, and ForSt, which says RocksDB, too; the heap rewrites nothing and fails elsewhere or not "
        "at all.",
    ),
    Entry(
        name="old-serializer-gone",
        title="Unable to restore operator state […]. The previous typeSerializer of the operator state must be present",
        pattern=re.compile(r"Unable to restore [a-z/ ]*state \[(?P<state>[^\]]*)\]\. The previous .*?must be present"),
        happened="The serializer that wrote the state {state!r} cannot be loaded from the new program.",
        rules=("CMP418", "CMP420"),
        now="Put the class back into the jar, under its old name, and let its snapshot lead to the new one.",
        example="java.io.IOException: Unable to restore operator state [offsets]. The previous typeSerializer of "
        "the operator state "
        "must be present; the typeSerializer could have been removed from the classpath, or its implementation have "
        "changed and "
        "could not be loaded. This is a temporary restriction that will be fixed in future versions.",
    ),
    Entry(
        name="incompatible-schema-used",
        title="Unable to provide a serializer with the current schema, because the restored state was registered "
        "with a new "
        "serializer that has incompatible schema",
        pattern=re.compile(r"Unable to provide a serializer with the current schema"),
        happened="The new program uses a state whose declared type does not read the stored values.",
        rules=("CMP404",),
        now=_KEEP_TYPE,
        example="java.lang.UnsupportedOperationException: Unable to provide a serializer with the current schema, "
        "because the "
        "restored state was registered with a new serializer that has incompatible schema.",
    ),
    Entry(
        name="snapshot-of-another-serializer",
        title="Corrupt data, magic number mismatch",
        pattern=re.compile(
            r"Corrupt data, magic number mismatch\. Expected +[0-9a-f]+, found +[0-9a-f]+|"
            r"Different number of (?:new serializers?|new serializer snapshots) and existing serializer "
            r"(?:configuration )?snapshots"
        ),
        happened="A composite serializer reads a snapshot that another serializer, or one with other parts, wrote.",
        rules=("CMP404", "CMP420"),
        now=_KEEP_TYPE,
        example="java.io.IOException: Corrupt data, magic number mismatch. Expected  1333245, found  54",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="backend-cannot-read",
        title="Unexpected state handle type, expected one of: class …, but found: class …",
        pattern=re.compile(
            r"Unexpected state handle type, expected one of: (?:class )?(?P<new>.+?), but found: (?:class "
            r")?(?P<old>[\w.$]+)"
        ),
        happened="Another state backend wrote the keyed state: it is {old}, and this backend reads {new}.",
        rules=("CMP503", "CMP607"),
        now="Restore with the state backend that wrote it, take a canonical savepoint, and start the other backend "
        "from that.",
        example="java.lang.IllegalStateException: Unexpected state handle type, expected one of: class "
        "org.apache.flink.runtime.state.KeyGroupsStateHandle, but found: class "
        "org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle. This can mostly happen when a different "
        "StateBackend from "
        "the one that was used for taking a checkpoint/savepoint is used when restoring.",
    ),
    Entry(
        name="forst-cannot-restore",
        title="Not support restoring yet for ForStStateBackend",
        pattern=re.compile(r"Not support restoring yet for ForStStateBackend"),
        happened="The keyed state is in a format that ForSt cannot restore, such as a canonical savepoint.",
        rules=("CMP607", "CMP503"),
        now="Restore with hashmap or RocksDB, or from a checkpoint or native savepoint that ForSt took.",
        example="java.lang.UnsupportedOperationException: Not support restoring yet for ForStStateBackend",
        versions="ForSt, from 2.0 on.",
    ),
    Entry(
        name="states-of-forst",
        title="class org.apache.flink.runtime.state.v2.RegisteredKeyValueStateBackendMetaInfo cannot be cast to class "
        "org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo",
        pattern=re.compile(
            r"RegisteredKey(?:AndUserKey)?ValueStateBackendMetaInfo cannot be cast to class|"
            r"RegisteredKeyAndUserKeyValueStateBackendMetaInfo can not transform to|"
            r"Unsupported state type to transform from org\.apache\.flink\.runtime\.state"
        ),
        happened="Operators with asynchronous state, as with ForSt, wrote the state, and operators without it "
        "read it, or the other way round.",
        rules=("CMP607", "CMP605"),
        now="Restore with the state backend and the setting of asynchronous state that wrote it.",
        example="java.lang.ClassCastException: class "
        "org.apache.flink.runtime.state.v2.RegisteredKeyValueStateBackendMetaInfo cannot be "
        "cast to class org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo",
        versions="From 2.0 on.",
    ),
    Entry(
        name="row-of-another-arity",
        title="Row arity: …, but serializer arity: …",
        pattern=re.compile(r"Row arity(?:: (?P<old>\d+)| of \w+ \((?P<found>\d+)\)).*serializer"),
        happened="A row in the state has a different number of fields than the new type.",
        rules=("CMP404", "CMP702"),
        now=_KEEP_TYPE,
        example="java.lang.IllegalArgumentException: Row arity: 2, but serializer arity: 3",
        proof=Proof.RESTORE,
    ),
    Entry(
        name="pattern-lost-a-stage",
        title="State … does not exist in the NFA. NFA has states …",
        pattern=re.compile(r"State (?P<stage>.+?) does not exist in the NFA"),
        happened="A partial match is in the stage {stage!r}, which the new pattern does not have.",
        rules=("CMP425", "CMP707"),
        now="Keep the stages of the pattern, or give the operator another uid and let it start without state.",
        example="org.apache.flink.util.FlinkRuntimeException: State middle does not exist in the NFA. NFA has "
        "states [start, end]",
    ),
)
"""In the order in which they are tried."""
