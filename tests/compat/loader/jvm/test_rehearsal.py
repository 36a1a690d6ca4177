"""OLD's state in NEW's operators: without its values, with those at hand, and with as many as a limit allows."""

import zipfile

import pytest

from compat.loader.jvm.messages import JarProgram, Limit, Restore
from compat.loader.jvm.process import JvmOptions
from compat.state.flink.contents import Entry, group_of, places, read_groups
from compat.state.flink.handles import InlineBytes, KeyGroups
from compat.state.flink.metadata import read_metadata
from tests.compat.loader.jvm.golden import JAVA, program, savepoint
from tests.compat.loader.jvm.support import build_all, built
from tests.state.flink import writer

OPTIONS = JvmOptions(options={})
ALL = Limit(size=1 << 20, seconds=60)
REHEARSED = JAVA / "rehearsed"
NAMES = {
    "kryo_field_removed": "KryoFieldRemoved",
    "avro_field_added_default": "AvroFieldAddedDefault",
    "sink_writer_version": "SinkWriterVersion",
}
AVRO = '{"type":"record"'
EXTRA = '{"name":"extra","type":"int"'
MANY = 150_000
MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")


def as_two_subtasks(folder, enumerator=1):
    """The ``_metadata`` of a savepoint whose operators have one subtask, each with its key groups on two.

    ``enumerator`` is the version that what enumerators kept claims to be of.
    """
    operators = []
    for one in read_metadata(folder).operators:
        (state,) = one.subtasks
        handle = state.managed_keyed
        parts = [b"", b""]
        if handle is not None:
            assert isinstance(handle, KeyGroups)
            assert isinstance(handle.stream, InlineBytes)
            half = handle.key_groups.count // 2
            stream = writer.inline(handle.stream.data)
            parts = [
                writer.full(stream, 0, handle.offsets[:half]),
                writer.full(stream, half, handle.offsets[half:]),
            ]
        managed = b""
        if state.managed_operator is not None:
            assert isinstance(state.managed_operator.stream, InlineBytes)
            managed = writer.operator_stream(
                writer.inline(state.managed_operator.stream.data),
                *(
                    writer.partition(each.name, MODES.index(each.mode), each.offsets)
                    for each in state.managed_operator.partitions
                ),
            )
        subtasks = [
            writer.subtask(index, version=3, managed_keyed=part or writer.NULL, managed_operator=managed)
            for index, part in enumerate(parts)
        ]
        coordinator = writer.NULL
        if one.coordinator is not None:
            kept = one.coordinator.data
            coordinator = writer.inline(kept[:4] + writer.integer(enumerator) + kept[8:])
        operators.append(
            bytes.fromhex(one.id)
            + writer.integer(2, one.max_parallelism)
            + coordinator
            + writer.integer(2)
            + b"".join(subtasks)
        )
    return writer.MAGIC + writer.integer(3) + writer.long(1) + writer.listed([]) + writer.listed(operators)


def with_values(folder, number):
    """The ``_metadata`` of a savepoint whose first value stands under so many keys, in one key group."""
    found = read_metadata(folder)
    operators = []
    for one in found.operators:
        keyed = writer.NULL
        handle = one.subtasks[0].managed_keyed
        if handle is not None:
            first = places(handle)[0]
            (group,) = read_groups(found, handle, [first])
            entry, *_ = group.entries()
            keys = (entry.key[:1] + key.to_bytes(8, "big") + entry.key[9:] for key in range(number))
            data = handle.stream.data[: first.start]
            data += group_of(first.number, (Entry(entry.state, key, entry.value) for key in keys)).data
            keyed = writer.full(writer.inline(data), first.number, [first.start])
        subtask = writer.subtask(version=3, managed_keyed=keyed)
        head = bytes.fromhex(one.id) + writer.integer(1, one.max_parallelism)
        operators.append(head + writer.NULL + writer.integer(1) + subtask)
    return writer.MAGIC + writer.integer(3) + writer.long(1) + writer.listed([]) + writer.listed(operators)


@pytest.fixture(scope="module")
def answers(flink, java):
    """The answers to all restores, by name and what was asked for: one JVM."""
    programs = {name: JarProgram(path=str(REHEARSED / name / "new.jar"), main_class=NAMES[name]) for name in NAMES}
    programs = {"pojo_field_added": program("2.3.0", "pojo_field_added", "new"), **programs}
    asked = {name: [] for name in programs}

    def want(name, what, restore):
        asked[name].append((what, restore))

    pojo = savepoint("2.3.0", "pojo_field_added")
    want("pojo_field_added", "all", Restore(folder=str(pojo), limit=ALL))
    want("pojo_field_added", "heads", Restore(folder=str(pojo)))
    want("pojo_field_added", "one", Restore(folder=str(pojo), limit=Limit(entries=1, seconds=60)))
    want("pojo_field_added", "60 bytes", Restore(folder=str(pojo), limit=Limit(size=60, seconds=60)))
    want("pojo_field_added", "late", Restore(folder=str(pojo), limit=Limit(size=1 << 20, seconds=-1)))
    want("pojo_field_added", "two subtasks", Restore(metadata=as_two_subtasks(pojo), limit=ALL))
    later = as_two_subtasks(pojo, enumerator=9)
    want("pojo_field_added", "later enumerator", Restore(metadata=later))
    many = with_values(pojo, MANY)
    want("pojo_field_added", "many", Restore(metadata=many, limit=Limit(size=1 << 30, seconds=60)))
    want("pojo_field_added", "missing", Restore(folder=str(pojo / "nowhere")))
    for name in NAMES:
        want(name, "all", Restore(folder=str(REHEARSED / name / "savepoint"), limit=ALL))
    wanted = [(one, [restore for _, restore in asked[name]]) for name, one in programs.items()]
    outcomes = built(wanted, flink, java, OPTIONS)
    assert [one.crash for one in outcomes] == [None] * len(programs)
    return {
        (name, what): restored
        for (name, one), outcome in zip(asked.items(), outcomes, strict=True)
        for (what, _), restored in zip(one, outcome.restored, strict=True)
    }


@pytest.fixture(scope="module")
def avro(flink, java, tmp_path_factory):
    """What is said of jobs whose records lost a field, by which one: restored into a job with the fields n and extra."""
    folder = tmp_path_factory.mktemp("avro")
    jar = REHEARSED / "avro_field_added_default" / "new.jar"
    schemas = {
        "the last": lambda schema: schema.replace("]}", ',{"name":"last","type":"string"}]}'),
        "one between": lambda schema: schema.replace(EXTRA, '{"name":"other","type":"int"},' + EXTRA),
        "one of another type": lambda schema: schema.replace(EXTRA, '{"name":"other","type":"string"},' + EXTRA),
        "none": lambda schema: schema,
    }
    olds = [with_schema(jar, folder / f"{number}.jar", edit) for number, edit in enumerate(schemas.values())]
    entry = NAMES["avro_field_added_default"]
    outcomes = build_all([JarProgram(path=str(one), main_class=entry) for one in olds], flink, java, OPTIONS)
    wanted = [Restore(metadata=one.jobs[-1].savepoint) for one in outcomes]
    (outcome,) = built([(JarProgram(path=str(jar), main_class=entry), wanted)], flink, java, OPTIONS)
    return dict(zip(schemas, outcome.restored, strict=True))


def with_schema(jar, changed, edit):
    """A jar whose program has another Avro schema: a constant in its class, behind its own length."""
    with zipfile.ZipFile(jar) as before, zipfile.ZipFile(changed, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            at = data.find(AVRO.encode())
            if at > 0:
                length = int.from_bytes(data[at - 2 : at], "big")
                schema = edit(data[at : at + length].decode()).encode()
                data = data[: at - 2] + len(schema).to_bytes(2, "big") + schema + data[at + length :]
            after.writestr(name, data)
    return changed


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("the last", {}),
        ("one between", {"hashmap": "moved", "rocksdb": "moved"}),
        ("one of another type", {"hashmap": "checkpoint", "rocksdb": "restore"}),
        ("none", {}),
    ],
)
def test_fields_of_avros_generic_records_are_copied_by_their_position(avro, gone, said):
    failed = {
        one.backend: one.at for operator in avro[gone].operators for one in operator.rehearsal.states if one.failure
    }
    assert failed == said
    assert not any(attempt.failure for one in avro[gone].operators for attempt in one.attempts)


def readings(restored):
    return {
        (one.backend, one.name): (one.read, one.at if one.failure else None, one.key_group, one.key)
        for operator in restored.operators
        for one in operator.rehearsal.states
        if one.scope == "keyed"
    }


def amounts(restored):
    return [
        (one.rehearsal.key_groups_read, one.rehearsal.key_groups)
        for one in restored.operators
        if one.rehearsal.key_groups
    ]


@pytest.mark.parametrize("how", ["all", "heads", "two subtasks"])
def test_values_are_restored_read_and_counted_on_each_backend(answers, how):
    found = answers["pojo_field_added", how]
    assert readings(found) == {("hashmap", "st"): (3, None, None, ""), ("rocksdb", "st"): (3, None, None, "")}
    assert amounts(found) == [(3, 3)]
    assert not found.failure
    assert not any(attempt.failure for one in found.operators for attempt in one.attempts)


def test_what_an_enumerator_kept_is_read_by_its_source(answers):
    failures = [
        (attempt.backend, attempt.failure.message)
        for one in answers["pojo_field_added", "later enumerator"].operators
        for attempt in one.attempts
        if attempt.failure is not None
    ]
    assert failures == [("any", "Unrecognized version: 9")]


def test_a_key_group_of_some_megabytes(answers):
    assert readings(answers["pojo_field_added", "many"]) == {
        (backend, "st"): (MANY, None, None, "") for backend in ("hashmap", "rocksdb")
    }


def test_values_in_a_key_group_that_is_not_their_keys_are_counted(answers):
    misplaced = {
        how: sum(one.rehearsal.misplaced for one in answers["pojo_field_added", how].operators)
        for how in ("all", "many")
    }
    assert misplaced["all"] == 0
    assert misplaced["many"] > 1000


def test_two_subtasks_are_restored_as_one(answers):
    found = answers["pojo_field_added", "two subtasks"]
    splits = {
        one.name: one.read
        for operator in found.operators
        for one in operator.rehearsal.states
        if one.scope == "operator"
    }
    assert splits == {"SourceReaderState": 2}
    assert [state.name for one in found.operators for state in one.states] == [
        state.name for one in answers["pojo_field_added", "all"].operators for state in one.states
    ]


def test_the_limit_leaves_key_groups_out(answers):
    assert amounts(answers["pojo_field_added", "60 bytes"]) == [(1, 3)]
    assert readings(answers["pojo_field_added", "60 bytes"])["rocksdb", "st"][0] == 1
    assert amounts(answers["pojo_field_added", "late"]) == [(0, 3)]
    assert [
        one.rehearsal.notes for one in answers["pojo_field_added", "late"].operators if one.rehearsal.key_groups
    ] == [("the time was up",)]


def test_what_cannot_be_read_is_said(answers):
    found = answers["pojo_field_added", "missing"]
    assert found.operators == ()
    assert "_metadata" in found.failure


@pytest.mark.parametrize(
    ("name", "hashmap", "rocksdb"),
    [
        ("kryo_field_removed", (0, "restore", 86, "1"), (0, "first-read", 86, "1")),
        ("avro_field_added_default", (0, "checkpoint", 86, "1"), (0, "restore", 86, "1")),
    ],
)
def test_the_first_value_that_fails_is_found(answers, name, hashmap, rocksdb):
    assert readings(answers[name, "all"]) == {("hashmap", "st"): hashmap, ("rocksdb", "st"): rocksdb}


def test_what_a_sink_keeps_is_read_by_its_own_serializer_and_not_handed_to_it(answers):
    failures = [
        (attempt.backend, attempt.failure.message)
        for one in answers["sink_writer_version", "all"].operators
        for attempt in one.attempts
        if attempt.failure is not None
    ]
    assert failures == [("any", "unknown writer state version 1")]
