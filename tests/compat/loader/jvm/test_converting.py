"""Values that only classes read: OLD's classes read them, their fields are copied, and NEW's classes write them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.loader.jvm.java import find_java
from compat.loader.jvm.messages import Convert, JarProgram
from compat.loader.jvm.process import JvmOptions, JvmProcess, Setup
from tests.compat.loader.jvm.support import flink_of

SOURCES = Path(__file__).parent / "baskets"
RECORD = "record Size(int width, String unit) {}"
CLASS = "static class Size { int width; String unit; Size(int w, String u) { width = w; unit = u; } }"
READ = "ann 12 7 [pear*2:GREEN]{plum=plum*3:RED}[fig*1:null, null][3, 5]4cmripe"


class Version:
    """A version of the program, compiled: what it writes and reads in a JVM of its own."""

    def __init__(self, folder: Path, name: str, classpath: str, basket: Path | None = None) -> None:
        classes = folder / name
        sources = [str(SOURCES / "Job.java"), str(basket or SOURCES / name / "Basket.java")]
        subprocess.run(["javac", "-nowarn", "-d", str(classes), "-cp", classpath, *sources], check=True)
        self.jar = str(folder / f"{name}.jar")
        subprocess.run(
            ["jar", "--create", "--file", self.jar, "--main-class", "Job", "-C", str(classes), "."], check=True
        )
        self._classpath = f"{self.jar}:{classpath}"

    def run(self, *arguments: str) -> str:
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang")]
        command = ["java", *opens, "-cp", self._classpath, "Job", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def written(self, *how: str) -> tuple[bytes, bytes]:
        """A serializer's snapshot, and a value."""
        serializer, value = self.run("write", *how).split(" ")
        return bytes.fromhex(serializer), bytes.fromhex(value)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Version, Version]:
    folder = tmp_path_factory.mktemp("baskets")
    classpath = ":".join(flink_of("2.3.0").classpath)
    return Version(folder, "old", classpath), Version(folder, "new", classpath)


def test_objects_of_old_classes_become_such_of_new_ones(versions: tuple[Version, Version]) -> None:
    old, new = versions
    (before, value), (after, _) = old.written(), new.written()
    asked = Convert(
        classpath=(old.jar,),
        old=before,
        new=after,
        fields={"customer": "owner"},
        constants={"shop": 12},
        without=("gone",),
        values=(value, value),
    )
    with JvmProcess(Setup(flink_of("2.3.0"), find_java(), JvmOptions(options={}))) as jvm:
        building = jvm.build(JarProgram(path=new.jar))
        assert building.outcome() is not None
        answer = building.convert(asked)
        assert answer is not None
        assert (answer.failure, len(answer.values)) == ("", 2)
        assert {new.run("read", one.hex()) for one in answer.values} == {READ}

        listed = building.convert(replace(asked, kind="MAP", old=before, values=(b"\1",)))
        assert listed is not None
        assert "getValueSerializer" in listed.failure, "the serializer of a map is another one"

        for change, told in (
            ({"fields": {}}, "Basket has no field customer: say which it was, or give a constant"),
            ({"without": ()}, "Basket has no field for gone: name it, or drop it"),
            ({"constants": {"shop": "x"}}, "Can not set int field Basket.shop to java.lang.String"),
            ({"constants": {"shop": 1 << 40}}, "does not fit into int"),
            ({"values": (value + b"x",)}, "bytes are left over"),
            (
                {"values": old.written("within")[1:]},
                "java.util.Optional holds objects of Basket$Item, and cannot be converted here",
            ),
            ({"job": 3}, "there is no such job"),
        ):
            answer = building.convert(replace(asked, **change))
            assert answer is not None
            assert told in answer.failure


def test_the_kryo_of_flink_1_reads_and_that_of_flink_2_writes(
    versions: tuple[Version, Version], tmp_path: Path
) -> None:
    """Both are in one JVM, each behind a class loader of its own; without one, the other one's bytes are not read."""
    earlier = flink_of("1.20.0").classpath
    basket = tmp_path / "Basket.java"  # Kryo of Flink 1 reads no records of Java
    basket.write_text((SOURCES / "old" / "Basket.java").read_text().replace(RECORD, CLASS))
    old, (_, new) = Version(tmp_path, "old", ":".join(earlier), basket), versions
    (before, value), (after, _) = old.written(), new.written()
    asked = Convert(
        classpath=(old.jar,),
        flink=earlier,
        old=before,
        new=after,
        fields={"customer": "owner"},
        constants={"shop": 12},
        without=("gone",),
        values=(value,),
    )
    with JvmProcess(Setup(flink_of("2.3.0"), find_java(), JvmOptions(options={}))) as jvm:
        building = jvm.build(JarProgram(path=new.jar))
        assert building.outcome() is not None
        answer = building.convert(asked)
        assert answer is not None
        assert answer.failure == ""
        assert [new.run("read", one.hex()) for one in answer.values] == [READ]
        misread = building.convert(replace(asked, flink=()))
        assert misread is not None
        assert misread.failure
