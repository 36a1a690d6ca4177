"""What a program was not given, by how it ended; and near each, an ending that tells of nothing lacking."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.loader.advice import advice_on_lack, command, option
from compat.loader.failure import Side
from compat.loader.lacking import Ending, lack_of
from compat.loader.request import Lack, Lacking

PROGRAM = "import argparse, sys\nbroker, topic = sys.argv[1], sys.argv[3]\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "topics.txt").touch()
    path = tmp_path / "job.py"
    path.write_text(PROGRAM)
    return str(path)


def ending(program: str, kind: str, **given: object) -> Ending:
    return replace(Ending(type=kind, message="", program=program, arguments=0), **given)


def test_a_line_that_reads_an_argument_lacks_as_many_as_the_program_reads(program: str) -> None:
    found = lack_of(ending(program, "IndexError", line="broker, topic = sys.argv[1], sys.argv[3]"))
    assert found == Lack(what=Lacking.ARGUMENTS, name="sys.argv[1] to sys.argv[3]")
    assert lack_of(ending(program, "IndexError", line="first = rows[1]")) is None


def test_a_parser_that_ends_the_program_lacks_arguments(program: str) -> None:
    by_parser = ending(program, "SystemExit", arguments=2, modules=("__main__", "argparse"))
    assert lack_of(by_parser) == Lack(what=Lacking.ARGUMENTS)
    assert lack_of(replace(by_parser, modules=("__main__",))) is None
    assert lack_of(replace(by_parser, modules=("__main__",), arguments=0)) == Lack(what=Lacking.ARGUMENTS)


def test_a_variable_is_lacking_where_the_environment_was_asked(program: str) -> None:
    asked = ending(program, "KeyError", value="BROKER", modules=("__main__", "os"))
    assert lack_of(asked) == Lack(what=Lacking.VARIABLE, name="BROKER")
    assert lack_of(replace(asked, modules=("__main__",))) is None


def test_all_variables_that_a_program_cannot_do_without_are_told_at_once(program: str) -> None:
    Path(program).write_text(
        "import os\nos.environ['OUT'] = 'x'\na = os.environ['BROKER'], os.environ[\"TOPIC\"], os.environ['GROUP']\n"
        "b = os.environ['TOPIC'], os.environ.get('LIMIT')\n"
    )
    asked = ending(program, "KeyError", value="BROKER", modules=("__main__", "os"), given=frozenset({"GROUP"}))
    lack = Lack(what=Lacking.VARIABLE, name="BROKER", others=("TOPIC",))
    assert lack_of(asked) == lack
    assert option(lack, Side.NEW) == '--env BROKER="$BROKER" --env TOPIC="$TOPIC"'
    told = advice_on_lack(lack, Side.NEW, "")
    assert told == (
        "The program reads BROKER and TOPIC from its environment. "
        "Give each with --env NAME=VALUE, or in the settings: env."
    )


def test_a_sample_of_a_missing_file_is_copied(tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lacking = ending(program, "FileNotFoundError", value="config.json")
    assert lack_of(lacking) == Lack(what=Lacking.FILE, name="config.json")
    (tmp_path / "config.json.example").touch()
    lack = lack_of(lacking)
    assert command(lack) == "cp config.json.example config.json"
    assert advice_on_lack(lack, None, "") == (
        "The project has a sample of config.json, config.json.example: copy it, and fill it in."
    )


def test_a_file_beside_the_program_is_told_from_one_that_is_nowhere(program: str) -> None:
    beside = lack_of(ending(program, "FileNotFoundError", value="conf/topics.txt"))
    assert beside == Lack(what=Lacking.FILE, name="conf/topics.txt", places=str(Path(program).parent / "conf"))
    nowhere = lack_of(ending(program, "FileNotFoundError", value="/opt/flink/lib"))
    assert nowhere == Lack(what=Lacking.FILE, name="/opt/flink/lib")


def test_a_folder_of_flinks_image_may_be_empty(program: str) -> None:
    lack = lack_of(ending(program, "FileNotFoundError", value="/opt/flink/lib"))
    assert command(lack) == "mkdir -p /opt/flink/lib"
    told = advice_on_lack(lack, None, "")
    assert told is not None
    assert told.startswith("/opt/flink/lib is a folder of Flink's image.")
    assert command(Lack(what=Lacking.FILE, name="/opt/flink/lib/kafka.jar")) is None


def test_input_is_lacking_where_a_line_was_asked_for(program: str) -> None:
    asked = ending(program, "EOFError", message="EOF when reading a line")
    assert lack_of(asked) == Lack(what=Lacking.INPUT)
    assert lack_of(replace(asked, message="the archive ends early")) is None


def test_what_a_program_raises_itself_may_be_for_want_of_arguments(program: str) -> None:
    raised = ending(program, "RuntimeError", line="raise RuntimeError('say --mode')")
    assert lack_of(raised) == Lack(what=Lacking.PERHAPS_ARGUMENTS)
    assert lack_of(replace(raised, arguments=1)) is None
    assert lack_of(replace(raised, line="mode = modes[given]")) is None
    Path(program).write_text("raise RuntimeError('say --mode')\n")
    assert lack_of(raised) is None
