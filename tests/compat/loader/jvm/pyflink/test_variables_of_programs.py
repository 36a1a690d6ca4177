"""Variables that a program in Python lacks are told, also where the program catches what goes wrong."""

from compat.loader.advice import CAUGHT
from compat.loader.jvm.failures import failed
from compat.loader.jvm.messages import Crash, JavaFrame, PyFlinkProgram
from compat.loader.jvm.process import JvmOptions, JvmOutcome

PROGRAM = PyFlinkProgram(path="/p/job.py", python="python3")
MISSED = {"DB_URL": JavaFrame(method="<module>", file="/p/job.py", line=4)}


def outcome(message, hint):
    crash = Crash(type="org.apache.flink.table.api.ValidationException", message=message, hint=hint)
    return JvmOutcome(jobs=(), crash=crash, missed=MISSED)


def test_none_in_a_table_is_a_variable_that_is_not_there():
    told = failed(outcome("Table options are: 'url'='None'", CAUGHT), PROGRAM, JvmOptions(options={}), "job.py")
    assert told.option == '--env DB_URL="$DB_URL"'
    assert told.hint == (
        "The program reads DB_URL (/p/job.py:4) from its environment, which has no such variable. Give the program the "
        f"environment variable with --env DB_URL=VALUE, or in the settings: env.\n{CAUGHT}"
    )


def test_null_of_java_is_none_of_python():
    told = failed(outcome("Value must not be null.", None), PROGRAM, JvmOptions(options={}), "job.py")
    assert told.option == '--env DB_URL="$DB_URL"'


def test_another_reason_is_told_before():
    told = failed(
        outcome("Table options are: 'url'='None'", "Give the driver."), PROGRAM, JvmOptions(options={}), "job.py"
    )
    assert (told.option, told.hint) == (None, "Give the driver.")
