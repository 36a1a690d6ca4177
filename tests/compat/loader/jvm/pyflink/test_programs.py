"""Programs for real PyFlink that end, hang, fail or submit in every way: each ends with our words."""

import re
import shlex

import pytest

from compat.loader.inputs import FlinkJars, InputError, LoadOptions, load, opened
from compat.loader.jvm.failures import failed
from compat.loader.jvm.messages import PyFlinkProgram
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from compat.loader.shown import show_path
from tests import needs
from tests.compat.loader.jvm.pyflink.pairs import GROUPED, PYTHON, TABLES
from tests.needs import Need

OPTIONS = JvmOptions(options={})
SELECT = TABLES + 'print(list(orders.select(col("product")).execute().collect()))\n' + GROUPED
UNINSTALLED = """
load_dotenv()

@udf(result_type=DataTypes.STRING())
def asked(text: str) -> str:
    try:
        return absent.Client(text).get()
    except absent.errors.Refused:
        return text


class Opened(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        try:
            self.client = absent.connect()
        except Exception:
            self.other = context.get_state(ValueStateDescriptor("other", Types.LONG()))

    def process_element(self, row, context):
        yield row


class Counted(Opened):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor(os.environ["OF_FILE"], Types.LONG()))


stream = t.to_data_stream(orders.select(asked(col("product")), col("amount")))
row = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
keyed = stream.key_by(lambda row: row[0], Types.STRING())
t.from_data_stream(keyed.process(Counted(), row).uid("counted")).execute_insert("longs")
t.from_data_stream(keyed.process(Opened(), row).uid("opened")).execute_insert("longs")
"""
HELPER = "def insert(table, name):\n    table.execute_insert(name)\n"
PROGRAMS = {
    "raises": "import pyflink.table\n\ndef fail():\n    raise ValueError('out of cheese')\n\nfail()\n",
    "module": "import pyflink.table, no_such_module_at_all\nno_such_module_at_all.go()\n",
    "module passed on": "import pyflink.table\nimport no_such_module_at_all\nprint(no_such_module_at_all.go)\n",
    "known module": "import pyflink.table\nfrom cassandra.cluster import Cluster\nCluster()\n",
    "module swallowed": "import pyflink.table\nfrom no_such_module_at_all import go\n"
    "try:\n    go()\nexcept BaseException:\n    pass\n",
    "exits": "import pyflink.table, sys\nsys.exit(3)\n",
    "parses": "import pyflink.table, argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--topic', required=True)\nparser.parse_args()\n",
    "argv": "import pyflink.table, sys\ntopic = sys.argv[1]\nkey = sys.argv[2]\n",
    "environ": "import pyflink.table, os\ntopic = os.environ['NO_SUCH_TOPIC_AT_ALL']\n",
    "file": "import pyflink.table, os\nos.listdir('/no/such/folder')\n",
    "key": "import pyflink.table\n{}['NO_SUCH_TOPIC_AT_ALL']\n",
    "outside": "import pyflink.table\nfrom pyflink.java_gateway import get_gateway\n"
    "get_gateway().jvm.java.net.InetAddress.getByName('no-such-host.invalid')\n",
    "java": "import pyflink.table\nfrom pyflink.java_gateway import get_gateway\n"
    "get_gateway().jvm.org.apache.flink.formats.avro.AvroRowSerializationSchema('a')\n",
    "dies": "import pyflink.table, os\nos._exit(7)\n",
    "no_job": TABLES,
    "swallows": TABLES + "\ntry:\n    [][1]\nexcept IndexError as error:\n    print('It failed:', error)\n",
    "swallows Java": TABLES + "try:\n    t.execute_sql('INSERT INTO nowhere SELECT product FROM orders')\n"
    "except Exception:\n    pass\n",
    "None": TABLES + "import os\nos.environ.get('SPARE', '')\nos.getenv('NO_SUCH_SERVERS_AT_ALL').split(',')\n",
    "uses modules": "import os\nfrom dotenv import load_dotenv\nimport no_such_module_at_all as absent\n"
    + TABLES
    + UNINSTALLED,
    "planner": TABLES.replace(
        "t = StreamTableEnvironment.create(env)",
        "settings = EnvironmentSettings.new_instance().in_streaming_mode().use_blink_planner().build()\n"
        "t = StreamTableEnvironment.create(env, settings)",
    ).replace("import AggregateFunction", "import EnvironmentSettings, AggregateFunction")
    + GROUPED,
    "fails behind": TABLES + GROUPED + "t.execute('job')\n",
    "executes nothing": TABLES + GROUPED + "env.execute('job')\n",
    "syntax": "import pyflink.table\ndef broken(:\n",
    "query": TABLES + '\nt.execute_sql("INSERT INTO nowhere SELECT product, amount FROM orders")\n',
    "connector": TABLES + "t.execute_sql(\"CREATE TABLE k (a INT) WITH ('connector' = 'kafka')\")\n"
    't.execute_sql("INSERT INTO k SELECT 1")\n',
    "uids": "import pyflink.table\nfrom pyflink.datastream import StreamExecutionEnvironment\n"
    "env = StreamExecutionEnvironment.get_execution_environment()\n"
    "env.from_collection([1]).map(str).uid('a').disable_chaining().map(str).uid('a').print()\nenv.execute()\n",
    "collects": SELECT,
    "monitors": TABLES
    + "import time\ntime.sleep(0)\njob = t.execute_sql('INSERT INTO longs SELECT product, amount FROM orders')\n"
    + "while True:\n    time.sleep(30)\n    try:\n        job.get_job_client()\n    except Exception:\n        pass\n",
    "imports": "import helper\n" + TABLES + 'helper.insert(orders.select(col("product"), col("amount")), "longs")\n',
}


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    """What the programs did, by their names, with their paths."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "helper.py").write_text(HELPER)
    (folder / ".env").write_text("OF_FILE=count-of-file\n")
    paths = {name: folder / f"{name}.py" for name in PROGRAMS}
    for name, text in PROGRAMS.items():
        paths[name].write_text(text)
    return {name: (paths[name], outcome) for name, outcome in zip(paths, build(paths.values()), strict=True)}


@pytest.mark.parametrize(
    ("name", "rule", "message", "line"),
    [
        ("raises", "CMP901", "The program failed: ValueError: out of cheese", 4),
        ("module", "CMP901", "ModuleNotFoundError: Building the job calls no_such_module_at_all.go at line 2", 2),
        ("module passed on", "CMP901", "ModuleNotFoundError: No module named 'no_such_module_at_all'", 2),
        (
            "module swallowed",
            "CMP901",
            "ModuleNotFoundError: Building the job calls no_such_module_at_all.go at line 4",
            None,
        ),
        ("swallows Java", "CMP901", "nowhere", TABLES.count("\n") + 2),
        ("None", "CMP901", "'NoneType' object has no attribute 'split'", TABLES.count("\n") + 3),
        ("exits", "CMP901", "The program called sys.exit(3).", 2),
        ("dies", "CMP901", "ended its process before it was done, with code 7", None),
        ("no_job", "CMP903", "The program submits no job.", None),
        ("syntax", "CMP901", "SyntaxError", 2),
        ("query", "CMP901", "nowhere", TABLES.count("\n") + 2),
        ("connector", "CMP901", "'kafka'", TABLES.count("\n") + 2),
        ("uids", "CMP901", "Hash collision on user-specified ID", 5),
    ],
)
def test_a_program_that_gives_no_job_says_why(outcomes, pyflink, name, rule, message, line):
    path, outcome = outcomes[name]
    program = PyFlinkProgram(path=str(path), python=pyflink.python)
    shown = show_path(str(path), "job.py")
    failure = failed(outcome, program, OPTIONS, "job.py", show_path=shown)
    assert failure.rule == rule
    assert message in failure.message
    assert (failure.source and (failure.source.file, failure.source.line)) == (line and ("job.py", line))


def test_a_job_that_flink_refuses_is_told_from_a_program_that_fails(outcomes):
    assert outcomes["uids"][1].crash.refused
    assert not outcomes["query"][1].crash.refused


def test_a_module_that_is_missing_is_to_be_installed_where_pyflink_is(outcomes, pyflink):
    for name in ("module", "module passed on", "module swallowed"):
        assert pyflink.python in outcomes[name][1].crash.hint
    python = shlex.quote(pyflink.python)
    assert outcomes["known module"][1].crash.command == f"{python} -m pip install cassandra-driver"


def test_a_module_that_only_functions_call_need_not_be_there(outcomes):
    """Where open() of a function calls it, its states are not known, whatever it catches."""
    _, outcome = outcomes["uses modules"]
    assert outcome.crash is None
    assert outcome.absent == ("no_such_module_at_all",)
    counted, opened = (one.python for job in outcome.jobs for one in job.nodes if one.uid in ("counted", "opened"))
    assert [state.name for state in counted.states] == ["count-of-file"]
    assert "no_such_module_at_all.connect" in opened.unknown


def test_the_one_planner_may_be_chosen(outcomes):
    _, outcome = outcomes["planner"]
    assert (outcome.crash, len(outcome.jobs), outcome.former) == (None, 1, ("use_blink_planner",))


def test_a_program_that_watches_its_job_is_judged_by_that(outcomes):
    path, outcome = outcomes["monitors"]
    assert (outcome.crash, len(outcome.jobs), outcome.timed_out) == (None, 1, False)
    assert outcome.endless == f"{path}:{TABLES.count(chr(10)) + 5}"


def test_an_exception_that_a_program_catches_is_told(outcomes, pyflink):
    path, outcome = outcomes["swallows Java"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert "The program catches this exception, and submits no job." in failure.hint


def test_a_variable_that_is_none_is_told_and_one_with_another_value_is_not(outcomes, pyflink):
    path, outcome = outcomes["None"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert "The program reads NO_SUCH_SERVERS_AT_ALL (" in failure.hint
    assert "SPARE" not in failure.hint
    assert failure.option == '--env NO_SUCH_SERVERS_AT_ALL="$NO_SUCH_SERVERS_AT_ALL"'


@pytest.mark.parametrize(
    ("name", "hint", "option"),
    [
        ("parses", "Give the program its arguments with --args '--topic TOPIC'.", '--args "$ARGUMENTS"'),
        ("argv", "with --args 'ARGUMENTS': it reads sys.argv[1] to sys.argv[2].", '--args "$ARGUMENTS"'),
        ("exits", "Give the program its arguments with --args 'ARGUMENTS'.", '--args "$ARGUMENTS"'),
        ("environ", "with --env NO_SUCH_TOPIC_AT_ALL=VALUE", '--env NO_SUCH_TOPIC_AT_ALL="$NO_SUCH_TOPIC_AT_ALL"'),
        ("file", "Put /no/such/folder there", None),
        ("java", "--connector avro", "--connector avro"),
        (
            "outside",
            "Make that reachable from here. Or define a table of an external catalog in the program",
            None,
        ),
    ],
)
def test_a_program_that_wants_something_is_told_how_to_get_it(outcomes, pyflink, name, hint, option):
    path, outcome = outcomes[name]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert hint in failure.hint
    assert failure.option == option


def test_a_key_that_is_nobodys_variable_is_no_option(outcomes, pyflink):
    path, outcome = outcomes["key"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert failure.hint is None
    assert failure.option is None


def test_what_a_program_prints_that_swallows_its_failure_is_told(outcomes, pyflink):
    path, outcome = outcomes["swallows"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert failure.message == "The program submits no job. The last that it says: It failed: list index out of range"
    assert "  It failed: list index out of range" in failure.traceback
    path, outcome = outcomes["no_job"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert (failure.message, failure.traceback) == ("The program submits no job.", None)


def test_a_program_that_fails_behind_its_last_job_as_pyflink_does_has_its_plan(outcomes, pyflink):
    """So does one that calls what its version lacks; what only fails here may have kept another job back."""
    assert len(outcomes["fails behind"][1].jobs) == 1
    options = LoadOptions.given({}, jars=FlinkJars(pyflink=pyflink.python), timeout=200)

    def loaded(path, notes):
        with opened(str(path)) as given:
            return load(given, options, notes=notes)

    for name, said in (
        ("fails behind", "execute() ended with Flink 1.15"),
        ("executes nothing", "Remove env.execute()"),
    ):
        path, notes = outcomes[name][0], []
        assert len(loaded(path, notes)) == 1
        assert f"when its jobs are submitted. {said}" in " ".join(notes)
    other = path.with_name("fails otherwise.py")
    other.write_text(TABLES + GROUPED + "[][1]\n")
    with pytest.raises(InputError, match="list index out of range"):
        loaded(other, [])


def test_a_connector_that_a_program_lacks_is_fetched(pyflink, tmp_path):
    """With the network, where the real one of Kafka plans the program."""
    path = tmp_path / "job.py"
    kafka = "'connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
    path.write_text(
        TABLES + f't.execute_sql("CREATE TABLE k (a INT) WITH ({kafka})")\nt.execute_sql("INSERT INTO k SELECT 1")\n'
    )
    notes = []
    with opened(str(path)) as given:
        try:
            (plan,) = load(given, LoadOptions.given({}, jars=FlinkJars(pyflink=pyflink.python)), notes=notes)
        except InputError as error:
            if error.failure.option != "--connector kafka":
                raise
            needs.without(Need.MAVEN, error.failure.message)
    assert any("k[" in one.name for one in plan.operators)
    (assumed,) = (one for one in plan.assumed if one.what == "connector")
    assert assumed.name in " ".join(notes)


def test_what_a_parser_said_is_told(outcomes, pyflink):
    path, outcome = outcomes["parses"]
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert "the following arguments are required: --topic" in failure.traceback


def test_what_is_collected_is_empty_and_the_program_goes_on(outcomes):
    _, outcome = outcomes["collects"]
    assert outcome.crash is None
    assert len(outcome.jobs) == 2
    assert outcome.jobs[1].exec_plan is not None
    assert outcome.jobs[1].statements[0].text == "INSERT INTO longs"


def test_the_lines_are_those_of_the_users_own_modules(outcomes):
    path, outcome = outcomes["imports"]
    plan = plan_of(outcome.jobs[0], "job.py")
    assert {one.source.file for one in plan.operators} == {str(path.parent / "helper.py")}
    assert (plan.statements[0].file, plan.statements[0].line) == (str(path.parent / "helper.py"), 2)


@pytest.mark.parametrize("where", ["while True:\n    pass", "import time\nwhile True:\n    time.sleep(1)"])
def test_a_program_that_never_ends_is_ended_where_it_is(build, pyflink, tmp_path, where):
    path = tmp_path / "job.py"
    path.write_text("import pyflink.table\n\n" + where)
    (outcome,) = build([path], timeout=30)
    failure = failed(outcome, PyFlinkProgram(path=str(path), python=pyflink.python), OPTIONS, "job.py")
    assert failure.rule == "CMP902"
    assert re.search(rf"It was at {path}:[345], in <module>", failure.message), failure.message


def test_functions_are_not_opened_where_that_is_not_wanted(build, tmp_path):
    path = tmp_path / "job.py"
    path.write_text(TABLES + PYTHON)
    (outcome,) = build([path], call_open=False)
    (counts,) = (one for one in outcome.jobs[0].nodes if one.uid == "count")
    assert counts.python.unknown == "open() was not called (--no-open)"
