"""Settings from files, and the command line over them."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import jsonschema
import pytest

from compat import schemas
from compat.check.findings import Level
from compat.check.ignores import IgnoredRule
from compat.settings import Output, Settings, SettingsError, find, load, parse_output
from compat.settings.keys import JOB_KEYS, KEYS

ALL = """
fail-on = "warning"
allow-unknown = true
allow-non-restored-state = false
flink = "1.20"
timeout = 2.5
baseline = "known.json"
output = ["text", "sarif=out/compat.sarif"]
parallelism = 4
ignore = ["CMP201", { rule = "CMP402", uid = "count", reason = "renamed" }]
no-open = true
[options]
"python.execution-mode" = "thread"
pipeline.operator-chaining.enabled = false
"""


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('args = "x"', "each job has a path"),
        ('path = "../a.py"', "below the folder of the settings"),
        ('path = "a.py"\nchecks = false', "checks is not a key of a job; did you mean 'check'"),
        ('path = "a.py"\nargs = 3', "args must be text, as in a shell"),
        ('path = "a.py"\nargs = "it\'s"', "No closing quotation"),
        ('path = "a.py"\ncheck = "no"', "job.check must be true or false"),
    ],
)
def test_a_job_that_says_nonsense_is_refused(tmp_path: Path, entry: str, reason: str) -> None:
    (tmp_path / "compat.toml").write_text(f"[[job]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=reason):
        find(tmp_path)


def test_every_key(tmp_path: Path) -> None:
    (tmp_path / "compat.toml").write_text(ALL)
    settings = find(tmp_path)
    assert settings == Settings(
        fail_on=Level.WARNING,
        allow_unknown=True,
        allow_non_restored_state=False,
        flink="1.20",
        timeout=2.5,
        baseline=tmp_path / "known.json",
        output=(Output("text"), Output("sarif", tmp_path / "out/compat.sarif")),
        options={
            "python.execution-mode": "thread",
            "pipeline.operator-chaining.enabled": "false",
            "parallelism.default": "4",
        },
        ignore=(IgnoredRule("CMP201"), IgnoredRule("CMP402", "count", "renamed")),
        no_open=True,
        path=tmp_path / "compat.toml",
    )


def test_files_are_searched_upwards(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.compat]\ntimeout = 1")
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "compat-less"')
    assert find(deep / "job.py").timeout == 1
    (tmp_path / "compat.toml").write_text("timeout = 2")
    assert find(deep).timeout == 2
    (deep / "compat.toml").write_text("timeout = 3")
    assert find(deep).timeout == 3
    assert find(tmp_path / "none", deep).timeout == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("timeot = 1", r"compat\.toml: timeot is not a setting; did you mean 'timeout'\?"),
        ("allow_unknown = true", "did you mean 'allow-unknown'"),
        ("xyz = 1", "known are jobs, baseline, fail-on"),
        ('timeout = "5"', r"timeout must be a number of seconds above 0, not '5'"),
        ("timeout = true", "timeout must be"),
        ("timeout = 0", "timeout must be"),
        ("timeout = nan", "timeout must be"),
        ("flink = 2.3", r'flink must be "1.20" or "2.3", in quotes, not 2.3'),
        ('fail-on = "note"', "fail-on must be"),
        ("fail-on = []", "fail-on must be .* not a list"),
        ("allow-unknown = 1", "allow-unknown must be true or false, not 1"),
        ('output = "pdf"', "there is no report format 'pdf'"),
        ('output = "jsn=x"', "did you mean 'json'"),
        ('output = "json="', "names no file"),
        ("output = [1]", "output must be"),
        ("parallelism = 0", "parallelism must be a whole number"),
        ("options = 1", "options must be a table"),
        ("options = { a = [1] }", "a is a list"),
        ('ignore = "CMP201"', "ignore must be a list"),
        ('ignore = ["CMP999"]', "there is no rule 'CMP999'"),
        ('ignore = [{ rule = "CMP201", why = "x" }]', "'why' is not a key"),
        ("ignore = [1]", "ignore must be"),
        ("parallelism = 2\noptions.parallelism.default = 2", "say the same"),
        ("= 1", "not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "compat.toml").write_text(content)
    with pytest.raises(SettingsError, match=message):
        find(tmp_path)


def test_errors_in_pyproject_name_the_whole_key(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.compat]\nno-open = 1")
    with pytest.raises(SettingsError, match=r"tool\.compat\.no-open must be true or false"):
        find(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool]\ncompat = 1")
    with pytest.raises(SettingsError, match=r"tool\.compat must be a table"):
        find(tmp_path)


def test_the_command_line_wins() -> None:
    file = Settings(
        timeout=1, flink="1.20", allow_unknown=True, options={"a": "1", "b": "1"}, ignore=(IgnoredRule("CMP201"),)
    )
    said = Settings(timeout=2, allow_unknown=False, options={"b": "2"}, ignore=(IgnoredRule("CMP602"),))
    both = file.under(said)
    assert (both.timeout, both.flink, both.allow_unknown) == (2, "1.20", False)
    assert both.options == {"a": "1", "b": "2"}
    assert [entry.rule for entry in both.ignore] == ["CMP201", "CMP602"]


def test_outputs() -> None:
    assert parse_output("json=a=b.json") == Output("json", Path("a=b.json"))
    with pytest.raises(SettingsError, match="cannot be read"):
        load(Path("/nowhere/compat.toml"))


OF_JOBS = """
[options]
"pipeline.name" = "all"
"state.backend.type" = "hashmap"
[env]
REGION = "us"
[[job]]
path = "jobs/*.py"
env = { REGION = "eu" }
flink = "1.20"
classpath = "lib"
options."state.backend.type" = "rocksdb"
[[job]]
path = "old/**/*.py"
check = false
[[job]]
path = "gone.py"
main-class = "a.Job"
check = false
"""


def test_what_is_said_of_a_job_is_over_what_is_said_of_all(tmp_path: Path) -> None:
    (tmp_path / "compat.toml").write_text(OF_JOBS)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.py").touch()
    settings = find(tmp_path)
    own, other = (settings.of_job(str(tmp_path / name)) for name in ("jobs/a.py", "b.py"))
    assert (own.flink, own.environment["REGION"], own.jars.classpath) == ("1.20", "eu", (str(tmp_path / "lib"),))
    assert own.options == {"pipeline.name": "all", "state.backend.type": "rocksdb"}
    assert (other.flink, other.environment["REGION"], other.options["state.backend.type"]) == (None, "us", "hashmap")
    assert settings.of_job(str(tmp_path / "gone.py")).jars.main_class == "a.Job"
    gone = settings.entry(str(tmp_path / "old" / "once" / "there.py"))
    assert gone is not None
    assert not gone.check
    assert settings.entry(str(tmp_path / "jobs" / "deeper" / "a.py")) is None
    assert settings.job_files() == [os.path.relpath(tmp_path / "jobs" / "a.py")]
    assert settings.of_job(str(tmp_path / "jobs/a.py")).under(Settings(flink="2.3")).flink == "2.3"


@pytest.mark.parametrize("content", [ALL, OF_JOBS])
def test_the_schema_takes_what_the_reader_takes(tmp_path: Path, content: str) -> None:
    (tmp_path / "compat.toml").write_text(content)
    find(tmp_path)
    jsonschema.validate(tomllib.loads(content), schemas.load("settings"))


@pytest.mark.parametrize(
    "content",
    ["timeot = 1", "timeout = 0", 'flink = "9"', '[[job]]\nargs = "x"', '[[job]]\npath = "a"\nfail-on = "error"'],
)
def test_the_schema_refuses_what_the_reader_refuses(tmp_path: Path, content: str) -> None:
    (tmp_path / "compat.toml").write_text(content)
    with pytest.raises(SettingsError):
        find(tmp_path)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(content), schemas.load("settings"))


def test_every_key_says_what_it_is_for() -> None:
    assert all(key.says.endswith(".") for key in (*KEYS, *JOB_KEYS))
    fields = [key.field for key in KEYS if key.field]
    assert len(set(fields)) == len(fields)
    empty = Settings()
    assert all(hasattr(empty.jars if "." in field else empty, field.rpartition(".")[2]) for field in fields)
