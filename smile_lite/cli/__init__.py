"""The command line: one file a command, each loaded when it is called, so that --help is quick."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from importlib import import_module, metadata
from typing import TYPE_CHECKING, NoReturn

import click

from smile_lite import __version__
from smile_lite.errors import SmileLiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cli", "main"]

# name -> (module, what --help says in one line)
_COMMANDS = {
    "score": ("smile_lite.cli.score", "Grade a file of answers."),
    "prepare": ("smile_lite.cli.prepare", "Make what does not depend on predictions, once for many systems."),
    "explain": ("smile_lite.cli.explain", "Grade one answer and show every part."),
    "models": ("smile_lite.cli.models", "List, pull, locate and verify models."),
    "doctor": ("smile_lite.cli.doctor", "Say what this machine and installation can do."),
}
_GROUP = "smile_lite.commands"  # entry points: how other packages (the export toolchain) add commands
_INTERNAL, _INTERRUPTED, _TERMINATED, _READER_GONE = 70, 130, 143, 141  # the last two as a shell reports the signals


class _LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*_COMMANDS, *sorted(_added_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _COMMANDS:
            command = import_module(_COMMANDS[cmd_name][0]).command
            return command if isinstance(command, click.Command) else None
        added = _added_commands().get(cmd_name)
        return None if added is None else added.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        added = {name: f"(from {point.value.partition('.')[0]})" for name, point in _added_commands().items()}
        rows = [(name, _COMMANDS[name][1] if name in _COMMANDS else added[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _added_commands() -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=_GROUP) if point.name not in _COMMANDS}


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="smile-lite")
def cli() -> None:
    r"""Grade answers to questions on a CPU, with SMILE (arXiv 2511.17432).

    \b
    smile-lite score answers.jsonl -o scored.jsonl
    smile-lite explain -q "Capital of France?" -r Paris -p "It is Paris."

    Exit codes: 0 done, 1 a gate failed, 2 usage or input, 3 a model is missing or damaged, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit. What goes wrong is one line on standard error, never a traceback.

    SMILE_LITE_DEBUG=1 shows the traceback of an error that is the program's own (exit 70).
    """
    _mend_streams()
    signal.signal(signal.SIGTERM, _terminate)
    if "_SMILE_LITE_COMPLETE" in os.environ:  # shell completion is click's business
        cli.main(args=arguments, prog_name="smile-lite")
    words = [_recoded(word) for word in (sys.argv[1:] if arguments is None else arguments)]
    try:
        with cli.make_context("smile-lite", words) as context:
            cli.invoke(context)
        sys.stdout.flush()
        sys.exit(0)
    except click.exceptions.Exit as stop:  # --help and --version
        sys.exit(stop.exit_code)
    except SmileLiteError as error:
        _fail(str(error), error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail("interrupted", _INTERRUPTED)
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        with contextlib.suppress(OSError):
            print("\n".join(map(_shown, told.getvalue().rstrip("\n").split("\n"))), file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # who reads our output has had enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(_READER_GONE)
    except OSError as error:
        _fail(f"{error.filename or 'standard output'}: {error.strerror or error}", 2)
    except Exception as error:
        if os.environ.get("SMILE_LITE_DEBUG"):
            raise
        _fail(
            f"internal error, {type(error).__name__}: {error} (please report it; SMILE_LITE_DEBUG=1 shows where)",
            _INTERNAL,
        )


def _terminate(*_: object) -> NoReturn:
    """SIGTERM ends the program as an exception does: temporary files go."""
    sys.exit(_TERMINATED)


def _mend_streams() -> None:
    """Closed streams become empty ones; output is UTF-8 with bare line feeds, whatever locale and platform say."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - for the whole run
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    if hasattr(sys.stderr, "reconfigure"):
        sys.stderr.reconfigure(errors="backslashreplace")


def _recoded(word: str) -> str:
    """An argument that Python could not decode in an ASCII locale, as the UTF-8 that it is."""
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def _fail(message: str, code: int) -> NoReturn:
    with contextlib.suppress(OSError):
        print(f"smile-lite: {_shown(message)}", file=sys.stderr)
    sys.exit(code)


def _shown(message: str) -> str:
    """The message on one line, harmless to a terminal: what cannot be printed comes as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode-escape").decode() for char in message)
