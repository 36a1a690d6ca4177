"""Advice for a program that gave no job: the option that it lacks, or how to report a bug of compat."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence

from compat.compiler.versions import FLINK_VERSIONS, pyflink_version, standing_for
from compat.loader import runtime_file
from compat.loader.failure import RUNTIME_PROPERTIES, Side
from compat.loader.mistakes import remedy
from compat.loader.request import Crash, Lack, Lacking

_SUBJECT = {None: "", Side.OLD: "old-", Side.NEW: ""}
_PACKAGES = {
    "bs4": "beautifulsoup4",
    "cassandra": "cassandra-driver",
    "confluent_kafka": "confluent-kafka",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "elasticsearch_dsl": "elasticsearch-dsl",
    "influxdb_client": "influxdb-client",
    "jwt": "PyJWT",
    "kafka": "kafka-python",
    "MySQLdb": "mysqlclient",
    "PIL": "pillow",
    "psycopg2": "psycopg2-binary",
    "pydantic_settings": "pydantic-settings",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    **{
        name: name
        for name in (
            *("aiohttp", "boto3", "botocore", "elasticsearch", "fastapi", "geopy", "httpx", "minio"),
            *("nltk", "numpy", "pandas", "polars", "psycopg", "pyarrow", "pydantic"),
            *(
                "pymongo",
                "pymysql",
                "redis",
                "requests",
                "schedule",
                "scipy",
                "spacy",
                "sqlalchemy",
                "structlog",
                "tensorflow",
            ),
            *("torch", "transformers", "web3", "xgboost"),
        )
    },
}
"""The packages of often imported modules; for others none is named, as a guessed name may be a stranger's package."""
_TROUBLE = re.compile(r"(?i)error|fail|exception|could not|cannot|not found|missing|unable")
CAUGHT = "The program catches this exception, and submits no job."
_CAUGHT = "The program seems to catch what went wrong: settle what it says. Else: "
_OF_IMAGE = re.compile(r"/opt/flink/(?:lib|opt|plugins|usrlib)/?$")
_SAID_LINES, _SAID = 15, 2_000
_REQUIRED = re.compile(r"the following arguments are required: (.+)")
"""The message of ``argparse`` for missing arguments."""


def advice(crash: Crash, side: Side | None) -> str | None:
    """What to do about a crash of the program on a side."""
    return crash.hint or advice_on_lack(crash.lacks, side, crash.said) or remedy(crash.type, crash.message)


def without_job(last: str, what: str) -> str:
    """What to do about a program that ended and submitted nothing, by the last line of its output."""
    return f"{_CAUGHT}{what[0].lower()}{what[1:]}" if _TROUBLE.search(last) else what


def advice_on_lack(lack: Lack | None, side: Side | None, said: str) -> str | None:
    """What to do about a program's missing input, from its message."""
    return None if lack is None else "\n".join(_advised(lack, side, said))


def given_properties(file: str | None) -> str:
    """The option that gives a job the properties of AWS's service: those in a file, or in one that the user knows."""
    return f"--runtime-properties {shlex.quote(file)}" if file else RUNTIME_PROPERTIES


def several_variables(side: Side | None) -> str:
    """How to give variables to a program on a side."""
    return f"Give each with --{_SUBJECT[side]}env NAME=VALUE, or in the settings: env."


def option(lack: Lack | None, side: Side | None) -> str | None:
    """The option that gives a program its missing input; values that only the user knows are variables of the shell."""
    prefix = _SUBJECT[side]
    match lack:
        case Lack(what=Lacking.ARGUMENTS | Lacking.INPUT):
            return f'--{prefix}args "$ARGUMENTS"'
        case Lack(what=Lacking.FILE, name=runtime_file.PLACE, places=file):
            return given_properties(file)
        case Lack(what=Lacking.VARIABLE, name=name, others=others) if name.isidentifier():
            return " ".join(f'--{prefix}env {one}="${one}"' for one in (name, *others))
        case _:
            return None


def _advised(lack: Lack, side: Side | None, said: str) -> Iterator[str]:
    prefix = _SUBJECT[side]
    match lack.what:
        case Lacking.ARGUMENTS:
            reads = f": it reads {lack.name}" if lack.name else ""
            yield f"Give the program its arguments with --{prefix}args {_required(said)}{reads}."
        case Lacking.PERHAPS_ARGUMENTS:
            yield f"The program raises this itself. If it needs arguments, give them with --{prefix}args 'ARGUMENTS'."
        case Lacking.VARIABLE if lack.others:
            names = ", ".join([lack.name, *lack.others[:-1]])
            yield f"The program reads {names} and {lack.others[-1]} from its environment. {several_variables(side)}"
        case Lacking.VARIABLE:
            yield f"Give the program the environment variable with --{prefix}env {lack.name}=VALUE, or in the settings: env."
        case Lacking.FLINK:
            yield (
                f"Flink {lack.name} does not have this class of Flink's own: the program, or a connector in its jar, is for "
                f"another version. Name that one with --{prefix}flink-version, such as {_other_flink(lack.name)}."
            )
        case Lacking.INPUT:
            yield (
                "compat gives a program no standard input: let it read this from an argument "
                f"(--{prefix}args) or a variable (--{prefix}env NAME=VALUE)."
            )
        case Lacking.FILE if lack.places:
            yield f"{lack.name} is in {lack.places}: call compat there, as relative paths count from where it is called."
        case Lacking.FILE if _OF_IMAGE.match(lack.name):
            yield (
                f"{lack.name} is a folder of Flink's image. Where that is not here, an empty folder will do: known connectors "
                "are downloaded."
            )
        case Lacking.FILE if lack.others:
            yield f"The project has a sample of {lack.name}, {lack.others[0]}: copy it, and fill it in."
        case Lacking.FILE:
            yield f"Put {lack.name} there; relative paths count from where compat is called."
        case Lacking.MODULE:
            yield provided(lack.name) or (
                f"Install what provides the module {lack.name!r} into the environment that runs compat."
            )
            if lack.places:
                yield f"If it is one of your own: it was searched in {lack.places}; add other places with --{prefix}pyfiles."


def _other_flink(flink: str) -> str:
    """A release that stands for another major version of Flink than the one of a release."""
    return next(pyflink_version(one) for one in FLINK_VERSIONS if one != standing_for(flink))


def provided(module: str) -> str | None:
    """The package that provides a module, as a sentence; None if unknown."""
    package = _PACKAGES.get(module.partition(".")[0])
    return None if package is None else f"{package} provides the module {module!r}."


def install(module: str, pip: str) -> str | None:
    """The command that installs the package of a module; None if unknown."""
    package = _PACKAGES.get(module.partition(".")[0])
    return None if package is None else installing(package, pip)


def installing(package: str, pip: str) -> str:
    """The command that installs a package."""
    return f"{pip} install {package}"


def command(lack: Lack | None) -> str | None:
    """The command that gives a program its missing module, in the environment that runs compat, or its missing file."""
    match lack:
        case Lack(what=Lacking.MODULE, name=name):
            return install(name, pip())
        case Lack(what=Lacking.FILE, name=name) if _OF_IMAGE.match(name):
            return f"mkdir -p {shlex.quote(name)}"
        case Lack(what=Lacking.FILE, name=name, others=(sample, *_)):
            return shlex.join(["cp", sample, name])
        case _:
            return None


def pip() -> str:
    """The command of pip that installs into the environment which runs compat."""
    python = sys.executable
    found = shutil.which("pip")
    if found is not None and os.path.dirname(found) == os.path.dirname(python):
        return "pip"
    shown = os.path.relpath(python)
    return f"{shlex.quote(python if shown.startswith(os.pardir) else shown)} -m pip"


def _required(said: str) -> str:
    """The arguments that a parser said are required, as they are typed in a shell."""
    found = _REQUIRED.search(said)
    names = [] if found is None else [one.rpartition("/")[2] for one in found[1].split(", ")]
    words = [f"{one} {one.lstrip('-').upper()}" if one.startswith("-") else one.upper() for one in names]
    return f"'{' '.join(words) or 'ARGUMENTS'}'"


def said(errors: bytes) -> str:
    """The last lines of a program's standard output and standard error."""
    lines = errors.decode("utf-8", "replace").rstrip().splitlines()
    return "\n".join(lines[-_SAID_LINES:])[-_SAID:].strip("\n")


def report_of(trace: Sequence[str], kind: str) -> str:
    """The text to report for a bug of compat: versions, the command without its values, and the lines of compat that
    led to it.
    """
    import platform

    from compat import __version__

    system = f"{platform.system()} {platform.machine()}"
    return "\n".join(
        [
            f"compat {__version__}, Python {platform.python_version()}, {system}",
            f"command: compat {' '.join(_without_values(sys.argv[1:]))}".rstrip(),
            *trace,
            kind,
        ]
    )


def _without_values(arguments: Sequence[str]) -> Iterator[str]:
    """The words of a command line, with the endings of files in place of their names, and no values of options."""
    for place, argument in enumerate(arguments):
        if argument.startswith("-"):
            name, equals, _ = argument.partition("=")
            yield name[:2] if not name.startswith("--") and len(name) > 2 and not name[1:].isalpha() else name
            if equals:
                yield "…"
        else:
            ending = os.path.splitext(argument)[1]
            yield (
                argument if place == 0 and argument.isalpha() else f"*{ending}" if ending.isascii() and ending else "…"
            )


REPORT = "This is a bug of compat, not of the program. Please report it with these lines, which contain nothing of the program:"
