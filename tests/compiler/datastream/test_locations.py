"""Where a call stands: the line that a person looks at, and the end that tells calls of one line apart."""

from pathlib import Path

from compat.compiler.datastream import StreamExecutionEnvironment

SOURCE = Path(__file__).read_text(encoding="utf-8").splitlines()


def located(stream):
    return stream._transformation.location


def test_calls_of_one_line_have_ends_of_their_own():
    numbers = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    both = [numbers := numbers.map(str), numbers.map(len)]
    first, second = (located(stream) for stream in both)
    assert first.file == __file__
    assert first == second
    assert first.end != second.end
    for place, code in ((first, "numbers.map(str)"), (second, "numbers.map(len)")):
        line, column = place.end
        assert SOURCE[line - 1][:column].endswith(code)


def test_the_end_counts_bytes_and_spans_lines():
    stream = (
        StreamExecutionEnvironment.get_execution_environment()
        .from_collection(["é"]).map(
            str.upper,
        )
    )  # fmt: skip
    place = located(stream)
    assert SOURCE[place.line - 1].lstrip().startswith(".from_collection")
    assert SOURCE[place.end[0] - 1] == "        )"
    assert place.end[1] == len("        )")


def test_arguments_from_a_list_do_not_move_the_end():
    numbers = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    place = located(numbers.map(*[str]))
    assert SOURCE[place.end[0] - 1][: place.end[1]].endswith("numbers.map(*[str])")
