"""The command line: one file per command, listed here.

A command module has ``add_arguments(parser)`` and ``run(args) -> int``; it is imported only when
it is called, so that ``tickless --help`` is instant.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from tickless._extras import EXTRAS
from tickless.errors import TicklessError, TicklessWarning

COMMANDS = {
    "compare": "compare benchmark results with a baseline: the tables kernel people post",
    "list": "show what is registered: governors, machines ...",
    "replay": "ask governors what they would have chosen on a trace",
    "simulate": "run a workload on kernels of a simulated machine and compare them",
    "timeline": "script one run queue and see who runs when",
    "read": "read any supported file and say what is in it",
    "validate": "check the installed package against a directory of golden data",
}
"""Name and one-line summary of every command; the module has the same name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program name; ``sys.argv[1:]`` if None.

    Returns
    -------
    int
        0 fine, 1 a check failed, 2 bad input, 130 interrupted.
    """
    _prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # Damage that could be read around is no failure, whatever ``python -W`` says of others.
        warnings.simplefilter("default", TicklessWarning)
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = _parse(sys.argv[1:] if argv is None else [*argv])
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except TicklessError as e:
        print(f"tickless: {e}", file=sys.stderr)
        return 2
    except FileNotFoundError as e:
        print(f"tickless: {e.filename}: no such file or directory", file=sys.stderr)
        return 2
    except OSError as e:
        if isinstance(e, BrokenPipeError):
            # The reader of our output left (``| head``): say nothing, and keep the interpreter
            # from complaining when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"tickless: {e.filename or ''}: {e.strerror or e}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as e:
        package = (e.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        print(f"tickless: needs {package}: pip install 'tickless[{extra}]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _prepare_streams() -> None:
    """Let any text be printed anywhere: closed streams swallow it, others get escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _parse(argv: list[str]) -> argparse.Namespace:
    import tickless

    parser = argparse.ArgumentParser(
        prog="tickless",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        description="Replay, simulate and compare CPU-idle governors and schedulers of Linux.",
        epilog="commands:\n" + "".join(f"  {n:<10}{s}\n" for n, s in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tickless {tickless.__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    if not argv:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    first = parser.parse_args(argv[:1])
    module = import_module(f"tickless.cli.{first.command}")
    command = argparse.ArgumentParser(
        prog=f"tickless {first.command}", description=COMMANDS[first.command]
    )
    module.add_arguments(command)
    # Names may follow options: ``tickless replay trace.txt --machine this menu teo``.
    args = command.parse_intermixed_args(argv[1:])
    args.run = module.run
    return args


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    print(f"tickless: warning: {message}", file=sys.stderr)
