"""``compat run`` and the commands for jobs that run: ``list``, ``savepoint``, ``stop``, ``cancel``, ``state``."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click

from compat.cli.options import parse_definitions, split

FAILED, REFUSED = 1, 2
DEFAULT_STORE = ".compat"
_MISSING = (
    "Running jobs needs Spark and Delta, and {name!r} is not installed: pip install 'stream-compat[spark]' "
    "(and a Java runtime 17 or later)."
)

_store = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, envvar="COMPAT_STORE", help="Where jobs keep their state."
)


@click.command("run")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option("-s", "--fromSavepoint", "savepoint", metavar="PATH", help="Restore from a savepoint or checkpoint.")
@click.option("-n", "--allowNonRestoredState", "allow_non_restored", is_flag=True, help="State may be left behind.")
@click.option("-p", "--parallelism", type=click.IntRange(1), help="Where the program sets none.")
@click.option("-d", "--detached", is_flag=True, help="Return as soon as the job runs.")
@_store
@click.option("--master", metavar="URL", help="A Spark master; Spark inside this process by default.")
@click.option("-D", "definitions", multiple=True, metavar="KEY=VALUE", help="An option of Flink or of Spark.")
@click.option("--args", "arguments", help="Arguments of the program.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="What to print.")
@click.option("--epochs", type=click.IntRange(1), help="Stop with a savepoint after so many epochs.")
@click.option("--epoch-records", type=click.IntRange(1), help="Records that a source gives in an epoch, at most.")
def run(job: str, **options: Any) -> None:
    """Run a program on Spark; its state is kept in Delta.

    Exit codes: 0 finished or stopped as asked, 1 the job failed, 2 refused before it started.

    Example: compat run job.py -s .compat/savepoints/savepoint-1a2b3c-…
    """
    if options["detached"]:
        _detach(options["store"])
    sys.exit(_Run(job, options).run())


class _Run:
    """One program, run in this process as ``python JOB ARGUMENTS`` would."""

    def __init__(self, job: str, options: dict[str, Any]) -> None:
        self._job = job
        self._options = options
        self._json = options["output"] == "json"
        self._last_path: str | None = None
        self._shown = 0.0

    def run(self) -> int:
        try:
            from compiler.spark.executor import SparkExecutor
            from compiler.spark.master import JobFailed, RunOptions
            from compiler.spark.restore import RestoreRefused
            from state.delta.log import StoreError
        except ModuleNotFoundError as error:
            return self._refused(_MISSING.format(name=error.name))
        from compat.loader.imports import serve_pyflink
        from compiler.datastream import executor
        from compiler.datastream._program import reset, set_default_options, set_default_parallelism
        from compiler.errors import ProgramError

        options = self._options
        serve_pyflink()
        reset()
        set_default_options(parse_definitions(options["definitions"]))
        set_default_parallelism(options["parallelism"])
        runner = SparkExecutor(
            options["store"],
            master=options["master"],
            options=RunOptions(
                savepoint=options["savepoint"],
                allow_non_restored=options["allow_non_restored"],
                epochs=options["epochs"],
                epoch_records=options["epoch_records"],
                program=os.path.abspath(self._job),
                snapshot_plan=_plan_of,
                worker_setup=serve_pyflink,
                worker_folders=(os.path.dirname(os.path.abspath(self._job)),),
            ),
            listener=self._tell,
            printer=(lambda line: None) if self._json else _print,
        )
        executor.set_executor(runner)
        try:
            self._execute()
            for client in runner.clients:
                client.wait()
        except (RestoreRefused, StoreError, ProgramError) as error:
            return self._refused(str(error)) if not runner.clients else self._failed(str(error))
        except JobFailed as error:
            return self._failed(str(error))
        except KeyboardInterrupt:
            return self._failed("Interrupted. Run the same command again to go on from the last checkpoint.")
        except SystemExit as error:
            if error.code not in (None, 0):
                return self._failed(f"The program called sys.exit({error.code!r}).")
        except Exception as error:
            return self._crashed(error, started=bool(runner.clients))
        finally:
            runner.close()
        if not runner.clients:
            return self._refused("The program submits no job: call env.execute().")
        if self._last_path is not None and not self._json:
            _print(self._last_path)
        return 0

    def _execute(self) -> None:
        from types import ModuleType

        from compat.loader.shadows import keep_apart

        path = os.path.abspath(self._job)
        main = ModuleType("__main__")
        main.__file__ = path
        main.__builtins__ = __builtins__  # type: ignore[attr-defined]
        sys.modules["__main__"] = main
        sys.argv = [self._job, *split(self._options["arguments"])]
        sys.path.insert(0, os.path.dirname(path))
        keep_apart(os.path.dirname(path))
        exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)

    def _tell(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind in ("savepoint", "stopped") and event.get("path"):
            self._last_path = event["path"]
        if self._json:
            _print(json.dumps(event))
            return
        id = event["job_id"]
        if kind == "started":
            _say(f"Job {id} started ({event['name']})")
        elif kind == "checkpoint":
            self._progress(event)
        elif kind == "restarting":
            _say(f"Job {id} restarts in {event['delay']:g} s: {event['error'].splitlines()[-1]}")
        elif kind == "finished":
            _say(f"Job {id} finished: {event['records']} records")
        elif kind == "stopped":
            _say(f"Job {id} stopped")

    def _progress(self, event: dict[str, Any]) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now < self._shown + 0.5:
            return
        self._shown = now
        rate = event["records"] / max(event["seconds"], 1e-3)
        _say(
            f"epoch {event['epoch']}: {event['records']} records in {event['seconds']:.2f} s ({rate:,.0f}/s), "
            f"{event['changed']} changed entries"
        )

    def _failed(self, message: str) -> int:
        if self._json:
            _say(message)
        else:
            _say(f"The job failed.\n{message}")
        return FAILED

    def _refused(self, message: str) -> int:
        _say(message)
        return REFUSED

    def _crashed(self, error: Exception, *, started: bool) -> int:
        import traceback

        here = os.path.abspath(self._job)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == here]
        _say("".join([*traceback.format_list(own), *traceback.format_exception_only(type(error), error)]).rstrip())
        return FAILED if started else REFUSED


def _plan_of(job: Any) -> Any:
    from compat.plan.compilation import compile_job
    from compat.plan.encode import plan_json

    return plan_json(compile_job(job))


def _detach(store: str) -> None:
    """Go on in a child process that outlives this one; this one ends."""
    log = Path(store)
    log.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    if os.fork():
        time.sleep(0.2)
        os._exit(0)
    os.setsid()
    output = os.open(log / f"run-{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _print(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


def _say(text: str) -> None:
    click.echo(text, err=True)


@click.command("list")
@click.option("-a", "--all", "everything", is_flag=True, help="Also the jobs that have ended.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@_store
def list_jobs(everything: bool, form: str, store: str) -> None:
    """The jobs of a store."""
    from dataclasses import asdict

    from compiler.spark.store import JobStore

    entries = [entry for entry in JobStore(store).jobs() if everything or entry.alive]
    if form == "json":
        _print(json.dumps([{**asdict(entry), "alive": entry.alive} for entry in entries]))
        return
    if not entries:
        _print("No running jobs." if not everything else "No jobs.")
    for entry in entries:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started))
        state = entry.status if entry.alive or entry.ended else f"{entry.status}, driver lost"
        _print(f"{started} : {entry.job_id} : {entry.name} ({state}, epoch {entry.epoch})")


@click.command("savepoint")
@click.argument("job_id")
@click.argument("path", required=False)
@_store
def savepoint(job_id: str, path: str | None, store: str) -> None:
    """Write a savepoint of a running job; prints its path."""
    _print(_ask(store, job_id, "savepoint", path=path and os.path.abspath(path))["path"])


@click.command("stop")
@click.argument("job_id")
@click.option("-p", "--savepointPath", "path", help="Where the savepoint goes.")
@click.option("--drain", is_flag=True, help="Let all windows fire first: the job is not to go on.")
@_store
def stop(job_id: str, path: str | None, drain: bool, store: str) -> None:
    """Stop a job with a savepoint; prints its path."""
    _print(_ask(store, job_id, "stop", drain=drain, path=path and os.path.abspath(path))["path"])


@click.command("cancel")
@click.argument("job_id")
@_store
def cancel(job_id: str, store: str) -> None:
    """End a job without a savepoint."""
    _ask(store, job_id, "cancel")
    _say(f"Job {job_id} cancelled")


def _ask(store: str, job_id: str, action: str, **arguments: Any) -> dict[str, Any]:
    from compiler.spark.store import JobStore

    jobs = JobStore(store)
    entry = jobs.read(job_id)
    if entry is None:
        _refuse(f"There is no job {job_id} in the store {store}. compat list -a shows those there are.")
    if not entry.alive:
        _refuse(f"Job {job_id} is {entry.status} and not running.")
    answer = jobs.request(entry.job_id, action, **arguments)
    if "error" in answer:
        _say(answer["error"])
        sys.exit(FAILED)
    return answer


def _refuse(message: str) -> NoReturn:
    _say(message)
    sys.exit(REFUSED)


@click.command("state")
@click.argument("job")
@click.argument("operator")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@_store
def state(job: str, operator: str, form: str, store: str) -> None:
    """The state of an operator of a JOB-ID or a snapshot; OPERATOR is a uid, a name or an id."""
    from compiler.spark.inspection import UnknownOperator, state_rows
    from compiler.spark.store import JobStore
    from state.delta.log import StoreError

    entry = JobStore(store).read(job)
    path = job if entry is None else JobStore(store).state(entry.job_id)
    try:
        rows = state_rows(path, operator)
    except (StoreError, UnknownOperator) as error:
        _refuse(str(error))
    if form == "json":
        for row in rows:
            _print(json.dumps(row, default=repr))
        return
    for row in rows:
        window = "" if row["namespace"] is None else f" window={row['namespace']}"
        entry_key = "" if row["map_key"] is None else f"[{row['map_key']!r}]"
        _print(f"{row['state']} {row['key']!r}{window}{entry_key} = {row['value']!r}")
