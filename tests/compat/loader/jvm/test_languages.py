"""What is particular to jobs in Scala and Kotlin: their libraries, the classes that start, the names that compilers draw."""

import zipfile

import pytest
from msgspec.structs import replace

from compat.check.class_changes import class_changes
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import check_jar
from compat.loader.jvm.messages import JarProgram
from compat.state.model.code import WrittenClass, WrittenField
from tests import needs
from tests.compat.language_pairs.model import LANGUAGES, PAIRS
from tests.needs import Need


def jar(name, side="old"):
    return str(PAIRS / name / f"{side}.jar")


@pytest.mark.parametrize(
    ("name", "main"),
    [
        ("scala213_case_class_same", "shop.Main"),
        ("scala3_case_class_same", "shop.Main"),
        ("kotlin_data_class_same", "shop.MainKt"),
    ],
)
def test_the_class_that_java_can_start_is_named(name, main):
    with pytest.raises(JvmError) as raised:
        check_jar(JarProgram(path=jar(name)))
    assert raised.value.hint == f"Write --main-class {main}."


def test_classes_of_a_language_s_library_are_not_proposed(tmp_path):
    path = str(tmp_path / "fat.jar")
    with zipfile.ZipFile(path, "w") as made, zipfile.ZipFile(jar("kotlin_data_class_same")) as given:
        for entry in given.namelist():
            made.writestr(entry, given.read(entry))
        made.writestr("scala/tools/Start.class", given.read("shop/MainKt.class"))
    with pytest.raises(JvmError) as raised:
        check_jar(JarProgram(path=path))
    assert raised.value.hint == "Write --main-class shop.MainKt."


@pytest.fixture(scope="module")
def library(flink):
    try:
        return LANGUAGES["scala213"].libraries()
    except JvmError as error:
        needs.without(Need.MAVEN, error)


def classes_of(job):
    return [state.classes for node in job.nodes for state in node.states.states]


def test_it_is_one_whether_the_library_is_in_the_jar_or_on_the_class_path(flink, java, library, tmp_path):
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build

    path = str(tmp_path / "fat.jar")
    with zipfile.ZipFile(path, "w") as made:
        for part in (jar("scala213_collections_same"), *map(str, library)):
            with zipfile.ZipFile(part) as given:
                for entry in given.namelist():
                    if entry.endswith(".class") and entry not in made.NameToInfo:
                        made.writestr(entry, given.read(entry))
    options = JvmOptions(options={})
    fat = build(JarProgram(path=path, main_class="shop.Main"), flink, java, options)
    beside = replace(flink, jars=(*flink.jars, *library))
    thin = build(JarProgram(path=jar("scala213_collections_same"), main_class="shop.Main"), beside, java, options)
    assert classes_of(fat.jobs[0]) == classes_of(thin.jobs[0])
    told = [one for classes in classes_of(fat.jobs[0]) for one in classes if not one.guessed]
    assert [one.misread for one in told] == ["unequal", "broken", None]
    assert fat.jobs[0].nodes == thin.jobs[0].nodes


def test_an_open_that_computes_may_take_longer_than_one_that_waits(java):
    """Flink's API for Scala looks at the constructor of a case class by reflection, which takes seconds at its first use."""
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build, flink_of

    flink, language = flink_of("1.20.0"), LANGUAGES["flinkscala"]
    program = JarProgram(path=jar("flinkscala_case_class_same"), main_class=language.main_class)
    options = JvmOptions(options={})
    outcome = build(program, replace(flink, jars=(*flink.jars, *language.libraries())), java, options)
    assert [node.states.unknown for node in outcome.jobs[0].nodes if node.states.unknown] == []


@pytest.mark.parametrize(
    ("body", "around"),
    [
        ("lambda$main$0", "main"),
        ("lambda$new$12", "new"),
        ("lambda$open$b9c02acf$1", "open"),
        ("$anonfun$main$1", "main"),
        ("$anonfun$main$1$adapted", "main"),
        ("$anonfun$shop$Main$$helper$3", "helper"),
        ("main$$anonfun$2", "main"),
        ("main$$anonfun$1$$anonfun$1", "main"),
        ("main$lambda$1", "main"),
        ("main$lambda$1$lambda$0", "main"),
        ("parse", None),
        ("parse$extension", None),
    ],
)
def test_the_method_around_a_lambda(body, around):
    from compat.loader.jvm.usercode import method_around

    assert method_around(body) == around


CLASS, SEQ, MAP = ("java.lang.Object",), ("a.Seq", "java.lang.Object"), ("a.Map", "java.lang.Object")


def held(type_, above, writer="fields"):
    field = WrittenField(name="x", type=type_, above=above)
    return [WrittenClass(name="a.C", writer=writer, fields=(field,))]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (("a.List", SEQ), ("a.Vector", SEQ), 1),
        (("a.List", SEQ), ("a.Seq", CLASS), 0),
        (("a.Seq", CLASS), ("a.List", SEQ), 0),
        (("a.List", SEQ), ("a.Any", None), 0),
        (("a.List", SEQ), ("a.HashMap", MAP), 1),
    ],
)
def test_a_field_of_a_class_that_no_old_value_is_of(old, new, found):
    assert len(list(class_changes(held(*old), held(*new)))) == found


def declared(*names):
    fields = tuple(WrittenField(name=name, type="long", fixed=True) for name in names)
    return [WrittenClass(name="a.C", writer="declared", fields=fields)]


@pytest.mark.parametrize(
    ("old", "new", "levels"),
    [
        (("count", "total"), ("count", "total"), []),
        (("count", "total"), ("total", "count"), ["error"]),
        (("count", "total"), ("visits", "total"), ["warning"]),
        (("count", "total"), ("count", "total", "more"), []),
    ],
)
def test_what_a_case_class_declares_stands_for_its_place(old, new, levels):
    assert [change.level.value for change in class_changes(declared(*old), declared(*new))] == levels
