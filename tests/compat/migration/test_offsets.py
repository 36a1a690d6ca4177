"""Where a Kafka source goes on after a migration: savepoints that Flink wrote, under other topics, partitions and offsets."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.going_back import inverse_of
from compat.migration.recipe import MoveOffsets, Open, Recipe, read_recipe
from compat.migration.resolving import resolve
from compat.savepoint.connectors import kafka_splits
from compat.savepoint.names import Names
from compat.savepoint.operators import Operators, RequestError
from compat.state.flink import Savepoint, read_metadata
from compat.state.flink.binary import ByteReader
from compat.state.flink.kafka_positions import known_to
from compat.state.flink.lists import read_versioned
from compat.state.flink.states import HeaderReader
from tests.compat.pairs.kafka_jobs import ALL

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka_restores"
ONE, TWO = "older-savepoint", "sink-scaled-down-stopped"
CASES = {case.name: case for case in ALL}
CONNECTORS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def saved(connector: str, case: str) -> Path:
    return GOLDEN / connector / case / "savepoint-000000-0"


def run(command: str, *given: object) -> Result:
    result = CliRunner().invoke(main, [command, *map(str, given)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def migrate(connector: str, case: str, folder: Path, step: str, topic: str) -> Result:
    """Migrate a case's savepoint for its program, which reads another topic."""
    program, recipe = folder / "new.py", folder / "recipe.yaml"
    program.write_text(CASES[case].old.replace(f'topics("orders-{case}")', f'topics("{topic}")'))
    recipe.write_text(f"steps: [{{step: move-offsets, operator: orders, {step}}}]")
    return run("migrate", saved(connector, case), program, folder / "out", "--recipe", recipe, "--copy")


def read(folder: Path) -> dict[tuple[str, int], int]:
    """The partitions that the readers have, and what they read next."""
    savepoint = read_metadata(folder)
    found = {}
    for split in read_versioned(savepoint, source(savepoint), "SourceReaderState", HeaderReader(savepoint)):
        reader = ByteReader(split.data, "a split")
        place = reader.utf(), reader.integer()
        found[place] = reader.long()
    return found


def source(savepoint: Savepoint):  # type: ignore[no-untyped-def]
    (found,) = (operator for operator in savepoint.operators if operator.uid == "orders")
    return found


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_topic_has_another_name(connector: str, tmp_path: Path) -> None:
    assert read(saved(connector, ONE)) == {(f"orders-{ONE}", 0): 3}
    result = migrate(connector, ONE, tmp_path, f"topics: {{orders-{ONE}: purchases}}", "purchases")
    assert result.exit_code == 0, result.output
    assert read(tmp_path / "out") == {("purchases", 0): 3}
    assert known_to(source(read_metadata(tmp_path / "out"))) == [("purchases", 0)]
    assert "SourceReaderState converted, 1 entry" in result.stdout


def test_the_check_tells_that_the_old_topic_is_still_read_before_and_not_after(tmp_path: Path) -> None:
    migrate("5.0.0-2.2", ONE, tmp_path, f"topics: {{orders-{ONE}: purchases}}", "purchases")
    before = run("check", saved("5.0.0-2.2", ONE), tmp_path / "new.py")
    after = run("check", tmp_path / "out", tmp_path / "new.py")
    assert "CMP801" in before.stdout
    assert "CMP801" not in after.stdout
    assert after.exit_code == 0


@pytest.mark.parametrize("connector", CONNECTORS)
def test_partitions_change_places_and_are_read_elsewhere(connector: str, tmp_path: Path) -> None:
    topic = f"orders-{TWO}"
    assert read(saved(connector, TWO)) == {(topic, 0): 2, (topic, 1): 1}
    step = f"partitions: {{{topic}-0: {topic}-1, {topic}-1: {topic}-0}}, offsets: {{{topic}-0: 7, {topic}-1: earliest}}"
    result = migrate(connector, TWO, tmp_path, step, topic)
    assert result.exit_code == 0, result.output
    assert read(tmp_path / "out") == {(topic, 1): 7, (topic, 0): -2}
    assert sorted(known_to(source(read_metadata(tmp_path / "out")))) == [(topic, 0), (topic, 1)]


def resolved(*steps: MoveOffsets) -> None:
    with ExitStack() as stack:
        functions = Functions(LoadOptions(), stack)
        resolve(Recipe(steps=steps), read_metadata(saved("5.0.0-2.2", TWO)), Names(), functions)


def refused(**step: object) -> str:
    with pytest.raises(RequestError) as told:
        resolved(MoveOffsets(operator="orders", **step))  # type: ignore[arg-type]
    return str(told.value)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"topics": {"orders": "x"}}, f"The source has no topic 'orders'. It has: orders-{TWO}"),
        ({"partitions": {f"orders-{TWO}-2": "x-0"}}, f"has no partition 'orders-{TWO}-2'. It has: "),
        ({"offsets": {"x-0": 3}}, "has no partition 'x-0'"),
        ({"topics": {f"orders-{TWO}": "no topic"}}, "'no topic' is no name of a topic"),
        ({"partitions": {f"orders-{TWO}-0": "x"}}, "'x' is no partition: write the topic and its number, as orders-3"),
        ({"partitions": {f"orders-{TWO}-0": f"orders-{TWO}-1"}}, f"Two partitions would become orders-{TWO}-1."),
        ({"offsets": {f"orders-{TWO}-0": -1}}, "-1 is no offset: write a number from 0 on, or committed, earliest"),
        ({"offsets": {f"orders-{TWO}-0": "end"}}, "'end' is no offset"),
    ],
)
def test_what_does_not_fit_is_refused(step: dict[str, object], told: str) -> None:
    assert told in refused(**step)


def test_what_is_no_source_of_kafka_is_refused() -> None:
    for operator in ("out", "Sink: Committer"):
        step = MoveOffsets(operator=operator, topics={"a": "b"})
        with pytest.raises(RequestError, match="cannot be moved: it keeps no partitions of Kafka's"):
            resolved(step)
    twice = MoveOffsets(operator="orders", topics={f"orders-{TWO}": "b"})
    with pytest.raises(RequestError, match="says twice where"):
        resolved(twice, twice)


def test_the_partitions_are_those_that_a_check_reads(tmp_path: Path) -> None:
    migrate("4.0.1-2.0", ONE, tmp_path, f"topics: {{orders-{ONE}: purchases}}", "purchases")
    savepoint = read_metadata(tmp_path / "out")
    splits = kafka_splits(read_versioned(savepoint, source(savepoint), "SourceReaderState", HeaderReader(savepoint)))
    assert splits is not None
    assert [(one.topic, one.partition) for one in splits.partitions] == [("purchases", 0)]


def test_a_topic_that_went_where_another_one_came_is_asked_and_answered(tmp_path: Path) -> None:
    """From the check to the recipe that it writes, and from there to a savepoint; and back."""
    program, recipe = tmp_path / "new.py", tmp_path / "recipe.yaml"
    program.write_text(CASES[ONE].old.replace(f'topics("orders-{ONE}")', 'topics("purchases")'))
    checked = run("check", saved("5.0.0-2.2", ONE), program, "--write-recipe", recipe)
    assert "Or move the state: compat migrate" in " ".join(checked.stdout.split())
    asked = read_recipe(str(recipe))
    (question,) = asked.questions
    assert question.question.startswith(f"Which topics are orders-{ONE} now?")
    answer = recipe.read_text().partition("  #   - ")[2].partition("  - step: open")[0].replace("  #     ", "    ")
    recipe.write_text(f"steps:\n  - {answer}")
    back = tmp_path / "back.yaml"
    given = (saved("5.0.0-2.2", ONE), program, tmp_path / "out", "--recipe", recipe, "--copy", "--write-back", back)
    assert run("migrate", *given).exit_code == 0
    assert read(tmp_path / "out") == {("purchases", 0): 3}
    old = tmp_path / "old.py"
    old.write_text(CASES[ONE].old)
    assert run("migrate", tmp_path / "out", old, tmp_path / "again", "--recipe", back, "--copy").exit_code == 0
    assert read(tmp_path / "again") == read(saved("5.0.0-2.2", ONE))


def test_a_topic_that_only_went_is_not_to_be_moved(tmp_path: Path) -> None:
    program, recipe = tmp_path / "new.py", tmp_path / "recipe.yaml"
    program.write_text(CASES["topic-dropped"].new)
    (tmp_path / "old.py").write_text(CASES["topic-dropped"].old)
    checked = run("check", tmp_path / "old.py", program, "--write-recipe", recipe)
    assert "CMP801" in checked.stdout
    assert "move the state" not in checked.stdout
    assert not any(isinstance(step, MoveOffsets) for step in read_recipe(str(recipe)).steps)


def test_the_way_back_of_offsets_that_were_set_is_told() -> None:
    step = MoveOffsets(operator="orders", topics={f"orders-{TWO}": "a"}, offsets={f"orders-{TWO}-0": 5})
    back = inverse_of(Recipe(steps=(step,)), Operators(read_metadata(saved("5.0.0-2.2", TWO)), Names()))
    assert back.recipe.steps == (MoveOffsets(operator="orders", topics={"a": f"orders-{TWO}"}),)
    assert back.lost == ("The offsets that 'orders' had: it goes on where NEW was.",)
    one = MoveOffsets(operator="orders", topics={"x": "a", "y": "a"})
    (asked,) = inverse_of(Recipe(steps=(one,)), Operators(read_metadata(saved("5.0.0-2.2", TWO)), Names())).proposals
    assert asked.step == Open(operator="orders", question="Which topics were read before?")
