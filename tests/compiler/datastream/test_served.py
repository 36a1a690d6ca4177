"""PyFlink's modules as programs import them."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.served import in_programs_words, recorded, serve, served, versions_with
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.datastream.window import TimeWindow
from compat.compiler.own_code import PACKAGE
from compat.state.rows import RowKind


@pytest.fixture(autouse=True)
def latest() -> Iterator[None]:
    """The latest PyFlink before each test and after it."""
    serve()
    yield
    serve()


def test_the_modules_are_those_of_the_version() -> None:
    serve("1.20")
    assert "pyflink.datastream.time_characteristic" in sys.modules
    assert "pyflink.datastream.async_data_stream" not in sys.modules
    serve("2.3")
    assert "pyflink.datastream.time_characteristic" not in sys.modules
    assert "pyflink.datastream.async_data_stream" in sys.modules


def test_modules_that_are_there_stay() -> None:
    serve("1.20")
    served()
    assert "pyflink.datastream.time_characteristic" in sys.modules
    del sys.modules["pyflink.datastream"]
    served()
    assert "pyflink.datastream.time_characteristic" not in sys.modules
    assert "pyflink.datastream" in sys.modules


def test_a_record_is_read_with_homes_of_names() -> None:
    names = recorded("2.3")["pyflink.datastream.functions"]
    assert names.homes["MapFunction"] == "pyflink.datastream.functions"
    assert names.homes["TimerService"] == "pyflink.datastream.timerservice"
    assert names.homes["Iterable"] == "typing"
    assert names.homes["W"] == "pyflink.datastream.functions"
    assert recorded("2.3")["pyflink.common.constants"].homes["DEFAULT_OUTPUT_TAG"] == "pyflink.common.constants"
    assert "MapFunction" in names.exported
    assert "W" not in names.exported


@pytest.mark.parametrize(
    ("module", "name", "versions"),
    [
        ("pyflink.datastream", "TimeCharacteristic", ["1.20"]),
        ("pyflink.datastream.async_data_stream", "", ["2.3"]),
        ("pyflink.datastream", "MapFunction", ["1.20", "2.3"]),
        ("pyflink.datastream", "NoSuchThing", []),
    ],
)
def test_which_versions_have_a_name(module: str, name: str, versions: list[str]) -> None:
    assert versions_with(module, name) == versions


@pytest.mark.parametrize("module", ["pyflink", "pyflink.datastream", "pyflink.datastream.connectors.kafka"])
def test_modules_are_found(module: str) -> None:
    assert importlib.util.find_spec(module) is not None


def test_what_ours_has_besides_is_there_as_a_module() -> None:
    namespace: dict[str, object] = {}
    exec("from pyflink.datastream.connectors.delta import *", namespace)
    assert "DeltaSink" in namespace
    with pytest.raises(AttributeError, match=r"module 'pyflink\.datastream\.connectors\.delta' has no attribute"):
        _ = import_module("pyflink.datastream.connectors.delta").NoSuchThing


def test_objects_travel_under_pyflink_s_names() -> None:
    sent = pickle.dumps(TimeWindow(0, 5))
    assert b"pyflink.datastream.window" in sent
    assert pickle.loads(sent) == TimeWindow(0, 5)


def test_enumerations_that_may_be_keys_keep_their_module() -> None:
    """It is a part of the hash that says where a key's state lies."""
    assert RowKind.__module__ == "compat.state.rows"


@pytest.mark.parametrize(
    ("owner", "name", "version"),
    [
        (StreamExecutionEnvironment, "read_text_file", "1.20"),
        (StreamExecutionEnvironment, "set_state_backend", "1.20"),
        (Configuration, "from_dict", "2.3"),
    ],
)
def test_members_of_one_version(owner: type, name: str, version: str) -> None:
    for flink in ("1.20", "2.3"):
        with running(Program(flink=flink)):
            assert hasattr(owner, name) == (flink == version)
            if flink != version:
                with pytest.raises(AttributeError, match=f"in PyFlink {flink}: only PyFlink {version} has it"):
                    getattr(owner, name)


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("Sources.from_collection() missing 1 argument", "from_collection() missing 1 argument"),
        ("DataStream.map() missing 1 argument", "DataStream.map() missing 1 argument"),
        ("Theirs.map() missing 1 argument", "Theirs.map() missing 1 argument"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_messages_without_inner_names(message: str, plain: str) -> None:
    assert in_programs_words(TypeError(message), message) == plain


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("module 'compat.compiler.datastream' has no part x", "module 'pyflink.datastream' has no part x"),
        ("compat.compiler.datastream.common._row.Row", "pyflink.common.Row"),
        (f"cannot import name x ({PACKAGE}compiler/datastream/functions.py)", "cannot import name x"),
        ("Sources.x() is not called", "Sources.x() is not called"),
    ],
)
def test_messages_have_pyflinks_names(message: str, plain: str) -> None:
    assert in_programs_words(ImportError(message), message) == plain
