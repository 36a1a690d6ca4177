"""Arguments and variables that the project of a program has for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.request import Lack, Lacking
from compat.loader.told_by_project import Call, call_of, file_with, requirement_for, with_project

ARGUMENTS = Lack(what=Lacking.ARGUMENTS)


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a b").mkdir()
    return str(tmp_path / "a b" / "job.py")


@pytest.mark.parametrize(
    ("file", "text", "arguments"),
    [
        ("README.md", "```\nflink run -py jobs/job.py --topic a -k 3\n```", ("--topic", "a", "-k", "3")),
        ("README.md", "bin/flink run -d -py job.py -m a:8081 -d --topic a --pyFiles b", ("--topic", "a")),
        ("README.md", "python job.py -m a:8081", ("-m", "a:8081")),
        ("README.md", "Run `python job.py --topic a`, then look.", ("--topic", "a")),
        ("run.sh", "flink run -py job.py \\\n  --topic a \\\n  --group b\necho done", ("--topic", "a", "--group", "b")),
        (
            "compose.yml",
            'command:\n  "flink run -py /opt/job.py\n   --topic a\n   --group b"\n',
            ("--topic", "a", "--group", "b"),
        ),
        ("job.yaml", 'args: ["-py", "/opt/job.py", "--topic", "a b"]', ("--topic", "a b")),
        ("Dockerfile", "CMD python job.py --topic a && sleep 1", ("--topic", "a")),
    ],
)
def test_a_call_in_a_file_of_the_project(
    job: str, tmp_path: Path, file: str, text: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / file).write_text(text)
    assert call_of(job) == Call(str(tmp_path / file), arguments)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", "job.py counts words -- and more"),
        ("README.md", "job.py counts words with --topic a"),
        ("README.md", "python other_job.py --topic a"),
        ("README.md", "python job.pyc --topic a"),
        ("README.md", "python job.py\n\n--topic is required"),
        ("notes.txt", "python job.py --topic a"),
        ("run.sh", "python job.py $(cat arguments)"),
        ("run.sh", "python job.py --topic $TOPIC"),
        ("run.sh", "flink run -py job.py -d"),
    ],
)
def test_what_is_no_call_with_arguments(job: str, tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    assert call_of(job) is None


def test_the_command_has_the_arguments(job: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("python job.py --topic a")
    failure = Failure(rule=Undecidable.PROGRAM_FAILED, message="", name="job.py", hint="Give it.", side=Side.OLD)
    told = with_project(failure, ARGUMENTS, (), job)
    assert told.option == "--old-args '--topic a'"
    assert told.hint == f"{tmp_path / 'README.md'} runs it with --topic a.\nGive it."
    assert with_project(failure, None, (), job) == failure
    assert with_project(failure, Lack(what=Lacking.INPUT), (), job) == failure


def test_a_file_with_all_variables(job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env.example").write_text("A=1\nB=\n")
    (tmp_path / "flink.env").write_text('# two = 2\nA="1 2"\nexport B=2\nC="3\n4"\n')
    (tmp_path / "a.env").write_text("A=''\nB=2\n")
    (tmp_path / "b.env").write_text("A = 1\nB=2\n")
    (tmp_path / "c.env").write_text("A=1 2\nB=2\n")
    monkeypatch.chdir(tmp_path)
    failure = Failure(rule=Undecidable.PROGRAM_FAILED, message="", name="job.py", hint="Give it.")
    told = with_project(failure, None, ("A", "B"), job)
    assert told.command == "set -a; . ./flink.env; set +a"
    assert told.hint == "flink.env has A and B.\nGive it."
    assert with_project(failure, Lack(what=Lacking.VARIABLE, name="A"), (), job).hint == ".env.example has A.\nGive it."
    assert file_with(["D"], job) is None
    assert with_project(failure, None, ("D",), job) == failure


@pytest.mark.parametrize(
    ("file", "text", "module", "package"),
    [
        ("requirements.txt", "requests\nvaderSentiment==3.3.2\n", "vaderSentiment.vaderSentiment", "vaderSentiment"),
        ("requirements.txt", "google-generativeai\n", "google.generativeai", "google-generativeai"),
        (
            "pyproject.toml",
            'dependencies = ["a>=1", "aws-clients-lib>=0.10"]',
            "aws_clients_lib.secrets",
            "aws-clients-lib",
        ),
        ("pyproject.toml", '[tool.poetry.dependencies]\ngensim = "^4"\n', "gensim", "gensim"),
        ("Dockerfile", "RUN pip install --no-cache \\\n    gensim==4.0 \\\n", "gensim", "gensim"),
        ("requirements.txt", "# gensim is not used\ngensim-data\n", "gensim", None),
        ("pyproject.toml", 'description = "gensim in streams"', "gensim", None),
        ("requirements.txt", "PyFlink\n", "pyflink.connector", None),
    ],
)
def test_what_the_project_asks_for_provides_a_module(
    tmp_path: Path, file: str, text: str, module: str, package: str | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / file).write_text(text, encoding="utf-8")
    found = requirement_for(module, str(tmp_path / "job.py"))
    assert (None if found is None else found.package) == package


def test_a_module_that_is_lacking_is_installed_as_the_project_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("vaderSentiment==3.3.2\n", encoding="utf-8")
    failure = Failure(rule=Undecidable.PROGRAM_FAILED, message="No.", name="job.py", hint="Install it.")
    lack = Lack(what=Lacking.MODULE, name="vaderSentiment")
    told = with_project(failure, lack, (), str(tmp_path / "job.py"))
    assert told.command is not None
    assert told.command.endswith("install vaderSentiment")
    assert told.hint is not None
    assert told.hint.endswith("requirements.txt asks for vaderSentiment.")
