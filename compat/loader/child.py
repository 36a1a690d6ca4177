"""The child processes: each runs one program with our API in place of PyFlink's, and writes what it submitted.

A program's own output is discarded; the result goes to a file descriptor. Its process ends at once when the result is
written, even if the program left threads behind.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compat.compiler.own_code import is_library, is_our_file, is_our_module
from compat.loader import runtime_file, shown
from compat.loader.absent.late import LateWatch
from compat.loader.absent.table import TABLE_API, root_of
from compat.loader.absent.values import AbsentModule
from compat.loader.crashes import crash_of, fault_of
from compat.loader.descendants import end_all_below, keep_orphans
from compat.loader.digests import of_file, of_python
from compat.loader.endless import Endless, end_behind_jobs
from compat.loader.former import uses
from compat.loader.layout import Layout
from compat.loader.main_module import layout_of, prepare, run_as_main
from compat.loader.request import BEGUN, END, Crash, Lack, Lacking, Loaded, Request, requests_from_json
from compat.loader.steadiness import is_steady
from compat.loader.watched import Watched
from compat.loader.world import World
from compat.state.model.job import Plan, Refused

if TYPE_CHECKING:
    from compat.compiler.datastream.program import Program


class _Submissions:
    """Takes the jobs of a program and compiles each; the program goes on as if they had run and given nothing."""

    def __init__(
        self, request: Request, show_path: Callable[[str], str], watch: LateWatch | None, world: World
    ) -> None:
        from compat.plan.encode import Encoding

        self.plans: list[Plan | Refused] = []
        self.refusals: list[BaseException] = []
        self._noted = 0
        self._flink = request.flink
        self._world = world
        self._encoding = Encoding(call_open=request.call_open, show_path=show_path)
        if watch is not None:
            self._encoding = replace(self._encoding, opening=watch.opening)

    def submit(self, job: Any) -> object:
        """Compile a job. Raises Flink's refusal, as a submission would."""
        from compat.compiler.datastream.common.job_client import JobClient
        from compat.compiler.driver import compile_job
        from compat.compiler.shipping import check_functions
        from compat.plan.assumed import with_otherwise
        from compat.plan.encode import encode, with_assumed

        self._noted = len(job.beyond)
        check_functions(job.pipeline)
        compilation = compile_job(replace(job, settings=replace(job.settings, flink=self._flink)))
        plan = encode(compilation, self._encoding)
        if isinstance(plan, Plan):
            plan = with_assumed(with_otherwise(plan, compilation, self._encoding), self._world.read)
        self.plans.append(plan)
        if compilation.error is not None:
            self.refusals.append(compilation.error)
            raise compilation.error
        return JobClient()

    def end(self, program: Program) -> None:
        """The program came to its end: what it used behind its last job and PyFlink lacks is told with that job."""
        from msgspec import structs

        from compat.plan.encode import as_beyond

        if self.plans and isinstance(self.plans[-1], Plan) and not program.on_spark:
            behind = as_beyond(list(program.beyond.items())[self._noted :], "ended", self._encoding)
            self.plans[-1] = structs.replace(self.plans[-1], beyond=(*self.plans[-1].beyond, *behind))

    def refuse(self, error: Any) -> None:
        """Keep a refusal that came before the job was submitted."""
        from msgspec import structs

        from compat.compiler.driver import Compilation
        from compat.plan.encode import encode

        self.refusals.append(error)
        self.plans.append(structs.replace(encode(Compilation(None, error=error), self._encoding), flink=self._flink))


def run(request: Request) -> Loaded:
    """Load the program of a request."""
    show_path = shown.show_path(request.path, request.shown, request.root, request.root_shown, request.folder)
    if request.topology:
        from compat.loader.topology import load_topology

        plan = load_topology(request, show_path)
        return Loaded(plans=(replace(plan, program=of_file(request.path)),), steady=True)
    from compat.compiler.configuration import DEFAULT_PARALLELISM
    from compat.compiler.errors import NeedsPyFlink, ProgramError

    watch = None if request.strict_imports else LateWatch(show_path)
    world = World(request.arguments, request.environment)
    recorder = _Submissions(request, show_path, watch, world)
    program = prepare(recorder, request.options, parallelism=DEFAULT_PARALLELISM, flink=request.flink, planning=True)
    crash: Crash | None = None
    steady = False
    watched = Watched(request.watched) if request.watched else None
    layout: Layout | None = None
    waited: list[tuple[str, int]] = []
    try:
        _surround(request)
        moved = (request.taken_from, request.root) if request.taken_from else None
        layout = layout_of(request.path, request.pyfiles, request.root, moved)
        world.watch_environment()
        waited = end_behind_jobs(
            lambda: len(recorder.plans), lambda file: not is_our_file(file) and not is_library(file)
        )
        steady = _run_program(request, layout, watch, world)
        _check_uses(watch)
    except Endless:
        pass  # the program is judged by the jobs before
    except NeedsPyFlink as error:
        return _needing(error, request, show_path)
    except ProgramError as error:
        if error not in recorder.refusals:
            recorder.refuse(error)
    except BaseException as error:
        if _asks_for_java(error) or _lacks_a_name_of_the_table_api(error):
            return _needing(error, request, show_path)
        refused = watch.refusals if watch is not None else ()
        if refused and refused[0].module == TABLE_API:
            return _needing(refused[0], request, show_path)
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            crash = crash_of(error, show_path, layout, request.flink)
        elif refused:
            crash = crash_of(refused[0], show_path, layout, request.flink)
    if crash is not None and not (crash.hint or crash.fault or _is_certain(crash.lacks)):
        missed = world.missed(crash.message)
        if missed is not None and missed not in crash.message and not request.runtime_properties:
            crash = _without_properties(crash, request.path)  # more likely than a variable that is not named
        if missed is not None and crash.hint is None:
            crash = replace(crash, lacks=Lack(what=Lacking.VARIABLE, name=missed))
    if crash is not None and not request.runtime_properties:
        crash = _without_properties(crash, request.path)
    recorder.end(program)
    absent = () if watch is None else watch.modules
    loads = None if watched is None else watched.told(request.path)
    digest = None if layout is None else of_python(request.path, layout)
    plans = tuple(replace(plan, program=digest) for plan in recorder.plans)
    endless = "".join(f"{show_path(file)}:{line}" for file, line in waited)
    return Loaded(plans=plans, crash=crash, steady=steady, absent=absent, loads=loads, endless=endless)


def _is_certain(lack: Lack | None) -> bool:
    """Whether what a program was not given is known."""
    return lack is not None and lack.what is not Lacking.PERHAPS_ARGUMENTS


def _without_properties(crash: Crash, path: str) -> Crash:
    """The crash of a program that may lack the file of AWS's service: it names that, and no other cause is known."""
    known = crash.hint or crash.fault or (crash.lacks is not None and crash.lacks.name != runtime_file.PLACE)
    with open(path, "rb") as file:
        if known or not runtime_file.wants(file.read()):
            return crash
    lacks = Lack(what=Lacking.FILE, name=runtime_file.PLACE, places=runtime_file.beside(path) or "")
    return replace(crash, hint=runtime_file.hint(path), lacks=lacks)


def _needing(error: BaseException, request: Request, show_path: Callable[[str], str]) -> Loaded:
    """The result for a program that PyFlink itself has to build, with what asked for that."""
    with open(request.path, "rb") as file:
        former = tuple(uses(file.read()))
    return Loaded(plans=(), needs_pyflink=crash_of(error, show_path, flink=request.flink), former=former)


def _asks_for_java(error: BaseException) -> bool:
    """Whether a program reached for an object of Java behind one of PyFlink's."""
    return (
        isinstance(error, AttributeError)
        and str(error.name).startswith("_j_")
        and is_our_module(type(error.obj).__module__)
    )


def _lacks_a_name_of_the_table_api(error: BaseException) -> bool:
    """Whether a program uses what ``from pyflink.table import *`` would have given."""
    modules = [module for name, module in list(sys.modules.items()) if root_of(name) == TABLE_API]
    return isinstance(error, NameError) and any(
        isinstance(module, AbsentModule) and module.asked_for_all for module in modules
    )


def _check_uses(watch: LateWatch | None) -> None:
    """Raise the refusal of a value of what is not installed, which the program passed over."""
    if watch is not None and watch.refusals:
        raise watch.refusals[0]


def _run_program(request: Request, layout: Layout, watch: LateWatch | None, world: World) -> bool:
    """Run the file; gives whether another start must give the same."""
    missing = None
    if watch is not None:
        from compat.loader.imports import let_table_api_stand

        missing = watch.find_spec
        sys.meta_path.append(watch)
        let_table_api_stand(watch.find_spec)
    ran = run_as_main(
        layout, request.arguments, missing=missing, argv=world.argv, properties=request.runtime_properties
    )
    return is_steady(ran.code, [module for module in ran.imported if not _is_ours(module)])


def _surround(request: Request) -> None:
    """Give the program the variables and the working directory that it is to have."""
    os.environ.update(request.environment)
    given = request.environment.get("PYTHONPATH", "")
    sys.path[:0] = [os.path.abspath(path) for path in given.split(os.pathsep) if path]
    if request.folder:
        os.chdir(request.folder)


def _is_ours(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return (
        isinstance(module, AbsentModule)
        or module.__name__.partition(".")[0] in ("pyflink", "cloudpickle")
        or is_our_module(module.__name__)
        or is_our_file(file or "")
    )


def main(arguments: list[str]) -> None:
    """Read requests from stdin, fork a process to carry out each, and end when all are done.

    The first argument lists two file descriptors per request, for its result and its output; the second is ``ahead`` if
    the imports of programs should not wait for the requests.
    """
    descriptors = [int(text) for text in arguments[0].split(",")]
    gc.disable()  # the processes live for one program
    _import_ahead(programs=arguments[1] == "ahead")
    keep_orphans()  # before any program runs: one that it leaves at once would be found no more
    text = sys.stdin.buffer.read()
    if not text:
        return
    requests = requests_from_json(text)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _import_ahead(programs=not all(request.topology for request in requests))
    pids = []
    for place, request in enumerate(requests):
        pid = os.fork()
        if pid == 0:
            mine = descriptors[2 * place : 2 * place + 2]
            for descriptor in descriptors:
                if descriptor not in mine:
                    os.close(descriptor)
            _serve(request, *mine)
        pids.append(pid)
    for descriptor in descriptors:
        os.close(descriptor)
    os.close(2)  # it is the first program's, which must see the end of it
    for pid in pids:
        os.waitpid(pid, 0)
    end_all_below(os.getpid())
    os._exit(0)


def _import_ahead(programs: bool) -> None:
    """Import once what every request needs, and what every program needs."""
    import compat.compiler.streamgraph.generator
    import compat.plan.encode

    if programs:
        import tomllib  # noqa: F401 - pyproject.toml tells where modules are

        import cloudpickle  # noqa: F401 - functions are pickled to see whether they can be

        import compat.compiler.datastream.connectors
        import compat.compiler.datastream.data_stream
        import compat.compiler.datastream.state
        import compat.compiler.datastream.stream_execution_environment  # noqa: F401
        from compat.loader.imports import serve_pyflink

        serve_pyflink()


def _serve(request: Request, result_end: int, errors_end: int) -> None:
    for standard in (1, 2):
        os.dup2(errors_end, standard)
    if request.dump_at:
        faulthandler.dump_traceback_later(max(request.dump_at - time.monotonic(), 0.001))
    with open(result_end, "wb", closefd=False) as file:
        file.write(BEGUN)
        file.flush()
        try:
            result = run(request).to_json()
        except Exception as error:
            result = Loaded(plans=(), crash=fault_of(error)).to_json()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        file.write(result + END)
    os._exit(0)
