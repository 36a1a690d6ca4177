"""Programs that need what surrounds them while they build their job: a platform's properties, systems that answer."""

import zipfile

import pytest

import compat
from compat.loader.failure import Side
from compat.loader.inputs import FlinkJars, InputError
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import failed
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import JarProgram
from compat.loader.jvm.process import JvmOptions
from compat.loader.jvm.runtime_properties import folder_for
from tests import needs
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import build
from tests.compat.loader.jvm.test_unconnected import kafka as kafka
from tests.needs import Need

JAR = JAVA / "unconnected" / "unconnected.jar"
PROPERTIES = '[{"PropertyGroupId": "Shop", "PropertyMap": {"uid": "totals", "name": "shop of Zoë"}}]'


@pytest.fixture(scope="module")
def runtime():
    """The library of AWS that gives a job its properties."""
    wanted = Artifact(group="com.amazonaws", name="aws-kinesisanalytics-runtime", version="1.2.0", alone=True)
    try:
        (found,) = fetch("aws-runtime-1.2.0", [wanted])
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    return found


@pytest.fixture
def fat(runtime, tmp_path):
    """The program with the library in its jar, as it is uploaded."""
    path = tmp_path / "fat.jar"
    with zipfile.ZipFile(path, "w") as made:
        for one in (JAR, runtime):
            with zipfile.ZipFile(one) as given:
                for entry in given.infolist():
                    if not entry.is_dir() and not entry.filename.startswith("META-INF"):
                        made.writestr(entry.filename, given.read(entry))
    return str(path)


@pytest.fixture
def properties(tmp_path):
    folder = tmp_path / "with spaces and ü"
    folder.mkdir()
    path = folder / "application_properties.json"
    path.write_text(PROPERTIES, encoding="utf-8")
    return str(path)


def planned(jar, classpath=(), properties=None):
    jars = FlinkJars(
        version="2.3.0", main_class="shop.Managed", classpath=tuple(map(str, classpath)), runtime_properties=properties
    )
    (found,) = compat.plan(jar, jars=jars)
    return found


def test_a_fat_jar_finds_the_properties_that_are_given(flink, fat, properties):
    found = planned(fat, properties=properties)
    assert found.job_name == "shop of Zoë"
    assert "totals" in {one.uid for one in found.operators}


def test_so_does_a_jar_whose_library_the_platform_provides(flink, runtime, properties):
    found = planned(JAR, [*flink.jars, runtime], properties)
    assert "totals" in {one.uid for one in found.operators}


def test_and_one_whose_library_nobody_gives(flink, runtime, properties):
    found = planned(JAR, properties=properties)
    assert "totals" in {one.uid for one in found.operators}


def test_a_number_is_the_text_that_the_library_makes_of_it(flink, fat, tmp_path):
    path = tmp_path / "numbers.json"
    path.write_text('[{"PropertyGroupId": "Shop", "PropertyMap": {"uid": true, "name": 10.0}}]', encoding="utf-8")
    found = planned(fat, properties=str(path))
    assert found.job_name == "10.0"
    assert "true" in {one.uid for one in found.operators}


def test_a_job_that_lacks_them_is_told_so(flink, fat):
    with pytest.raises(InputError) as raised:
        planned(fat)
    failure = raised.value.failure
    assert failure.message.endswith(
        "The job reads properties that AWS's Managed Service for Apache Flink gives, and has none here."
    )
    assert failure.hint.startswith("Give them with --runtime-properties FILE")
    assert (failure.source.file, failure.source.line) == ("Managed.java", 13)


def test_so_is_one_whose_file_lacks_a_group(flink, fat, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(PROPERTIES.replace("Shop", "Store"), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        planned(fat, properties=str(path))
    assert raised.value.failure.hint.startswith("Check whether the file of --runtime-properties has every group")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{}", "holds no properties of an application"),
        ('[{"PropertyGroupId": "Shop"}]', "holds no properties of an application"),
        ('[{"PropertyGroupId": "Shop", "PropertyMap": {"a": {}}}]', "holds no properties of an application"),
        ("\ufffe", "holds no properties of an application"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path, text, said):
    path = tmp_path / "given.json"
    if text is not None:
        path.write_text(text, encoding="utf-16")
        path.write_text(text, encoding="utf-8")
    with pytest.raises(JvmError, match=said):
        folder_for(str(path))


def reaching(flink, java, options, *arguments):
    program = JarProgram(path=str(JAR), main_class="shop.Reaching", arguments=arguments)
    return failed(build(program, flink, java, options), program, options, "shop.jar", Side.NEW)


def test_a_call_that_reaches_nothing_is_named_with_its_line(flink, java, kafka):
    failure = reaching(flink, java, kafka, "socket")
    assert failure.message == (
        "The program failed: ConnectException: The program asks an external system while it builds its job with "
        "Socket.<init>() at shop.Reaching.main(Reaching.java:11): ConnectException: Connection refused"
    )
    assert "ask for it in open() of a function" in failure.hint


@pytest.mark.parametrize("broker", ["broker.invalid:9092", "localhost:9"])
def test_a_call_of_a_library_is_named_where_the_program_calls_it(flink, java, kafka, broker):
    failure = reaching(flink, java, kafka, "broker", broker, "2000")
    called = "Admin.create()" if broker.startswith("broker") else "KafkaFutureImpl.get()"
    assert f"while it builds its job with {called} at shop.Reaching.main(Reaching.java:17)" in failure.message
    assert failure.source.line == 17


def test_a_program_that_waits_is_told_by_its_own_line(flink, java, kafka):
    options = JvmOptions(options={}, user_classpath=kafka.user_classpath, timeout=8)
    failure = reaching(flink, java, options, "broker", "localhost:9", "600000")
    assert "It was at shop.Reaching.main(Reaching.java:17), in KafkaFutureImpl.get()." in failure.message
    assert (failure.source.file, failure.source.line) == ("Reaching.java", 17)
