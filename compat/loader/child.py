"""The child processes: each runs one program with our API in the place of PyFlink's, and writes what it submitted.

A program's own output goes nowhere; the result goes to a file descriptor. Its process ends at once when the result is
written, whatever threads the program left behind.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import Any

from compat.compiler.ours import is_machinery, is_our_file, is_our_module, namesake
from compat.loader import shown
from compat.loader.descendants import end_all_below, keep_orphans
from compat.loader.main_module import prepare, run_as_main
from compat.loader.request import END, Crash, Frame, Loaded, Request, clipped, requests_from_json
from compat.loader.steadiness import is_steady
from compat.plan.model import Plan, Refused

MOST_OF_A_LINE = 500


class _Submissions:
    """Takes the jobs of a program and compiles each; the program goes on as if they had run and given nothing."""

    def __init__(self, request: Request, show_path: Callable[[str], str]) -> None:
        from compat.plan.encode import Encoding

        self.plans: list[Plan | Refused] = []
        self.refusals: list[BaseException] = []
        self._flink = request.flink
        self._encoding = Encoding(call_open=request.call_open, show_path=show_path)

    def submit(self, job: Any) -> object:
        """Compile a job. Raises Flink's refusal, as a submission would."""
        from dataclasses import replace

        from compat.compiler.datastream.common.job_client import JobClient
        from compat.compiler.driver import compile_job
        from compat.compiler.shipping import check_functions
        from compat.plan.encode import encode

        check_functions(job.pipeline)
        compilation = compile_job(replace(job, settings=replace(job.settings, flink=self._flink)))
        self.plans.append(encode(compilation, self._encoding))
        if compilation.error is not None:
            self.refusals.append(compilation.error)
            raise compilation.error
        return JobClient()

    def refuse(self, error: Any) -> None:
        """Keep a refusal that came before the job was submitted."""
        from msgspec.structs import replace

        from compat.compiler.driver import Compilation
        from compat.plan.encode import encode

        self.refusals.append(error)
        self.plans.append(replace(encode(Compilation(None, error=error), self._encoding), flink=self._flink))


def run(request: Request) -> Loaded:
    """Load the program of a request."""
    show_path = shown.show_path(request.path, request.shown, request.root, request.root_shown)
    if request.topology:
        from compat.loader.topology import load_topology

        return Loaded(plans=(load_topology(request, show_path),), steady=True)
    from compat.compiler.errors import NeedsPyFlink, ProgramError

    recorder = _Submissions(request, show_path)
    prepare(recorder, request.options, flink=request.flink)
    crash: Crash | None = None
    steady = False
    try:
        steady = _run_program(request)
    except NeedsPyFlink as error:
        return Loaded(plans=(), needs_pyflink=_crash(error, request, show_path))
    except ProgramError as error:
        if error not in recorder.refusals:
            recorder.refuse(error)
    except SystemExit as error:
        if error.code not in (None, 0):
            crash = _exit_crash(error)
    except BaseException as error:
        crash = _crash(error, request, show_path)
    return Loaded(plans=tuple(recorder.plans), crash=crash, steady=steady)


def _run_program(request: Request) -> bool:
    """Run the file; gives whether another start must give the same."""
    ran = run_as_main(request.path, request.arguments)
    return is_steady(ran.code, [module for module in ran.imported if not _is_ours(module)])


def _is_ours(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return (
        module.__name__.partition(".")[0] in ("pyflink", "cloudpickle")
        or is_our_module(module.__name__)
        or is_our_file(file or "")
    )


def _exit_crash(error: SystemExit) -> Crash:
    code = error.code
    message = f"The program called sys.exit({code!r})." if isinstance(code, int) else _text(code)
    return Crash(type="SystemExit", message=clipped(message), frames=())


def _crash(error: BaseException, request: Request, show_path: Callable[[str], str]) -> Crash:
    hint = _namesake_hint(error, show_path) or _version_hint(error, request.flink)
    if hint is None and isinstance(error, ModuleNotFoundError):
        hint = f"Install what provides the module {error.name!r} into the environment that runs compat."
    frames = [
        Frame(file=show_path(file), line=line, function=function, text=clipped(_line(file, line), MOST_OF_A_LINE))
        for file, line, function in _own_frames(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename is not None:
        frames.append(
            Frame(
                file=show_path(error.filename),
                line=error.lineno or 1,
                function="<module>",
                text=clipped((error.text or "").rstrip("\n"), MOST_OF_A_LINE),
            )
        )
    message = error.msg if isinstance(error, SyntaxError) else _text(error)
    if isinstance(error, TypeError):
        from compat.compiler.datastream.served import without_inner_names

        message = without_inner_names(message)
    return Crash(type=type(error).__name__, message=clipped(message), frames=tuple(frames[-20:]), hint=hint)


def _text(value: object) -> str:
    """What an object of the program says that it is; its own code may fail."""
    try:
        return str(value)
    except BaseException as error:
        return f"(it cannot be told: its __str__ raised {type(error).__name__})"


def _namesake_hint(error: BaseException, show_path: Callable[[str], str]) -> str | None:
    """Advice for a program that looks for its own ``compat`` and finds ours."""
    if isinstance(error, ImportError):
        concerned = is_our_module(error.name or "")
    else:
        concerned = isinstance(error, AttributeError) and error.obj is sys.modules["compat"]
    path = namesake(sys.path) if concerned else None
    if path is None:
        return None
    return f"Rename {show_path(path)}, or move it into a package: in a program that compat loads, 'compat' is its own package."


def _version_hint(error: BaseException, flink: str) -> str | None:
    """Advice for a program that imports what only the PyFlink of another version has."""
    if not isinstance(error, ImportError) or not (error.name or "").startswith("pyflink"):
        return None
    from compat.compiler.datastream.served import versions_with

    name = re.search(r"cannot import name '(\w+)'", str(error))
    others = [other for other in versions_with(error.name or "", name[1] if name else "") if other != flink]
    if not others:
        return f"PyFlink {flink} has no such name."
    return f"PyFlink {others[0]} has it, and {flink} has not: say --flink {others[0]} if that is what the job runs on."


def _own_frames(traceback: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    """The frames of the program: not ours, nor those of the import machinery."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_machinery(code.co_filename):
            yield code.co_filename, traceback.tb_lineno, code.co_name
        traceback = traceback.tb_next


def _line(file: str, line: int) -> str:
    import linecache

    return linecache.getline(file, line).strip()


def main(arguments: list[str]) -> None:
    """Read requests from stdin, fork for each, do what it asks there, and end when all are done.

    The first argument lists two file descriptors a request, for its result and for what it says on stderr; the second is
    ``ahead`` if the imports of programs shall not wait for the requests.
    """
    descriptors = [int(text) for text in arguments[0].split(",")]
    gc.disable()  # the processes live for one program
    _import_ahead(programs=arguments[1] == "ahead")
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
    keep_orphans()  # nobody waits for this: the programs run already
    for pid in pids:
        os.waitpid(pid, 0)
    end_all_below(os.getpid())
    os._exit(0)


def _import_ahead(programs: bool) -> None:
    """Import once what every request needs, and what every program needs."""
    import compat.compiler.streamgraph.generator
    import compat.plan.encode

    if programs:
        import compat.compiler.datastream.connectors
        import compat.compiler.datastream.data_stream
        import compat.compiler.datastream.state
        import compat.compiler.datastream.stream_execution_environment  # noqa: F401
        from compat.loader.imports import serve_pyflink

        serve_pyflink()


def _serve(request: Request, result_end: int, errors_end: int) -> None:
    os.dup2(errors_end, 2)
    if request.dump_after > 0:
        faulthandler.dump_traceback_later(request.dump_after)
    result = run(request)
    with open(result_end, "wb", closefd=False) as file:
        file.write(result.to_json() + END)
    os._exit(0)
