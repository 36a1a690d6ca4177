"""How many checks a service makes, and how long a client waits; against the same check called in process.

    python tests/benchmarks/bench_service.py [SECONDS] [CLIENTS]

Four clients on loopback (processes that keep their connections) send plans of 50 operators, to be checked against the version
of a job that runs, and recorded. Behind it, beside the same load, two plans of 10,000 operators are checked. In-process checks
are timed before and behind the load, in the same run. Prints checks per second, quantiles, errors, memory, and two ratios: of
checks per second, which other load on the machine moves, and of processor time per check, which it does not.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from compat.check.decision import check  # noqa: E402
from compat.plan.facts import facts_of  # noqa: E402
from compat.plan.reading import read  # noqa: E402
from compat.report.json_report import as_dict  # noqa: E402
from tests.compat.service.running import Running, plan, serve  # noqa: E402

SMALL, LARGE = 50, 10_000


def names(operators: int, first: str = "") -> list[str]:
    """Names such that the plan has that many operators: a source, a sink, and these."""
    return [*([first] if first else []), *(f"operator {number}" for number in range(operators - 2 - bool(first)))]


def post(connection: http.client.HTTPConnection, token: str, path: str, body: bytes) -> int:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def connect(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)


def client(url: str, token: str, body: bytes, seconds: float, results: multiprocessing.Queue) -> None:
    """One client: the start and time of each request, and the statuses that were no success."""
    connection, times, wrong = connect(url), [], []
    end = time.time() + seconds
    while time.time() < end:
        begun, started = time.time(), time.perf_counter()
        status = post(connection, token, "/api/v1/checks", body)
        times.append((begun, time.perf_counter() - started))
        if status != 201:
            wrong.append(status)
    results.put((times, wrong))


def in_process(old: bytes, new: bytes, seconds: float) -> list[tuple[float, float]]:
    """The times of the same check, from the texts of the plans to the text of the report: by the clock, of the processor."""
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started, worked = time.perf_counter(), time.process_time()
        programs = [facts_of(read(text), name="plan", kind="plan") for text in (old, new)]
        json.dumps(as_dict(check(*programs)))
        times.append((time.perf_counter() - started, time.process_time() - worked))
    return times


def processor(running: Running) -> float:
    """Seconds of processor time that the server and its processes took so far."""
    pids = [running.process.pid, *children(running)]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def children(running: Running) -> list[str]:
    return Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()


def memory(running: Running) -> dict[str, float]:
    """Resident megabytes of the server, and of its processes together."""
    below = 0
    for child in children(running):
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        below += next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return {"server": running.rss() / 1e6, "workers": below * 1024 / 1e6}


def quantiles(times: list[float]) -> str:
    cuts = [cut * 1e3 for cut in statistics.quantiles(times, n=100)]
    return f"p50 {cuts[49]:.1f} ms, p95 {cuts[94]:.1f} ms, p99 {cuts[98]:.1f} ms, max {max(times) * 1e3:.0f} ms"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    old, new = plan(*names(SMALL)), plan(*names(SMALL, "inserted"))
    assert len(old["operators"]) == len(new["operators"]) == SMALL
    texts = [json.dumps(each).encode() for each in (old, new)]
    large = json.dumps(
        {"old": {"plan": plan(*names(LARGE))}, "new": {"plan": plan(*names(LARGE, "inserted"))}}
    ).encode()
    before = in_process(*texts, 5)
    with tempfile.TemporaryDirectory() as folder:
        running = serve(Path(folder))
        try:
            pushed = running.client("push").post("/jobs/job/versions", json={"plan": old})
            pushed.raise_for_status()
            running.promote("job").raise_for_status()
            body = json.dumps({"old": {"job": "job"}, "new": {"plan": new}}).encode()
            results: multiprocessing.Queue = multiprocessing.Queue()
            token = running.tokens["push"]
            workers = [
                multiprocessing.Process(target=client, args=(running.url, token, body, seconds, results))
                for _ in range(clients)
            ]
            worked = processor(running)
            for worker in workers:
                worker.start()
            time.sleep(seconds / 10)
            memory_early = memory(running)
            got = [results.get() for _ in workers]
            worked = processor(running) - worked
            memory_late = memory(running)
            again = [
                multiprocessing.Process(target=client, args=(running.url, token, body, seconds / 2, results))
                for _ in range(clients)
            ]
            for worker in again:
                worker.start()
            time.sleep(1)
            heavy_begun, heavy_started = time.time(), time.perf_counter()
            heavy_status = post(connect(running.url), token, "/api/v1/checks", large)
            heavy = time.perf_counter() - heavy_started
            beside = [results.get() for _ in again]
        finally:
            running.stop()
    after = in_process(*texts, 5)
    times = [one for each, _ in got for one in each]
    wrong = [status for _, each in got for status in each]
    all_times = [took for _, took in times]
    meanwhile = [took for each, _ in beside for begun, took in each if heavy_begun <= begun <= heavy_begun + heavy]
    wrong += [status for _, each in beside for status in each]
    alone, alone_worked = (statistics.median(each) for each in zip(*before, *after, strict=True))
    print(
        f"{clients} clients, {seconds:.0f} s, plans of {SMALL} operators ({len(body) / 1e3:.0f} kB a request), recorded"
    )
    print(f"checks/s {len(times) / seconds:.1f}; {quantiles(all_times)}; errors {len(wrong)} {sorted(set(wrong))}")
    print(f"in process: {1 / alone:.1f} checks/s on one core, median {alone * 1e3:.1f} ms")
    print(f"ratio of checks/s, service to in process: {len(times) / seconds * alone:.2f}")
    spent = worked / len(times)
    ratio = spent / alone_worked
    print(
        f"processor time a check: service {spent * 1e3:.1f} ms, in process {alone_worked * 1e3:.1f} ms, ratio {ratio:.2f}"
    )
    print(f"memory at 10 % and at the end, MB: {memory_early} {memory_late}")
    print(
        f"a check of {LARGE} operators ({len(large) / 1e6:.0f} MB, status {heavy_status}) took {heavy:.1f} s; meanwhile"
    )
    print(f"  {len(meanwhile)} small checks: {quantiles(meanwhile) if len(meanwhile) > 1 else '-'}")


if __name__ == "__main__":
    main()
