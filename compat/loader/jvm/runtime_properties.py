"""The properties that AWS's Managed Service for Apache Flink gives to a job, in the place where the job finds them.

Its library, ``KinesisAnalyticsRuntime``, reads the resource ``config.properties``, which names the file. The service has that
library, so most jars do not contain it.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import msgspec

from compat.compiler.spark.driver.java import cache_folder
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch

OPTION = "--runtime-properties"
RUNTIME = "com.amazonaws.services.kinesisanalytics.runtime.KinesisAnalyticsRuntime"
"""The class of AWS's library that gives a job its properties."""
_LIBRARY = Artifact(group="com.amazonaws", name="aws-kinesisanalytics-runtime", version="1.2.0", alone=True)
_RESOURCE = "config.properties"
_KEY = "application_properties_file"
_HINT = 'It is a list of groups: [{"PropertyGroupId": "NAME", "PropertyMap": {"KEY": "VALUE"}}].'


class _Group(msgspec.Struct):
    """A group of properties, as the service writes it; its library takes numbers and booleans as text."""

    group: str = msgspec.field(name="PropertyGroupId")
    properties: dict[str, str | int | float | bool] = msgspec.field(name="PropertyMap")


def folder_for(file: str) -> Path:
    """A folder to put first on the class path of a job, so that the job finds the properties of a file.

    Raises JvmError for a file that cannot be read, or holds something else.
    """
    path = os.path.abspath(file)
    try:
        msgspec.json.decode(Path(path).read_bytes(), type=list[_Group])
    except OSError as error:
        raise JvmError(f"{OPTION} {file} cannot be read: {error.strerror}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JvmError(f"{OPTION} {file} holds no properties of an application: {error}.", _HINT) from error
    written = f"{_KEY}={_escaped(path)}\n"
    folder = cache_folder() / "runtime-properties" / hashlib.sha256(written.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{os.getpid()}"
    fresh.write_text(written, encoding="ascii")
    os.replace(fresh, folder / _RESOURCE)
    return folder


def library_for(jar: str) -> tuple[Path, ...]:
    """AWS's library, if a job's jar lacks it. Raises JvmError if it cannot be fetched."""
    with zipfile.ZipFile(jar) as entries:
        if f"{RUNTIME.replace('.', '/')}.class" in entries.namelist():
            return ()
    return fetch(f"{_LIBRARY.name}-{_LIBRARY.version}", [_LIBRARY])


def _escaped(text: str) -> str:
    """A text as the value of a property in a file of Java's, which is in ASCII."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(one) if 32 < one < 127 and chr(one) != "\\" else f"\\u{one:04x}" for one in codes)
