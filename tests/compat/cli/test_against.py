"""Jobs of a project against a revision: nothing is passed over in silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.testing import IncompatibleError, assert_compatible
from tests import needs
from tests.needs import Need
from tests.repositories import committed, git

pytestmark = needs.unless(shutil.which("git"), Need.GIT)

FUNCTIONS = """\
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

LONG = Types.LONG()


def identity(x):
    return x


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        yield value
"""
COUNTING = """\
from shop.common.functions import LONG, Count, identity


def counted(stream):
    return stream.map(identity, LONG).rebalance().key_by(identity, LONG).process(Count(), LONG).name("counted")
"""
JOB = """\
import sys

from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from shop.common.functions import LONG, Count, identity


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    numbers.key_by(identity, LONG).process(Count(), LONG).uid("NAME").print()
    env.execute("NAME")


if __name__ == "__main__":
    main()
"""
USAGE = JOB.replace("def main():\n", "def main():\n    if len(sys.argv) < 2:\n        print('usage')\n        return\n")
GENERATED = JOB.replace(
    'numbers.key_by(identity, LONG).process(Count(), LONG).uid("NAME")', "counted(numbers)"
).replace("from shop.common.functions import LONG, Count, identity", "from shop.common.counting import counted")
JOBS = Path("src/shop/jobs")
FORMATS = ("text", "concise", "json", "github", "sarif", "junit", "markdown", "html")


def write(name: str, source: str) -> Path:
    path = JOBS / f"{name}.py"
    path.write_text(source.replace("NAME", name), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in the src layout with two jobs that share a module; the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPAT_SERVER", raising=False)
    JOBS.mkdir(parents=True)
    Path("src/shop/common").mkdir()
    for package in ("src/shop", "src/shop/jobs", "src/shop/common"):
        Path(package, "__init__.py").touch()
    Path("src/shop/common/functions.py").write_text(FUNCTIONS, encoding="utf-8")
    Path("pyproject.toml").write_text('[project]\nname = "shop"\n', encoding="utf-8")
    Path(".gitignore").write_text("__pycache__/\n")
    write("orders", JOB)
    write("clicks", JOB)
    committed()
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


def verdicts(result: Result) -> dict[str, str]:
    document = json.loads(result.stdout)
    reports = document.get("reports", [document])
    return {
        Path((one["new"] or {"name": one["failures"][0]["program"]})["name"]).stem: one["verdict"] for one in reports
    }


def settings(text: str) -> None:
    Path("pyproject.toml").write_text(f'[tool.compat]\njobs = ["src/shop/jobs/*.py"]\nbaseline = "git:HEAD"\n{text}')
    git("commit", "-qam", "settings")


def test_a_job_that_builds_nothing_without_its_arguments_is_undecided_in_every_format() -> None:
    job = str(write("billing", USAGE))
    git("add", "-A")
    git("commit", "-qm", "billing")
    outputs = [f"--output={form}={form}" for form in FORMATS]
    result = check("--against", "HEAD", str(JOBS / "orders.py"), job, *outputs)
    assert result.exit_code == 2
    for form in FORMATS:
        assert "billing" in Path(form).read_text(encoding="utf-8"), form
    assert "2 checks: 1 compatible, 1 not decided." in Path("text").read_text(encoding="utf-8")
    settings(f'[[tool.compat.job]]\npath = "{job}"\nargs = "topic"\n')
    assert check().exit_code == 0
    assert check("--against", "HEAD", job, "--args", "topic").exit_code == 0
    pair = check(f"git:HEAD:{job}", job)
    assert pair.exit_code == 0
    assert f'Next: flink run -s "$SAVEPOINT" -py {job} topic\n' in pair.stdout
    assert len(assert_compatible(f"git:HEAD:{job}", job)) == 1


@pytest.mark.parametrize("command", [["plan"], ["plan", "--format", "html"], ["explain", "JOB"]])
def test_the_settings_say_how_a_job_is_started_to_every_command(command: list[str]) -> None:
    job = str(write("billing", USAGE))
    given = [job if one == "JOB" else one for one in command]
    wanted = [*given, job, *(["billing"] if command[0] == "explain" else [])]
    assert CliRunner().invoke(main, wanted).exit_code != 0
    settings(f'[[tool.compat.job]]\npath = "{job}"\nargs = "topic"\n')
    assert CliRunner().invoke(main, wanted).exit_code == 0


def test_the_settings_of_a_job_hold_for_what_it_was() -> None:
    job = str(write("billing", USAGE))
    git("add", "-A")
    git("commit", "-qm", "billing")
    settings(f'[[tool.compat.job]]\npath = "{job}"\nargs = "topic"\n')
    assert CliRunner().invoke(main, ["plan", f"git:HEAD:{job}"]).exit_code == 0


def test_the_settings_of_a_job_hold_for_its_plan() -> None:
    job = str(JOBS / "orders.py")
    settings(f'[[tool.compat.job]]\npath = "{job}"\nflink = "1.20"\n')
    told = {flink: CliRunner().invoke(main, ["plan", job, *flink]).stdout for flink in ((), ("--flink", "2.3"))}
    assert ["Flink 1.20" in told[()], "Flink 2.3" in told["--flink", "2.3"]] == [True, True]


def test_a_job_is_built_with_what_the_settings_say_of_it() -> None:
    job = str(write("billing", JOB.replace("import sys", "import os\nimport sys\n\nos.environ['TOPIC']")))
    git("add", "-A")
    git("commit", "-qm", "billing")
    for text, code in (("", 2), (f'[[tool.compat.job]]\npath = "{JOBS}/b*.py"\nenv = {{ TOPIC = "bills" }}\n', 0)):
        settings(text)
        assert check().exit_code == code
        assert check("--against", "HEAD", job).exit_code == code
        assert check(f"git:HEAD:{job}", job).exit_code == code
    assert len(assert_compatible(f"git:HEAD:{job}", job)) == 1


@pytest.mark.parametrize("tracked", [True, False])
def test_a_renamed_job_is_held_against_what_it_was(tracked: bool) -> None:
    if tracked:
        git("mv", str(JOBS / "clicks.py"), str(JOBS / "taps.py"))
    else:
        (JOBS / "clicks.py").rename(JOBS / "taps.py")
    write("taps", JOB)
    result = check("--against", "HEAD", f"{JOBS}/*.py", "--format", "concise")
    assert result.exit_code == 1
    assert "taps.py:13: CMP102 error the id of" in result.stdout
    assert "CMP909" not in result.stdout


def test_a_job_that_is_gone_is_told_unless_it_is_named() -> None:
    git("rm", "-q", str(JOBS / "clicks.py"))
    for command in (
        ["--against", "HEAD", f"{JOBS}/*.py"],
        ["--changed"],
        ["--against", "HEAD", str(JOBS / "clicks.py")],
    ):
        outputs = [f"--output={form}={form}" for form in FORMATS]
        assert check(*command, *outputs).exit_code == 2
        assert "Next: git log --diff-filter=DR --stat -- src/shop/jobs/clicks.py" in Path("text").read_text()
        for form in FORMATS:
            told = Path(form).read_text(encoding="utf-8").replace("\\", "").replace("&#46;", ".")
            assert "clicks.py is a job at HEAD, and is gone" in told, form
        result = check(*command, "--skip", str(JOBS / "clicks.py"), "--format", "json")
        assert result.exit_code == 0, result.output
        assert verdicts(result)["clicks"] == "not-checked"


def test_the_settings_name_jobs_that_are_gone_and_those_that_they_named_once_are_jobs() -> None:
    settings("")
    Path("pyproject.toml").write_text('[tool.compat]\njobs = ["src/shop/jobs/orders.py"]\nbaseline = "git:HEAD"\n')
    git("rm", "-q", str(JOBS / "clicks.py"))
    assert check().exit_code == 2
    path = JOBS / "clicks.py"
    with Path("pyproject.toml").open("a") as file:
        file.write(f'[[tool.compat.job]]\npath = "{path}"\ncheck = false\n')
    result = check()
    assert result.exit_code == 0, result.output
    assert f"NOT CHECKED: {path} is left out by the settings." in result.stdout
    assert "1 check: 1 compatible. Not checked: 1 left out by name." in result.stdout.splitlines()


def test_a_change_concerns_the_jobs_that_load_its_files() -> None:
    assert check("--changed").exit_code == 0
    (JOBS / "orders.py").write_text((JOBS / "orders.py").read_text() + "# more\n")
    result = check("--changed", "--format", "json")
    assert verdicts(result) == {"orders": "compatible", "clicks": "not-checked"}
    Path("src/shop/common/functions.py").write_text(
        FUNCTIONS.replace('"count", Types.LONG()', '"count", Types.STRING()')
    )
    result = check("--changed", "--format", "json")
    assert result.exit_code == 1
    assert verdicts(result) == {"orders": "incompatible", "clicks": "incompatible"}
    listed = subprocess.run(["git", "status", "--short"], capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["M", "src/shop/common/functions.py", "M", str(JOBS / "orders.py")]


def test_a_change_may_be_named() -> None:
    check("--changed")
    assert verdicts(check("--changed", "README.md", "--format", "json")) == {"clicks": "not-checked"}
    named = check("--changed", "src/shop/common/functions.py", "--format", "json")
    assert verdicts(named) == {"clicks": "compatible", "orders": "compatible"}


def test_files_that_a_job_reads_and_modules_that_come_in_between_concern_it() -> None:
    reading = JOB.replace("def main():\n", "def main():\n    open('settings.yaml').read()\n")
    optional = JOB.replace("import sys\n", "try:\n    import quick\nexcept ImportError:\n    pass\n")
    write("orders", reading)
    write("clicks", optional)
    Path("settings.yaml").write_text("a: 1\n")
    git("add", "-A")
    git("commit", "-qm", "more")
    check("--changed")
    Path("settings.yaml").write_text("a: 2\n")
    assert verdicts(check("--changed", "--format", "json")) == {"orders": "compatible", "clicks": "not-checked"}
    git("checkout", "-q", "settings.yaml")
    check("--changed")
    Path("src/quick.py").write_text("")
    assert verdicts(check("--changed", "--format", "json")) == {"clicks": "compatible", "orders": "not-checked"}


def test_a_file_that_pins_flink_concerns_every_job() -> None:
    check("--changed")
    Path("requirements.txt").write_text("apache-flink==1.18.1\n")
    assert verdicts(check("--changed", "--format", "json")) == {"orders": "compatible", "clicks": "compatible"}


def test_jobs_are_found_where_no_settings_name_them() -> None:
    Path("tools.py").write_text("import sys\nprint(sys.argv)\n")
    Path("tests").mkdir()
    Path("tests/test_orders.py").write_text(JOB)
    write("thin", "from shop.jobs.orders import main\n\nmain()\n")
    assert set(verdicts(check("--changed", "--format", "json"))) == {"orders", "clicks", "thin"}
    shutil.rmtree(JOBS)
    result = check("--changed", "--skip", str(JOBS / "orders.py"), "--skip", str(JOBS / "clicks.py"))
    assert result.exit_code == 2
    assert "No job was found" in result.output


def test_before_the_first_commit_every_job_is_new(tmp_path: Path) -> None:
    shutil.rmtree(".git")
    git("init", "-q")
    result = check("--changed", "--format", "json")
    assert (result.exit_code, verdicts(result)) == (0, {"orders": "not-checked", "clicks": "not-checked"})


def clone(project: Path, *options: str, name: str = "clone") -> Path:
    other = project / name
    git("clone", "-q", *options, f"file://{project}", str(other))
    return other


def test_a_shallow_clone_and_no_repository_say_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("commit", "-q", "--allow-empty", "-m", "second")
    monkeypatch.chdir(clone(project, "--depth", "1"))
    result = check("--against", "HEAD~1", str(JOBS / "orders.py"))
    assert result.exit_code == 2
    assert "fetch-depth: 0" in " ".join(result.output.split())
    direct = check(f"git:HEAD~1:{JOBS}/orders.py", str(JOBS / "orders.py"))
    assert direct.exit_code == 2
    assert "fetch-depth: 0" in " ".join(direct.output.split())
    shutil.rmtree(".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project))
    result = check("--against", "HEAD", str(JOBS / "orders.py"))
    assert result.exit_code == 2
    assert "there is no git repository here" in " ".join(result.output.split())


def test_a_partial_clone_fetches_what_it_lacks_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git("config", name, "true")
    for number in range(5):
        Path(f"data{number}.txt").write_text(str(number))
    git("add", "-A")
    git("commit", "-qm", "data")
    git("rm", "-q", *(f"data{number}.txt" for number in range(5)))
    Path("src/shop/common/functions.py").write_text(FUNCTIONS + "# more\n")
    git("commit", "-qam", "none")
    cut_off = clone(project, "--filter=blob:none", name="cut off")
    monkeypatch.chdir(clone(project, "--filter=blob:none"))
    trace = project / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    result = check("--against", "HEAD~1", str(JOBS / "orders.py"))
    assert result.exit_code == 0, result.output
    fetches = [
        line
        for line in trace.read_text().splitlines()
        if "run_command: git fetch" in line or "built-in: git fetch" in line
    ]
    assert len(fetches) == 1, fetches
    monkeypatch.setenv("GIT_TRACE", "0")
    shutil.rmtree(project / ".git")
    monkeypatch.chdir(cut_off)
    failed = check("--against", "HEAD~1", str(JOBS / "orders.py"))
    assert failed.exit_code == 2
    assert "This is a partial clone" in " ".join(failed.output.split())


def test_one_answer_for_a_new_job() -> None:
    job = str(write("fresh", JOB))
    past = f"git:HEAD:{job}"
    assert assert_compatible(past, job) == ()
    assert check(past, job).exit_code == 0
    assert check("--against", "HEAD", job, "--rollback").exit_code == 0
    with pytest.raises(IncompatibleError, match="no file"):
        assert_compatible(f"git:HEAD:{JOBS}/fersh.py", job)
    git("mv", str(JOBS / "clicks.py"), str(JOBS / "taps.py"))
    (report,) = assert_compatible(f"git:HEAD:{JOBS}/taps.py", JOBS / "taps.py")
    assert report.old.name == f"git:HEAD:{JOBS}/clicks.py"


def test_arguments_are_those_of_both_sides() -> None:
    job = str(write("orders", JOB.replace('uid("NAME")', "uid(sys.argv[1] if sys.argv[1:] else 'a')")))
    git("commit", "-qam", "arguments")
    for command in ([job, job], ["--against", "HEAD", job], [f"git:HEAD:{job}", job]):
        assert check(*command, "--args", "b").exit_code == 0
        assert check(*command, "--args", "b", "--old-args", "c").exit_code == 1
        assert check(*command, "--new-args", "b").exit_code == 1


@pytest.fixture
def sharing() -> None:
    """Two jobs whose counting operator has an id of its place, and is made by a helper."""
    Path("src/shop/common/counting.py").write_text(COUNTING)
    write("views", GENERATED)
    write("visits", GENERATED)
    git("add", "-A")
    git("commit", "-qm", "sharing")


def test_a_repair_of_what_jobs_share_is_taken_back_where_it_harms(sharing: None) -> None:
    write("visits", GENERATED.replace("counted(numbers)", "counted(counted(numbers))"))
    git("commit", "-qam", "counted twice")
    job = JOBS / "views.py"
    changed = job.read_text().replace("counted(numbers)", "counted(numbers.rebalance().filter(bool).rebalance())")
    job.write_text(changed)
    result = check(f"git:HEAD:{job}", str(job), "--fix")
    assert "The edits were taken back: they break src/shop/jobs/visits.py." in result.output
    assert result.exit_code == 1
    assert Path("src/shop/common/counting.py").read_text() == COUNTING
    assert job.read_text() == changed


def test_a_repair_that_helps_all_stays(sharing: None) -> None:
    helper = Path("src/shop/common/counting.py")
    helper.write_text(COUNTING.replace("stream.map", "stream.map(identity, LONG).rebalance().map"))
    job = JOBS / "views.py"
    result = check(f"git:HEAD:{job}", str(job), "--fix")
    assert result.exit_code == 0, result.output
    assert "set_uid_hash" in helper.read_text()
    assert check("--against", "HEAD", str(JOBS / "visits.py")).exit_code == 0


def test_a_repair_tells_of_neighbours_that_cannot_be_checked(sharing: None) -> None:
    write(
        "billing",
        USAGE.replace("from shop.common.functions", "import shop.common.counting\nfrom shop.common.functions"),
    )
    git("add", "-A")
    git("commit", "-qm", "billing")
    helper = Path("src/shop/common/counting.py")
    helper.write_text(COUNTING.replace("stream.map", "stream.map(identity, LONG).rebalance().map"))
    job = JOBS / "views.py"
    result = check(f"git:HEAD:{job}", str(job), "--fix")
    assert result.exit_code == 2, result.output
    assert "billing.py could not be checked" in result.output


def test_what_is_kept_is_not_read_where_it_is_damaged() -> None:
    check("--changed")
    kept = Path(".git/compat/loads.json")
    kept.write_text(kept.read_text()[:-20])
    assert set(verdicts(check("--changed", "--format", "json"))) == {"orders", "clicks"}
    assert os.path.getsize(kept) > 100


def test_what_is_known_of_one_job_hides_nothing_of_another_one() -> None:
    """Both have the same uid and state, as jobs of one project often do."""
    functions = Path("src/shop/common/functions.py")
    functions.write_text(functions.read_text().replace('"count", Types.LONG()', '"count", Types.STRING()'))
    orders, clicks = str(JOBS / "orders.py"), str(JOBS / "clicks.py")
    written = check("--against", "HEAD", orders, "--baseline", "known.json", "--write-baseline")
    assert (written.exit_code, " written to known.json" in written.stdout) == (0, True)
    accepted = check("--against", "HEAD", orders, "--baseline", "known.json")
    assert (accepted.exit_code, "suppressed. --verbose shows the rest." in accepted.stdout) == (0, True)
    assert check("--against", "HEAD", clicks, "--baseline", "known.json").exit_code == 1
    assert check("--against", "HEAD", clicks, orders, "--baseline", "known.json", "--write-baseline").exit_code == 0
    assert check("--against", "HEAD", clicks, orders, "--baseline", "known.json").exit_code == 0
