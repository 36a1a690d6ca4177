"""Modules that are not installed: what building the job does not need has a stand-in, and no value of it is ever used."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.process import load_one
from compat.loader.request import Lacking, Loaded, Request

BEGIN = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
"""
BUILD = """
uid = "steady"
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
stream = env.from_collection([1], Types.LONG())
"""
END = """
stream.map(lambda one: one, Types.LONG()).uid(uid).print()
env.execute("job")
"""


def load(folder: Path, top: str, body: str = "", **given: object) -> Loaded:
    path = folder / "job.py"
    path.write_text(f"{BEGIN}{top}\n{BUILD}{body}\n{END}")
    outcome = load_one(Request(path=str(path), shown="job.py", **given))  # type: ignore[arg-type]
    assert isinstance(outcome, Loaded)
    return outcome


LET_PASS = {
    "imports": "import absent, absent.sub.mod, absent.other as another\nfrom absent.sub import one, Two as three",
    "type hints": "from absent import A, B\nimport absent\n"
    "def f(a: A, *b: absent.B, c: 'A | None' = None) -> list[B[A]]: ...\nx: A\ny: absent.sub.C = None",
    "aliases of types": "from typing import Callable, Optional, TypeVar, Union\nfrom absent import A\n"
    "One = Optional[A]\nTwo = Callable[[A], Union[A, None]]\nT = TypeVar('T', bound=A)\nThree = dict[str, A]\nFour = A[int]\n"
    "Five = A",
    "subclassing": "from absent import Base\nimport absent\nclass A(Base): x: int = 1\nclass B(A, absent.Mixin): pass\n"
    "class C(MapFunction, Base):\n    def map(self, value): return value\nclass D(dict, Base): pass\n"
    "class E(Base[int], table=True): pass",
    "fields": "from absent import Base, Field, check\n"
    "class A(Base):\n    a: int = Field(default=1, **{'b': 2})\n    b = Field()\n"
    "    @check('a')\n    def checked(cls, value): return value",
    "metaclasses": "from absent import Meta, Other as More\nimport absent\nclass A(metaclass=Meta): x = 1\n"
    "class B(MapFunction, metaclass=More): pass\nclass C(dict, metaclass=absent.Third): pass",
    "decorators": "import absent\nfrom absent import retry, stop\n"
    "@retry\ndef a(): ...\n@retry(stop=stop(3) | stop, wait=absent.w)\n"
    "def b(): ...\n@absent.app.command()\n@retry\nasync def c(): ...\n@absent.register('x')\nclass D(MapFunction): ...\n"
    "class E:\n    @absent.prop\n    def x(self): ...\n    @x.setter\n    def x(self, value): ...\n"
    "    @staticmethod\n    @retry\n    def y(): ...",
    "except clauses": "import absent\nfrom absent import Error\ntry:\n    pass\nexcept (Error, absent.Other):\n    uid = 1\n"
    "class Mine(Error): pass\ntry:\n    pass\nexcept Mine: pass",
    "functions that nobody calls": "import absent\nfrom absent import A\ndef f(a, b=A):\n    return absent.x(A) + b\n"
    "g = lambda: A()",
    "within a function": "def build():\n"
    "    import absent\n    from absent.x import y\n    def inner(v): return y(absent.z)\nbuild()",
    "another module": "import helping\nfrom helping import Parser, absent_too",
}


@pytest.mark.parametrize("top", LET_PASS.values(), ids=LET_PASS)
def test_what_needs_no_value_is_let_pass(tmp_path: Path, top: str) -> None:
    (tmp_path / "helping.py").write_text("import absent_too\nfrom absent_more import Base\nclass Parser(Base): ...\n")
    outcome = load(tmp_path, top)
    assert outcome.crash is None, outcome.crash
    assert len(outcome.plans) == 1
    assert outcome.absent
    assert load(tmp_path, top, strict_imports=True).crash is not None


def test_a_module_that_a_package_of_the_program_lacks_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").touch()
    crash = load(tmp_path, "import absent\nfrom tables.sinks import Sink").crash
    assert crash is not None
    assert (crash.fault, crash.type, crash.frames[-1].file) == (False, "ModuleNotFoundError", "job.py")


def test_a_file_of_variables_need_not_be_read(tmp_path: Path) -> None:
    outcome = load(tmp_path, "from dotenv import find_dotenv, load_dotenv\nload_dotenv(find_dotenv(), override=True)")
    assert (outcome.crash, len(outcome.plans)) == (None, 1)


@pytest.mark.parametrize(
    ("call", "uid"),
    [
        ("load_dotenv()", "steady"),
        ("load_dotenv(find_dotenv())", "steady"),
        ("load_dotenv(dotenv_path='other.env')", "other"),
        ("os.environ['TASK'] = 'set'; load_dotenv()", "set"),
        ("os.environ['TASK'] = 'set'; load_dotenv(override=True)", "steady"),
        ("os.environ.update(dotenv_values())", "steady"),
    ],
)
def test_a_file_of_variables_that_is_there_is_read(
    tmp_path: Path, call: str, uid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("# of the job\nexport TASK='steady'\n")
    (tmp_path / "other.env").write_text("TASK=other # not the first\n")
    top = f"import os\nfrom dotenv import dotenv_values, find_dotenv, load_dotenv\n{call}"
    outcome = load(tmp_path, top, body="uid = os.environ['TASK']")
    assert outcome.crash is None
    assert uid in [operator.uid for operator in outcome.plans[0].operators]
    assert outcome.absent == ()


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("TASK=${OTHER}", "load_dotenv()"),
        ("TASK='a\nb'", "load_dotenv()"),
        ("TASK=steady", "load_dotenv(interpolate=False)"),
        ("TASK=steady", "load_dotenv(stream=open('.env'))"),
        ("TASK=steady", "find_dotenv(usecwd=True)"),
    ],
)
def test_a_file_of_variables_whose_meaning_is_not_plain_needs_the_real_one(
    tmp_path: Path, text: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(text)
    crash = load(tmp_path, f"from dotenv import find_dotenv, load_dotenv\n{call}").crash
    assert crash is not None
    assert crash.lacks is not None
    assert (crash.lacks.what, crash.lacks.name) == (Lacking.MODULE, "dotenv")


def test_functions_of_operators_may_use_them(tmp_path: Path) -> None:
    top = """
import absent
from absent.sub import parse, Base

class Event(Base):
    pass

class Enrich(MapFunction):
    def __init__(self):
        self.client = None
    def map(self, value):
        self.client = self.client or absent.Client(Event(value))
        return self.client.get(value) if absent.flag else parse(value)

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
    @absent.traced
    def process_element(self, value, context):
        context.timer_service().register_event_time_timer(1)
        yield parse(value)
"""
    body = """
stream.map(Enrich()).map(lambda one: parse(one)).key_by(lambda one: absent.key(one), Types.LONG()).process(Count()).uid("c")
"""
    outcome = load(tmp_path, top, body)
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    (count,) = (one for one in plan.operators if one.uid == "c")  # type: ignore[union-attr]
    assert [state.name for state in count.states if not state.built_in] == ["count"]
    assert count.detail["timers"] is True, "the code that is decorated counts, too"


USED = {
    "called": ("", "absent.f()", "absent.f, which building the job uses"),
    "a name called": ("from absent import load_env", "load_env()", "absent.load_env, which"),
    "a module": ("", "print(absent)", "absent, which"),
    "branches": ("", "if absent.x.flag:\n    uid = 'other'", "absent.x.flag"),
    "is None": ("from absent import x", "uid = 'other' if x is None else uid", "absent.x, which"),
    "an attribute is None": ("", "uid = 'other' if absent.x is None else uid", "absent.x, which"),
    "compared": ("from absent import x", "uid = 'other' if x == 3 else uid", "absent.x, which"),
    "asked for its type": ("from absent import x", "uid = 'other' if isinstance(x, str) else uid", "absent.x, which"),
    "asked for": ("", "uid = 'other' if hasattr(absent, 'x') else uid", "absent, which"),
    "taken out": ("", "x = getattr(absent, 'x', None)", "absent, which"),
    "iterated": ("from absent import xs", "for x in xs: pass", "absent.xs, which"),
    "unpacked": ("from absent import xs", "a, b = xs", "absent.xs, which"),
    "formatted": ("from absent import x", "uid = f'uid {x}'", "absent.x, which"),
    "a uid": ("from absent import x", "uid = x", None),
    "a name": ("", "stream = stream.name(absent.NAME)", "absent.NAME"),
    "a parallelism": ("", "env.set_parallelism(absent.PARALLELISM)", "absent.PARALLELISM"),
    "a type": ("from absent import T", "stream = stream.map(lambda one: one, T)", "absent.T"),
    "a state": ("from absent import N", "ValueStateDescriptor(N, Types.LONG())", "absent.N"),
    "with": ("", "with absent.lock: pass", "absent.lock"),
    "raised": ("from absent import Error", "try:\n    raise Error\nexcept Exception: uid = 'other'", "absent.Error"),
    "passed on": ("from absent import x", "def f(x): return x\nf(x)", "absent.x, which"),
    "returned": ("from absent import x", "def f(): return x\nf()", "absent.x, which"),
    "kept in a list": ("from absent import x", "xs = [x]", "absent.x, which"),
    "kept in an object": ("from absent import x", "env.x = x", "absent.x, which"),
    "kept in a class": ("from absent import x", "class Kept:\n    y = x", "absent.x, which"),
    "an alias": ("from absent import x", "y = x\nif y: pass", "absent.x, which"),
    "a default": ("from absent import x", "def f(y=x):\n    return y is None\nuid = str(f())", "absent.x, which"),
    "an instance of its own class": (
        "from absent import Base\nclass Conf(Base):\n    uid: str = 'other'",
        "uid = Conf().uid",
        "Conf, which is derived from absent.Base, which building the job uses",
    ),
    "a field of its own class": (
        "from absent import Base\nclass Conf(Base):\n    UID = 'other'",
        "uid = Conf.UID",
        "Conf, which is derived from absent.Base, which",
    ),
    "a class with its metaclass": (
        "from absent import Meta\nclass Conf(metaclass=Meta):\n    UID = 'other'",
        "uid = Conf.UID",
        "Conf, whose metaclass is of absent, which",
    ),
    "a function that it decorates": (
        "from absent import deco\n@deco\ndef name():\n    return 'other'",
        "uid = name()",
        "name, which absent.deco decorates, which building the job uses",
    ),
    "a class that it decorates": (
        "from absent import deco\n@deco\nclass Enrich(MapFunction): pass",
        "stream.map(Enrich())",
        "Enrich, which absent.deco decorates, which",
    ),
    "a function of an operator": ("from absent import f", "stream.map(f)", "absent.f, which"),
    "in a comprehension": ("from absent import x", "xs = [x for _ in range(3)]", "absent.x, which"),
    "in a lambda that is called": ("from absent import x", "(lambda: x)()", "absent.x, which"),
    "on the line of its import": (None, "from absent import x; uid = 'other' if x is None else uid", None),
    "on the line of its alias": (
        "from absent import x",
        "y = x; uid = 'other' if y is None else uid",
        "absent.x, which",
    ),
    "in another module": ("", "import using", "using.py:3 has absent.x, which"),
    "through another module": ("import helping", "uid = 'other' if helping.x is None else uid", "absent.x, which"),
    "taken out of another module": (
        "import helping",
        "uid = 'other' if getattr(helping, 'x') is None else uid",
        "absent.x, which may be taken out",
    ),
    "taken out of the names": (
        "from absent import x",
        "uid = 'other' if globals()['x'] is None else uid",
        "which may be taken out",
    ),
    "a type that is looked up": (
        "from dataclasses import dataclass, fields\nfrom absent import T\n@dataclass\nclass Event:\n    a: T",
        "types = {int: 1}\nuid = str(types.get(fields(Event)[0].type, 2))",
        "absent.T, which is looked up",
    ),
    "a type that is compared": (
        "from dataclasses import dataclass, fields\nfrom absent import T\n@dataclass\nclass Event:\n    a: T",
        "uid = 'other' if fields(Event)[0].type == int else uid",
        "absent.T, which is compared",
    ),
    "an assigned expression": ("from absent import x", "uid = 'a' if (y := x) is None else 'b'", "absent.x, which"),
    "all names": ("", "from absent import *", None),
    "within a hint": ("from absent import x", "y: int = x.y(3)", "absent.x.y"),
    "what a refusal is caught with": (
        "from absent import x",
        "try:\n    uid = x.y()\nexcept BaseException:\n    uid = 'other'",
        "absent.x.y, which",
    ),
    "what no Exception catches": (
        "from absent import x",
        "try:\n    uid = x.y()\nexcept Exception:\n    uid = 'other'",
        "absent.x.y, which",
    ),
    "compared with an exception": (
        "from absent import Error",
        "try:\n    {}['uid']\nexcept Error:\n    uid = 'a'\nexcept KeyError:\n    uid = 'b'",
        "absent.Error, which KeyError is compared with",
    ),
    "of a thread": (
        "import threading\nfrom absent import x",
        "def work():\n    global uid\n    try:\n        uid = x is None\n    except BaseException: uid = 'other'\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()",
        "absent.x, which",
    ),
}


@pytest.mark.parametrize(("top", "body", "says"), USED.values(), ids=USED)
def test_a_value_of_it_ends_the_program(tmp_path: Path, top: str | None, body: str, says: str | None) -> None:
    (tmp_path / "using.py").write_text("import absent\nNAME = absent.x\nif NAME: pass\n")
    (tmp_path / "helping.py").write_text("from absent import x\n")
    crash = load(tmp_path, f"import absent\n{top}" if says else top or "", body).crash
    assert crash is not None
    assert crash.type == "ModuleNotFoundError", crash
    if says is not None:
        assert says in crash.message, crash.message
        assert "and the module 'absent' is not installed" in crash.message
    assert crash.lacks is not None
    assert (crash.lacks.what, crash.lacks.name) == (Lacking.MODULE, "absent")


GUARDED = {
    "try": "try:\n    import absent\n    x = 1\nexcept ImportError:\n    absent = None\nuid = str(absent)",
    "try Exception": "try:\n    from absent import x\nexcept Exception:\n    x = None\nuid = str(x)",
    "bare": "try:\n    from absent import x\nexcept:\n    x = None\nuid = str(x)",
    "suppress": "from contextlib import suppress\nx = None\n"
    "with suppress(ImportError):\n    from absent import x\nuid = str(x)",
    "around": "try:\n    import helping\nexcept ImportError:\n    helping = None\nuid = str(helping)",
    "import_module": "import importlib\ntry:\n    importlib.import_module('absent')\nexcept ImportError:\n    uid = 'None'",
    "__import__": "try:\n    x = __import__('absent')\nexcept ImportError:\n    uid = 'None'",
    "find_spec": "from importlib.util import find_spec\nuid = str(find_spec('absent'))",
    "a part that a package lacks": "try:\n    import json.absent\nexcept ImportError:\n    uid = 'None'",
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_a_program_that_asks_whether_it_is_there_gets_the_answer(tmp_path: Path, body: str) -> None:
    (tmp_path / "helping.py").write_text("import absent\n")
    outcome = load(tmp_path, "", body)
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    assert [one.uid for one in plan.operators if one.uid] == ["None"]  # type: ignore[union-attr]
    assert outcome.absent == ()


def test_what_is_installed_does_not_find_the_stand_ins_of_the_program(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "site-packages"
    (packages / "installed").mkdir(parents=True)
    (packages / "installed" / "__init__.py").write_text(
        "try:\n    import absent\n    HAS = 'it'\nexcept ImportError:\n    HAS = 'none'\n"
    )
    outcome = load(
        tmp_path, "import absent\nimport installed", "uid = installed.HAS", environment={"PYTHONPATH": str(packages)}
    )
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    assert [one.uid for one in plan.operators if one.uid] == ["none"]  # type: ignore[union-attr]


OPEN = """
import absent
from absent import Error

class Count(KeyedProcessFunction):
    def open(self, context):
        {line}
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
    def process_element(self, value, context):
        yield value
"""
COUNT = 'stream.key_by(lambda one: one, Types.LONG()).process(Count(), Types.LONG()).uid("c")'


@pytest.mark.parametrize(
    "line",
    [
        "self.client = absent.Client()",
        "try: self.client = absent.Client()\n        except BaseException: self.client = None",
        "try: {}[1]\n        except (Error, KeyError): pass",
    ],
)
def test_states_are_not_known_where_open_uses_it(tmp_path: Path, line: str) -> None:
    outcome = load(tmp_path, OPEN.format(line=line), COUNT + "\nOther = absent.Base\n" + COUNT.replace('"c"', '"d"'))
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    for uid in "cd":
        (count,) = (one for one in plan.operators if one.uid == uid)  # type: ignore[union-attr]
        assert count.states is None
        assert "the module 'absent' is not installed" in (count.states_unknown or ""), count.states_unknown


def test_states_are_not_known_where_open_imports_it(tmp_path: Path) -> None:
    text = OPEN.replace("import absent\nfrom absent import Error\n", "")
    outcome = load(tmp_path, text.format(line="import absent\n        self.client = absent.Client()"), COUNT)
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    (count,) = (one for one in plan.operators if one.uid == "c")  # type: ignore[union-attr]
    assert "the module 'absent' is not installed" in (count.states_unknown or "")
    unused = load(tmp_path, text.format(line="import absent"), COUNT)
    (count,) = (one for one in unused.plans[0].operators if one.uid == "c")  # type: ignore[union-attr]
    assert [state.name for state in count.states if not state.built_in] == ["count"]


def test_a_use_behind_an_open_that_was_refused_is_refused(tmp_path: Path) -> None:
    body = COUNT + "\nenv.execute()\nuid = 'other' if absent.x is None else uid"
    crash = load(tmp_path, OPEN.format(line="absent.call()"), body).crash
    assert crash is not None
    assert "absent.x, which building the job uses" in crash.message


def test_the_commands_note_what_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load(tmp_path, "import absent\nfrom missing.too import x")
    note = "job.py imports absent and missing, which are not installed: building the job did not need them."
    plan = CliRunner().invoke(main, ["plan", "job.py"])
    assert (plan.exit_code, note in plan.stderr) == (0, True), plan.output
    check = CliRunner().invoke(main, ["check", "job.py", "job.py"])
    assert check.exit_code == 0
    assert " ".join(check.output.split()).count("imports absent and missing") == 1
    strict = CliRunner().invoke(main, ["check", "job.py", "job.py", "--strict-imports"])
    assert (strict.exit_code, "No module named 'absent'" in strict.output) == (2, True)
    (tmp_path / "compat.toml").write_text("strict-imports = true\n")
    assert CliRunner().invoke(main, ["check", "job.py", "job.py"]).exit_code == 2
    assert CliRunner().invoke(main, ["plan", "job.py"]).exit_code == 2
