"""How long `compat check` takes for jobs that Flink builds, as a whole process, against `flink info` of the new version alone
and against a restore: the new version started from the old one's savepoint in a MiniCluster, until Flink says that it fails.

    python tests/benchmarks/bench_jvm.py [ROUNDS] [FLINK]

Needs an installed `compat[jvm]` beside the running interpreter; Flink's jars are fetched once. The commands take turns;
ratios are the median of the rounds' ratios. `flink info` builds one graph in a JVM, and neither looks at states nor restores.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compat.loader.jvm.distribution import FlinkPlaces, find_flink
from compat.loader.jvm.java import find_java

GOLDEN = Path(__file__).parents[1] / "golden" / "java" / "2.3.0" / "tuple_arity"
EXAMPLES = Path(__file__).parents[2] / "compat" / "examples"
OPENED = [
    f"--add-opens=java.base/java.{name}=ALL-UNNAMED"
    for name in ("lang", "util", "io", "net", "nio", "time", "math", "text")
]
COMPAT = str(Path(sys.executable).parent / "compat")


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """The wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=environment)
    return time.perf_counter() - started


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    version = sys.argv[2] if len(sys.argv) > 2 else "2.3.0"
    flink = find_flink(FlinkPlaces(version=version))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.yaml").write_text("execution:\n  target: local\n")
        environment = {**os.environ, "FLINK_CONF_DIR": folder}
        jar, new = EXAMPLES / "payments" / "v1.jar", EXAMPLES / "payments" / "v2.jar"
        scripts = [str(EXAMPLES / "revenue" / f"{side}.sql") for side in ("v1", "v2")]
        frontend = "org.apache.flink.client.cli.CliFrontend"
        commands = {
            "flink info": [find_java().command, "-cp", os.pathsep.join(flink.classpath), frontend, "info", str(new)],
            "restore": [
                *(
                    find_java().command,
                    *OPENED,
                    "-cp",
                    os.pathsep.join(flink.classpath),
                    frontend,
                    "run",
                    "-t",
                    "local",
                ),
                *("-s", str(GOLDEN / "savepoint"), "-c", "TupleArity", str(GOLDEN / "new.jar")),
            ],
            "savepoint and jar": [
                *(COMPAT, "check", str(GOLDEN / "savepoint"), str(GOLDEN / "new.jar"), "--main-class", "TupleArity"),
                *("--flink-version", version),
            ],
            "two jars": [COMPAT, "check", str(jar), str(new), "--flink-version", version],
            "two SQL scripts": [COMPAT, "check", *scripts, "--flink-version", version],
            "plan of a jar": [COMPAT, "plan", str(new), "--flink-version", version],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                taken = seconds(command, environment)
                if turn:  # the first makes archives of classes and fills caches
                    times[name].append(taken)
    base = times["flink info"]
    for name, found in times.items():
        ratio = statistics.median(one / other for one, other in zip(found, base, strict=True))
        print(f"{name:17} {statistics.median(found):6.2f} s  {ratio:5.2f} of flink info")


if __name__ == "__main__":
    main()
