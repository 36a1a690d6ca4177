"""Programs in Java that read variables of their environment: these are given by --env, and named where they lack."""

import pytest

from compat.loader.failure import Side, Undecidable
from compat.loader.inputs import FlinkJars, LoadOptions, load, opened
from compat.loader.jvm.failures import failed
from compat.loader.jvm.messages import JarProgram
from compat.loader.jvm.process import JvmOptions, JvmProcess, Setup
from compat.state.model.job import Assumed
from tests.compat.loader.jvm.support import build_all, jar_of

OPTIONS = JvmOptions(options={})
JOB = """
package shop;
import java.util.Map;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

public class Named {
    static String variable(String name) {
        String value = System.getenv(name);
        if (value == null) throw new IllegalStateException("A setting is missing");
        return value;
    }
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        Map<String, String> all = System.getenv();
        String usual = all.getOrDefault("SHOP_REGION", "north");
        String name = switched(arguments.length == 0 ? "" : arguments[0]);
        environment.fromSequence(1, 3).sinkTo(new DiscardingSink<>());
        environment.execute(usual + " " + name);
    }
    static String switched(String how) {
        switch (how) {
            case "length":
                return "" + System.getenv("SHOP_NAME").length();
            case "all":
                return String.join(",", new java.util.TreeMap<>(System.getenv()).subMap("SHOP", "SHOQ").keySet());
            case "map":
                return System.getenv().get("SHOP_NAME").trim();
            case "caught":
                try {
                    return variable("SHOP_NAME");
                } catch (IllegalStateException error) {
                    error.printStackTrace();
                    System.exit(0);
                }
            case "said":
                if (System.getenv("SHOP_OTHER") == null && System.getenv("SHOP_NAME") == null)
                    throw new IllegalArgumentException("Set SHOP_NAME");
            case "refused":
                StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(0);
            case "argument":
                System.getenv("SHOP_LEVEL");
                throw new IllegalArgumentException("No data for required key 'input'");
            default:
                return variable("SHOP_NAME") + variable("SHOP_TOPIC");
        }
    }
}
"""


@pytest.fixture(scope="module")
def jar(tmp_path_factory, flink):
    return str(jar_of(tmp_path_factory.mktemp("a shop"), {"shop/Named.java": JOB}, flink.classpath))


def program(jar, *arguments, **environment):
    return JarProgram(path=jar, main_class="shop.Named", arguments=arguments, environment=environment)


def failures(flink, java, programs, side=None):
    outcomes = build_all(programs, flink, java, OPTIONS)
    return [failed(outcome, one, OPTIONS, "job.jar", side) for one, outcome in zip(programs, outcomes, strict=True)]


def test_variables_that_a_program_reads_in_vain_are_named(flink, java, jar):
    ways = ((), ("length",), ("map",), ("said",), ("argument",))
    helper, length, mapped, said, argument = failures(flink, java, [program(jar, *one) for one in ways])
    read = "The program reads SHOP_NAME (Named.java:{}) from its environment, which has no such variable. Give the program "
    for found, line in ((helper, 9), (length, 24), (mapped, 28), (said, 37)):
        assert found.hint == (
            read.format(line) + "the environment variable with --env SHOP_NAME=VALUE, or in the settings: env."
        )
        assert found.option == '--env SHOP_NAME="$SHOP_NAME"'
    assert argument.hint.startswith("Give it with --args"), "what is known to lack comes first"


def test_the_one_that_is_given_is_not_named_again(flink, java, jar):
    old, whole = failures(
        flink,
        java,
        [program(jar, SHOP_NAME="a"), program(jar, SHOP_NAME="a", SHOP_TOPIC="b")],
        Side.OLD,
    )
    assert old.option == '--old-env SHOP_TOPIC="$SHOP_TOPIC"'
    assert whole is None


def test_a_jar_gets_variables_and_the_next_one_does_not(flink, java, jar, monkeypatch):
    monkeypatch.setenv("SHOP_TOPIC", "orders")
    programs = [program(jar, SHOP_NAME="a", SHOP_REGION="east"), program(jar)]
    with JvmProcess(Setup(flink, java, OPTIONS)) as jvm:  # one that has this process's variables
        given, other = (one.outcome() for one in [jvm.build(one) for one in programs])
    assert given is not None
    assert other is not None
    assert given.jobs[0].name == "east aorders"
    assert other.crash is not None
    assert list(other.missed) == ["SHOP_NAME"]


def test_env_reaches_a_jar(jar, flink):
    jars = FlinkJars(version="2.3.0", main_class="shop.Named")
    environment = {"SHOP_NAME": "a", "SHOP_TOPIC": "b"}
    with opened(jar) as given:
        (plan,) = load(given, LoadOptions.given({}, jars=jars, environment=environment))
    assert plan.job_name == "north ab"
    assert plan.assumed == (Assumed(what="variable", name="SHOP_REGION"),), "what is given is no assumption"


def test_variables_that_a_plan_hangs_on_are_in_it(jar, flink, monkeypatch):
    monkeypatch.setenv("SHOP_TOPIC", "orders")
    jars = FlinkJars(version="2.3.0", main_class="shop.Named")
    with opened(jar) as given:
        (plan,) = load(given, LoadOptions.given({}, jars=jars, environment={"SHOP_NAME": "a"}))
    assert [one.name for one in plan.assumed] == ["SHOP_REGION", "SHOP_TOPIC"]


def test_a_program_that_ended_itself_over_it_says_what_it_printed(jar, flink, java):
    (found,) = failures(flink, java, [program(jar, "caught")])
    assert found.rule is Undecidable.PROGRAM_FAILED
    assert "variables with --env" in found.hint


def test_whoever_reads_all_variables_finds_those_that_are_given(jar, flink, java):
    programs = [program(jar, "all", SHOP_ONE="a", SHOP_REGION="b"), program(jar, "all", SHOP_TWO="c")]
    one, two = build_all(programs, flink, java, OPTIONS)
    assert [one.jobs[0].name, two.jobs[0].name] == ["b SHOP_ONE,SHOP_REGION", "north SHOP_TWO"]


def test_what_flink_refuses_is_not_laid_to_arguments(jar, flink, java):
    (found,) = failures(flink, java, [program(jar, "refused")])
    assert found.hint == (
        "Flink throws this, in StreamExecutionEnvironment.setParallelism(): the program fails with it on a cluster, too."
    )
