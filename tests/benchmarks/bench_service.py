"""How many requests a service answers, and how long a client waits; against the same check called in process.

    python tests/benchmarks/bench_service.py [--seconds 15] [--clients 1,8,32,128] [--operators 50,500] [--fresh 0]

The mix: 40 % checks (a plan against the version of a job that runs, recorded), 40 % reads, 20 % pages; ``--fresh`` is how many
of a hundred checks are of a plan that was never seen. Clients are threads of a few processes that keep their connections and
ask again at once. In-process checks are timed before and behind, in the same run: ratios to them hold where other load on the
machine moves the absolutes. Prints requests per second, quantiles by kind, errors, memory. Then, beside eight clients that only
read, two plans of 10,000 operators are checked, and it prints how long reads took meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from compat.check.decision import check  # noqa: E402
from compat.plan.facts import facts_of  # noqa: E402
from compat.plan.reading import read  # noqa: E402
from compat.report.json_report import as_dict  # noqa: E402
from tests.compat.service.running import Running, plan, serve  # noqa: E402

LARGE = 10_000
JOBS, PLANS = 4, 5
PROCESSES = 2
READS = (
    "/api/v1/jobs/{job}",
    "/api/v1/jobs/{job}/versions",
    "/api/v1/checks?job={job}&limit=20",
    "/api/v1/checks/{check}",
)
PAGES = ("/", "/jobs/{job}", "/checks/{check}")
KINDS = ("check", "read", "page")


@dataclass
class Target:
    """A service, and what clients ask it: its jobs, plans as text, checks that were recorded."""

    url: str
    token: str
    jobs: list[str]
    plans: list[bytes]
    fresh: int
    checks: list[int] = field(default_factory=list)

    def check(self, pick: random.Random) -> bytes:
        """The body of a check."""
        text = pick.choice(self.plans)
        if pick.randrange(100) < self.fresh:
            text = text.replace(b"operator 7", b"operator %d" % pick.randrange(10**6, 10**7))
        return b'{"old": {"job": "%s"}, "new": {"plan": %s}}' % (pick.choice(self.jobs).encode(), text)


def names(operators: int, first: str = "") -> list[str]:
    """Names such that the plan has that many operators: a source, a sink, and these."""
    return [*([first] if first else []), *(f"operator {number}" for number in range(operators - 2 - bool(first)))]


def connect(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)


def ask(connection: http.client.HTTPConnection, token: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} | ({"Content-Type": "application/json"} if body else {})
    connection.request("POST" if body else "GET", path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


Asked = tuple[str, float, int]
"""A request: its kind, the seconds it took, its status."""


def client(target: Target, end: float, seed: int, results: list[Asked], kinds: tuple[int, int, int]) -> None:
    """One client, until ``end``."""
    pick, connection = random.Random(seed), connect(target.url)
    while time.time() < end:
        (kind,) = pick.choices(KINDS, kinds)
        named = {"job": pick.choice(target.jobs), "check": pick.choice(target.checks)}
        body = target.check(pick) if kind == "check" else None
        path = {"check": "/api/v1/checks", "read": pick.choice(READS), "page": pick.choice(PAGES)}[kind].format(**named)
        started = time.perf_counter()
        status, _ = ask(connection, target.token, path, body)
        results.append((kind, time.perf_counter() - started, status))


def clients(
    target: Target, end: float, seeds: list[int], kinds: tuple[int, int, int], out: multiprocessing.Queue
) -> None:
    """Some clients as threads of this process."""
    results: list[Asked] = []
    threads = [threading.Thread(target=client, args=(target, end, seed, results, kinds)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(results)


def mixed(
    target: Target, number: int, seconds: float, kinds: tuple[int, int, int] = (40, 40, 20)
) -> Callable[[], list[Asked]]:
    """Start ``number`` clients for so long; gives what waits for them and collects."""
    out: multiprocessing.Queue = multiprocessing.Queue()
    shares = [list(range(place, number, PROCESSES)) for place in range(min(PROCESSES, number))]
    end = time.time() + seconds
    processes = [multiprocessing.Process(target=clients, args=(target, end, share, kinds, out)) for share in shares]
    for process in processes:
        process.start()
    return lambda: [one for _ in processes for one in out.get()]


def in_process(old: bytes, new: bytes, seconds: float) -> list[tuple[float, float]]:
    """The times of the same check, from the texts of the plans to the text of the report: by the clock, of the processor."""
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
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


def memory(running: Running) -> str:
    """Resident megabytes of the server, and of its processes together."""
    below = 0
    for child in children(running):
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        below += next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return f"server {running.rss() / 1e6:.0f} MB, processes {below * 1024 / 1e6:.0f} MB"


def quantiles(times: list[float]) -> str:
    if len(times) < 2:
        return "-"
    cuts = [cut * 1e3 for cut in statistics.quantiles(times, n=100)]
    return f"p50 {cuts[49]:6.1f} ms, p95 {cuts[94]:6.1f} ms, p99 {cuts[98]:6.1f} ms, max {max(times) * 1e3:5.0f} ms"


def fill(running: Running, plans: list[bytes], fresh: int) -> Target:
    """Jobs with a version that runs, and each plan checked against it once."""
    jobs = [f"job-{number}" for number in range(JOBS)]
    push = connect(running.url)
    for job in jobs:
        for path, body in (("versions", b'{"plan": %s}' % plans[0]), ("promotions", b"{}")):
            status, text = ask(push, running.tokens["push"], f"/api/v1/jobs/{job}/{path}", body)
            assert status in (200, 201), text
    target = Target(running.url, running.tokens["push"], jobs, plans[1:], fresh)
    for job in jobs:
        for text in target.plans:
            body = b'{"old": {"job": "%s"}, "new": {"plan": %s}}' % (job.encode(), text)
            status, answer = ask(push, target.token, "/api/v1/checks", body)
            assert status == 201, answer
            target.checks.append(json.loads(answer)["check"]["id"])
    return target


def bench(operators: int, crowds: list[int], seconds: float, fresh: int) -> None:
    """The mix with plans of so many operators, for each number of clients."""
    texts = [
        json.dumps(plan(*names(operators, f"inserted {number}" * bool(number)))).encode() for number in range(PLANS + 1)
    ]
    print(
        f"\nplans of {operators} operators, {len(texts[1]) / 1e3:.0f} kB each; {fresh} % of the checks never seen before"
    )
    before = in_process(texts[0], texts[1], 3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        running = serve(Path(folder), "--workers", str(os.cpu_count() or 1))
        try:
            target = fill(running, texts, fresh)
            for crowd in crowds:
                worked = processor(running)
                asked = mixed(target, crowd, seconds)()
                rows.append((crowd, asked, processor(running) - worked, memory(running)))
        finally:
            running.stop()
    both = (*before, *in_process(texts[0], texts[1], 3))
    alone, alone_worked = (statistics.median(each) for each in zip(*both, strict=True))
    print(
        f"in process: {1 / alone:.1f} checks/s on one core ({alone * 1e3:.1f} ms, of the processor {alone_worked * 1e3:.1f} ms)"
    )
    for crowd, asked, worked, held in rows:
        wrong = [status for _, _, status in asked if status not in (200, 201)]
        rate, checks = len(asked) / seconds, sum(kind == "check" for kind, _, _ in asked) / seconds
        print(
            f"{crowd} clients: {rate:.1f} requests/s, errors {len(wrong)} {sorted(set(wrong))}; checks/s to in process "
            f"{checks * alone:.2f}; processor time a request to an in-process check "
            f"{worked / len(asked) / alone_worked:.2f}; {held}"
        )
        for kind in KINDS:
            print(f"    {kind:5} {quantiles([took for one, took, _ in asked if one == kind])}")


def beside_a_large_one() -> None:
    """Reads and small checks while two plans of 10,000 operators are checked."""
    small = [json.dumps(plan(*names(50, f"inserted {number}" * bool(number)))).encode() for number in range(PLANS + 1)]
    large = json.dumps(
        {"old": {"plan": plan(*names(LARGE))}, "new": {"plan": plan(*names(LARGE, "inserted"))}}
    ).encode()
    with tempfile.TemporaryDirectory() as folder:
        running = serve(Path(folder), "--workers", str(os.cpu_count() or 1))
        try:
            target = fill(running, small, 0)
            waiting = mixed(target, 8, 30, (50, 50, 0))
            started = time.perf_counter()
            status, _ = ask(connect(running.url), target.token, "/api/v1/checks", large)
            took = time.perf_counter() - started
            asked = waiting()
        finally:
            running.stop()
    print(
        f"\na check of {LARGE} operators ({len(large) / 1e6:.0f} MB, status {status}) took {took:.1f} s; beside it, 8 clients:"
    )
    for kind in KINDS[:2]:
        print(f"    {kind:5} {quantiles([each for one, each, _ in asked if one == kind])}")


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--seconds", type=float, default=15)
    given.add_argument("--clients", default="1,8,32,128")
    given.add_argument("--operators", default="50,500")
    given.add_argument("--fresh", type=int, default=0)
    given.add_argument("--no-large", action="store_true")
    options = given.parse_args()
    for operators in map(int, options.operators.split(",")):
        bench(operators, [int(text) for text in options.clients.split(",")], options.seconds, options.fresh)
    if not options.no_large:
        beside_a_large_one()


if __name__ == "__main__":
    main()
