"""Mistakes that programs often make are told with what to do."""

from __future__ import annotations

import sys

import pytest

from compat.loader.mistakes import plain, remedy

PY4J = (
    "An error occurred while calling o33.set. Trace:\norg.apache.flink.api.python.shaded.py4j.Py4JException: "
    "Method set([class java.lang.String, class java.lang.Integer, null, class shop.Order]) does not exist\n\tat org.apache"
)


@pytest.mark.parametrize(
    ("type", "message", "says"),
    [
        ("MalformedURLException", "no protocol: /lib/kafka.jar", "write file:///lib/kafka.jar."),
        ("MalformedURLException", "no protocol: kafka.jar", "write file:///FOLDER/kafka.jar."),
        ("MalformedURLException", "unknown protocol: s4", None),
        ("Py4JError", plain(PY4J), "Look at the types of what is passed"),
        (
            "AttributeError",
            "'Builder' object has no attribute '_j_environment_settings'",
            "End the builder with .build()",
        ),
        (
            "AttributeError",
            "'StreamExecutionEnvironment' object has no attribute '_j_environment_settings'",
            "in place of a StreamExecutionEnvironment: write EnvironmentSettings.in_streaming_mode().",
        ),
        ("AttributeError", "'Builder' object has no attribute '_j_tenv'", None),
        ("TypeError", "argument should be EnvironmentSettings or Configuration", "a builder ends with .build()"),
        (
            "ValueError",
            "mutable default <class 'list'> for field items is not allowed: use default_factory",
            "Write items: … = field(default_factory=list)",
        ),
        ("ValueError", "invalid literal for int()", None),
        ("SyntaxError", "Missing parentheses in call to 'print'. Did you mean print(...)?", "This line is in Python 2"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "Building the job asks another system here."),
        ("gaierror", "[Errno -2] Name or service not known", "Make that reachable from here"),
        ("OperationalError", 'connection to server at "db" failed: Connection refused', "asks another system here"),
        ("OperationalError", "no such table: orders", None),
        ("SyntaxError", "'(' was never closed", "Mend this line, or the one before it"),
        ("IndentationError", "unexpected indent", "Mend this line, or the one before it"),
    ],
)
def test_what_to_do_about_a_mistake(type: str, message: str, says: str | None) -> None:
    told = remedy(type, message)
    assert (told is None) == (says is None)
    assert says is None or (told is not None and says in told)


def test_a_default_that_dataclasses_refuse_is_told_as_python_says_it() -> None:
    import dataclasses

    with pytest.raises(ValueError, match="mutable default") as raised:
        dataclasses.make_dataclass("Order", [("items", dict, dataclasses.field(default={}))])
    assert remedy("ValueError", str(raised.value)) == (
        "Write items: … = field(default_factory=dict), with field from dataclasses."
    )


def test_the_version_of_python_is_the_one_that_reads_programs() -> None:
    with pytest.raises(SyntaxError) as raised:
        compile("print 1", "job.py", "exec")
    said = remedy("SyntaxError", raised.value.msg)
    assert said is not None
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}: write print(…)." in said


def test_what_py4j_says_of_a_missing_method_is_told_shortly() -> None:
    assert plain(PY4J) == "Flink has no set(str, int, None, Order)."
    assert plain("An error occurred while calling o1.set.\n: java.lang.RuntimeException") == (
        "An error occurred while calling o1.set.\n: java.lang.RuntimeException"
    )
