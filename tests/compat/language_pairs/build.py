"""Compiles the pairs in Scala and Kotlin: ``python -m tests.compat.language_pairs.build`` with a JDK makes their jars anew."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import jpype

from compat.loader.jvm.distribution import FlinkPlaces, find_flink
from compat.loader.jvm.java import find_java
from compat.loader.jvm.maven import fetch
from tests.compat.language_pairs.model import LANGUAGES, PAIRS, Language, language_of, names, source

LAB = PAIRS / "lab" / "Lab.java"


def main(languages: list[str]) -> None:
    """Make the jars of all pairs, or of those in some languages; each language's compiler gets a process of its own."""
    if len(languages) != 1:
        for name in languages or LANGUAGES:
            subprocess.run([sys.executable, "-m", __spec__.name, name], check=True)
        return
    language = LANGUAGES[languages[0]]
    compilers = [str(jar) for jar in fetch(f"compiler-{language.name}", [language.compiler])]
    jpype.startJVM(str(find_java().library), "-Xss8m", "-Xmx1g", classpath=compilers)
    flink = find_flink(FlinkPlaces(version=language.versions[0])).classpath
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder, "lab")
        subprocess.run(["javac", "--release", "11", "-d", str(lab), "-cp", ":".join(flink), str(LAB)], check=True)
        classpath = ":".join((str(lab), *flink, *map(str, language.libraries())))
        for name in names():
            if language_of(name) == language:
                for side in ("old", "new"):
                    classes = Path(folder, name, side)
                    classes.mkdir(parents=True)
                    options = ["-d", str(classes), "-classpath", classpath, *language.options]
                    _compile(language, [*options, str(source(name, side))])
                    _pack(PAIRS / name / f"{side}.jar", [classes, lab])


def _compile(language: Language, arguments: list[str]) -> None:
    """Run a compiler in this process. Exits where it finds a fault."""
    if language.compiler_class.endswith("K2JVMCompiler"):
        failed = str(jpype.JClass(language.compiler_class)().exec_(jpype.java.lang.System.err, arguments)) != "OK"
    else:
        made = jpype.JClass(language.compiler_class).process(arguments)
        failed = bool(made if isinstance(made, bool | jpype.JBoolean) else made.hasErrors())
        failed = not made if isinstance(made, bool | jpype.JBoolean) else failed
    if failed:
        sys.exit(f"{arguments[-1]} does not compile")


def _pack(path: Path, folders: list[Path]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for folder in folders:
            for file in sorted(folder.rglob("*.class")):
                info = zipfile.ZipInfo(str(file.relative_to(folder)))
                info.compress_type = zipfile.ZIP_DEFLATED
                jar.writestr(info, file.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
