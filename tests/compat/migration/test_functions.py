"""Functions in processes of their own: what they find there, and what is told of those that fail, hang or end."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.state.flink.forms import Unconvertible
from compat.state.flink.processes import in_processes
from compat.state.flink.python_functions import OfKeys, OfValues
from compat.state.flink.python_rules import Declared
from compat.state.flink.python_states import Apply, Array, Item
from compat.state.flink.snapshot_writing import key_snapshot
from compat.state.model.states import StateKind
from compat.state.rows import Row
from compat.state.types import Types
from tests.state.flink import writer as w
from tests.state.flink.test_processes import alive, until

LONG, P = Types.LONG(), Types.PICKLED_BYTE_ARRAY()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def through(stack: ExitStack, file: Path, text: str, name: str = "f", **load: object) -> Apply:
    """Values that were pickled, through a function of a file."""
    file.write_text(text)
    task = OfValues(Declared(StateKind.VALUE, str(P)), Declared(StateKind.VALUE, str(P)))
    return Functions(LoadOptions(**load), stack).applying(f"{file}:{name}", task)  # type: ignore[arg-type]


def items(*values: object) -> list[Item]:
    return [Item(None, (Array(w.sized(pickle.dumps(value)), w.long(5)),)) for value in values]


def read(found: list[list[Item]]) -> list[object]:
    return [pickle.loads(item.arrays[0].data[4:]) for (item,) in found]


def test_values_become_others_in_batches_in_one_process(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "one two.py", "import os\ndef f(old): return old, os.getpid()\n")
    found = [read(apply(items(*range(3)))), read(apply(items(*range(3000))))]
    assert [n for n, _ in found[1]] == list(range(3000))  # type: ignore[misc]
    (process,) = {pid for batch in found for _, pid in batch}  # type: ignore[misc]
    assert process != os.getpid()
    stack.close()
    assert not Path(f"/proc/{process}").exists()


def test_each_process_that_asks_has_its_own_which_ends_with_it(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", "import os\ndef f(old): return old, os.getpid()\n")
    here = read(apply(items(0)))[0]
    there = [read(done.result)[0] for done in in_processes(apply, [items(1), items(2)], 2)]
    assert sorted(value for value, _ in there) == [1, 2]  # type: ignore[misc]
    pids = {pid for _, pid in (here, *there)}  # type: ignore[misc]
    assert len(pids) == 3
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == [here[1]]  # type: ignore[index]


def test_one_that_hangs_ends_with_the_process_that_asks(stack: ExitStack, tmp_path: Path) -> None:
    text = "import os, pathlib\ndef f(old):\n  pathlib.Path(old, str(os.getpid())).touch()\n  while True: pass\n"
    apply = through(stack, tmp_path / "f.py", text)
    work = in_processes(partial(_asked_once, apply, tmp_path / "seen"), [False, True], 2)
    (tmp_path / "seen").mkdir()
    assert next(work).task is False
    until(lambda: bool(alive(tmp_path / "seen")))
    work.close()
    until(lambda: not alive(tmp_path / "seen"))


def _asked_once(apply: Apply, seen: Path, asks: bool) -> None:
    if asks:
        apply(items(str(seen)))


def test_more_than_a_pipe_holds_goes_through(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", "def f(old): return old * 3\n")
    assert read(apply(items("x" * 3_000_000))) == ["x" * 9_000_000]


def test_it_finds_what_programs_find(stack: ExitStack, tmp_path: Path) -> None:
    """The modules beside it, those of --pyfiles, the variables of --env, and PyFlink, which is ours."""
    (tmp_path / "beside.py").write_text("HERE = 1\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "given.py").write_text("THERE = 2\n")
    text = (
        "import os, beside, given\nfrom pyflink.common import Row\n"
        "def f(old): print('not an answer'); return beside.HERE, given.THERE, os.environ['CITY'], Row(n=old)\n"
    )
    load = {"pyfiles": (str(tmp_path / "more"),), "environment": {"CITY": "Bern"}}
    (item,) = through(stack, tmp_path / "f.py", text, **load)(items(5))[0]
    assert b"pyflink.common.types" in item.arrays[0].data
    assert b"compat" not in item.arrays[0].data


def test_rows_of_pyflink_are_read_and_written_by_their_names_there(stack: ExitStack, tmp_path: Path) -> None:
    text = (
        "from pyflink.common import Row\ndef f(old): return Row(n=old.n + 1) if isinstance(old, Row) else Row(n=old)\n"
    )
    apply = through(stack, tmp_path / "f.py", text)
    made = apply(items(5))
    again = apply([item for (item,) in made])
    (data,) = (item.arrays[0].data[4:] for (item,) in again)
    ours = data.replace(b"\x8c\x14pyflink.common.types", b"\x8c\x11compat.state.rows")
    assert pickle.loads(_reframed(ours)) == Row(n=6)


def _reframed(data: bytes) -> bytes:
    """A pickle of protocol 4 whose texts have another length: without the length of its frame."""
    return data[:2] + data[11:]


def test_classes_of_a_main_module_are_those_of_the_file(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", "class Order: pass\ndef f(old): return old.n\n")
    order = b"\x80\x04c__main__\nOrder\n)\x81}X\x01\x00\x00\x00nK\x07sb."
    assert read(apply([Item(None, (Array(w.sized(order), b""),))])) == [7]


def test_what_pyflink_does_not_have_is_not_pickled(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", "from pyflink.common import Types\ndef f(old): return Types.LONG()\n")
    with pytest.raises(Unconvertible, match=r"is of a class of compat\..*, which PyFlink does not have"):
        apply(items(1))


def test_keys_are_pickled_as_pyflink_does(stack: ExitStack, tmp_path: Path) -> None:
    """Records, and so keys, come through ``cloudpickle``, whose protocol is 5; values have that of ``pickle.dumps``."""
    (tmp_path / "f.py").write_text("def f(key): return 'k', key\n")
    task = OfKeys(key_snapshot(LONG), str(LONG), str(P))
    apply = Functions(LoadOptions(), stack).applying(f"{tmp_path}/f.py:f", task)
    ((item,),) = apply([Item(None, (Array(b"\0" + w.long(1), b""),))])
    assert item.arrays[0].data == b"\0" + w.sized(pickle.dumps(("k", 1), 5))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(old): return old['n']\n", "it fails for 1: TypeError: 'int' object is not subscriptable (line 1 of f)"),
        ("def f(old): return lambda: old\n", "pickle"),
        ("def g(old): return old\n", "f.py has no function f; it has g"),
        ("f = 5\n", "f.py has no function f; it has none"),
        ("import no_such_module\n", "cannot be run: ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(old:\n", "cannot be run: SyntaxError"),
        ("import os\ndef f(old): os._exit(3)\n", "its process ended with 3"),
        ("def f(old): raise SystemExit(4)\n", "its process ended with 4"),
        ("import os\nos._exit(3)\n", "its process ended with 3"),
    ],
)
def test_what_fails_is_told(text: str, told: str, stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", text)
    with pytest.raises(Unconvertible) as caught:
        apply(items(1))
    assert str(caught.value).startswith(f"{tmp_path}/f.py:f: ")
    assert told in str(caught.value)


def test_a_file_that_is_not_there_is_told(stack: ExitStack, tmp_path: Path) -> None:
    task = OfValues(Declared(StateKind.VALUE, str(P)), Declared(StateKind.VALUE, str(P)))
    apply = Functions(LoadOptions(), stack).applying(f"{tmp_path}/f.py:f", task)
    with pytest.raises(Unconvertible, match="cannot be run: FileNotFoundError"):
        apply(items(1))


def test_a_pickle_whose_class_is_not_there_is_told(stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", "def f(old): return old\n")
    gone = b"\x80\x04cno_such_module\nOrder\n)\x81."
    with pytest.raises(Unconvertible, match="ModuleNotFoundError: No module named 'no_such_module'"):
        apply([Item(None, (Array(w.sized(gone), b""),))])


@pytest.mark.parametrize(
    "text",
    [
        "import time\ndef f(old): time.sleep(60)\n",
        "import time\ntime.sleep(60)\n",
        "def f(old):\n    while True: pass\n",
    ],
)
def test_one_that_hangs_is_ended_and_told(text: str, stack: ExitStack, tmp_path: Path) -> None:
    apply = through(stack, tmp_path / "f.py", text, timeout=2.0)
    begun = time.monotonic()
    with pytest.raises(Unconvertible, match=r"it takes longer than 2 s .*: --timeout 8"):
        apply(items(1))
    stack.close()
    assert time.monotonic() - begun < 30


def test_all_that_it_started_ends_with_it(stack: ExitStack, tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    text = f"import subprocess\ndef f(old): return subprocess.Popen({sleep!r}).pid\n"
    (started,) = read(through(stack, tmp_path / "f.py", text)(items(1)))
    stack.close()
    assert _state_of(started) in ("gone", "Z")


def _state_of(pid: object) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def test_nothing_is_started_for_a_function_that_nobody_asks(stack: ExitStack, tmp_path: Path) -> None:
    through(stack, tmp_path / "f.py", f"open({str(tmp_path / 'begun')!r}, 'w')\ndef f(old): return old\n")
    stack.close()
    assert not (tmp_path / "begun").exists()
