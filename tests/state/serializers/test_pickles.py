"""Pickled values: what an earlier version wrote is read, and a program's own modules of the former names stay its own."""

from __future__ import annotations

import base64
import pickle
import pickletools
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import BoundedOutOfOrdernessWatermarks
from compat.compiler.datastream.served import served
from compat.compiler.datastream.window import CountWindow, TimeWindow
from compat.state.rows import Row, RowKind
from compat.state.serializers import codec_of, dump, key_codec_of, load
from compat.state.time import Instant

ROW = (
    "gAWVZwAAAAAAAACMIGNvbXBpbGVyLmRhdGFzdHJlYW0uY29tbW9uLnR5cGVzlIwLX2NyZWF0ZV9yb3eUk5RdlCiMBG5hbWWUjAVjb3VudJRljAFhlEsBhpRo"
    "AIwHUm93S2luZJSTlEsDhZRSlIeUUpQu"
)
INSTANT = "gAWVIgAAAAAAAACMCnN0YXRlLnRpbWWUjAdJbnN0YW50lJOUSwdLCIaUUpQu"
GENERATOR = (
    "gAWVdwAAAAAAAACMLWNvbXBpbGVyLmRhdGFzdHJlYW0uY29tbW9uLndhdGVybWFya19zdHJhdGVneZSMH0JvdW5kZWRPdXRPZk9yZGVybmVzc1dhdGVybWFy"
    "a3OUk5QpgZR9lCiMBl9kZWxheZRNiBOMCF9sYXJnZXN0lE05MHViLg=="
)
WINDOW = (
    "gAWVUgAAAAAAAACMImNvbXBpbGVyLmRhdGFzdHJlYW0ud2luZG93LndpbmRvd3OUjApUaW1lV2luZG93lJOUKYGUTn2UKIwDZW5klEsKjAVzdGFydJRLBXWG"
    "lGIu"
)
KEY = (
    "AQAAAAlyMjpzYTI6aTGABZVnAAAAAAAAAIwgY29tcGlsZXIuZGF0YXN0cmVhbS5jb21tb24udHlwZXOUjAtfY3JlYXRlX3Jvd5STlF2UKIwEbmFtZZSMBWNv"
    "dW50lGWMAWGUSwGGlGgAjAdSb3dLaW5klJOUSwOFlFKUh5RSlC4="
)
"""What version 0.1.0 wrote for the values below, whose classes it knew as ``compiler.…`` and ``state.…``."""


def row() -> Row:
    made = Row("a", 1)
    made.set_field_names(["name", "count"])
    made.set_row_kind(RowKind.DELETE)
    return made


@pytest.mark.parametrize(("written", "value"), [(ROW, row()), (INSTANT, Instant(7, 8)), (WINDOW, TimeWindow(5, 10))])
def test_what_the_first_version_pickled_is_read(written: str, value: Any) -> None:
    read = codec_of(None).decode(base64.b64decode(written))
    assert read == value
    assert type(read) is type(value)


PYFLINKS = {
    "row": (
        "gAWVSQAAAAAAAACMFHB5ZmxpbmsuY29tbW9uLnR5cGVzlIwLX2NyZWF0ZV9yb3eUk5ROSwGMAXiUhpRoAIwHUm93S2luZJSTlEsAhZRSlIeUUp"
        "Qu",
        Row(1, "x"),
    ),
    "named": (
        "gAWVVAAAAAAAAACMFHB5ZmxpbmsuY29tbW9uLnR5cGVzlIwLX2NyZWF0ZV9yb3eUk5RdlCiMAWGUjAFilGVLAYwBeJSGlGgAjAdSb3dLaW5klJ"
        "OUSwCFlFKUh5RSlC4=",
        Row(a=1, b="x"),
    ),
    "nested": (
        "gAWVWAAAAAAAAACMFHB5ZmxpbmsuY29tbW9uLnR5cGVzlIwLX2NyZWF0ZV9yb3eUk5ROSwGFlGgAjAdSb3dLaW5klJOUSwCFlFKUh5RSlF2UaA"
        "JOSwJOhpRoB4eUUpRhhpQu",
        (Row(1), [Row(2, None)]),
    ),
    "window": (
        "gAWVRgAAAAAAAACMGXB5ZmxpbmsuZGF0YXN0cmVhbS53aW5kb3eUjApUaW1lV2luZG93lJOUKYGUfZQojAVzdGFydJRLAYwDZW5klEsFdWIu",
        TimeWindow(1, 5),
    ),
    "count": (
        "gAWVOwAAAAAAAACMGXB5ZmxpbmsuZGF0YXN0cmVhbS53aW5kb3eUjAtDb3VudFdpbmRvd5STlCmBlH2UjAJpZJRLA3NiLg==",
        CountWindow(3),
    ),
    "instant": (
        "gAWVRAAAAAAAAACME3B5ZmxpbmsuY29tbW9uLnRpbWWUjAdJbnN0YW50lJOUKYGUfZQojAdzZWNvbmRzlEsAjAVuYW5vc5RKQEtMAHViLg==",
        Instant(0, 5_000_000),
    ),
    "rk": (
        "gAWVKgAAAAAAAACMFHB5ZmxpbmsuY29tbW9uLnR5cGVzlIwHUm93S2luZJSTlEsAhZRSlC4=",
        RowKind.INSERT,
    ),
}
"""What PyFlink 2.3 pickled, as thread mode keeps it in state, and the values."""


@pytest.mark.parametrize("programs_are_here", [False, True])
@pytest.mark.parametrize("what", PYFLINKS)
def test_what_pyflink_pickled_is_read(what: str, programs_are_here: bool) -> None:
    """Also where its modules are served to programs, without their inner parts."""
    if programs_are_here:
        served()
    written, value = PYFLINKS[what]
    read = load(base64.b64decode(written))
    assert (read, type(read)) == (value, type(value))
    assert load(dump(read)) == value


def test_the_watermarks_of_a_source_go_on_where_the_first_version_was() -> None:
    generator = load(base64.b64decode(GENERATOR))
    assert type(generator) is BoundedOutOfOrdernessWatermarks
    assert generator.on_periodic_emit() == 12345 - 5000 - 1


def test_a_key_of_the_first_version_is_the_same_key() -> None:
    codec = key_codec_of(None)
    data = base64.b64decode(KEY)
    assert codec.decode(data) == row()
    assert codec.identity(data) == codec.identity(codec.encode(row()))


def test_what_is_written_now_names_this_package_only() -> None:
    names = {
        argument for _, argument, _ in pickletools.genops(dump([row(), Instant(7, 8)])) if isinstance(argument, str)
    }
    assert {"compat.state.rows", "compat.state.time"} <= names
    assert not any(name.startswith(("compiler.", "state.")) for name in names)


def test_what_a_job_writes_is_read_where_no_program_runs(tmp_path: Path) -> None:
    """Classes of a job's process go by PyFlink's names; values that are in keys do not."""
    write = (
        "import sys\nfrom compat.compiler.datastream.served import served\nserved()\n"
        "from pyflink.common import Instant, Row\nfrom pyflink.datastream.window import TimeWindow\n"
        "from compat.state.serializers import dump\n"
        "open(sys.argv[1], 'wb').write(dump([Instant(7, 8), Row('a'), TimeWindow(5, 10)]))"
    )
    read = "import sys\nfrom compat.state.serializers import load\nprint(load(open(sys.argv[1], 'rb').read()))"
    path = str(tmp_path / "written")
    subprocess.run([sys.executable, "-c", write, path], check=True)
    assert b"pyflink.datastream.window" in Path(path).read_bytes()
    assert b"pyflink.common" not in Path(path).read_bytes()
    done = subprocess.run([sys.executable, "-c", read, path], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("[Instant<7, 8>, <Row('a')>, "), done.stderr


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program's folder with a module ``state`` and a package ``compiler`` of its own."""
    (tmp_path / "state.py").write_text("class Account:\n    def __init__(self, owner): self.owner = owner\n")
    (tmp_path / "compiler").mkdir()
    (tmp_path / "compiler" / "__init__.py").write_text("class Pass:\n    pass\n")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("state", "compiler")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_programs_own_state_module_keeps_its_classes(own_modules: Path) -> None:
    compiler, state = import_module("compiler"), import_module("state")

    assert state.__file__ == str(own_modules / "state.py")
    account, own_pass = load(dump([state.Account("Alice"), compiler.Pass()]))
    assert type(account) is state.Account
    assert account.owner == "Alice"
    assert type(own_pass) is compiler.Pass
    for name in ("state", "compiler"):
        del sys.modules[name]


@pytest.mark.parametrize(("written", "value"), [(ROW, row()), (INSTANT, Instant(7, 8)), (WINDOW, TimeWindow(5, 10))])
def test_ours_are_found_beside_a_programs_own(own_modules: Path, written: str, value: Any) -> None:
    assert load(base64.b64decode(written)) == value
    for name in ("state", "compiler"):
        sys.modules.pop(name, None)


def test_a_module_made_by_hand_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("state.time")
    monkeypatch.setitem(sys.modules, "state", ModuleType("state"))
    monkeypatch.setitem(sys.modules, "state.time", made)
    assert load(base64.b64decode(INSTANT)) == Instant(7, 8)
    made.Instant = tuple_of  # type: ignore[attr-defined]
    assert load(base64.b64decode(INSTANT)) == (7, 8)


def tuple_of(*values: Any) -> tuple[Any, ...]:
    return values


@pytest.mark.parametrize("name", ["state.nowhere", "compiler.datastream.nowhere", "nowhere"])
def test_a_class_that_is_nowhere_is_named_as_it_was_written(name: str) -> None:
    """Whatever package has it: the text of the error is about what the state holds."""
    data = pickle.dumps(Instant(7, 8), 0).replace(b"compat.state.time", name.encode())
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        load(data)
