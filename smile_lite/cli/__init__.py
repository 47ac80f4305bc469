"""The command line: one file a command, each loaded when it is called, so that --help is quick."""

from __future__ import annotations

import os
import sys
from importlib import import_module, metadata
from typing import TYPE_CHECKING

import click

from smile_lite import __version__
from smile_lite.errors import SmileLiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cli", "main"]

# name -> (module, what --help says in one line)
_COMMANDS = {
    "score": ("smile_lite.cli.score", "Grade a file of answers."),
    "explain": ("smile_lite.cli.explain", "Grade one answer and show every part."),
    "models": ("smile_lite.cli.models", "List, pull, locate and verify models."),
    "doctor": ("smile_lite.cli.doctor", "Say what this machine and installation can do."),
}
_GROUP = "smile_lite.commands"  # entry points: how other packages (the export toolchain) add commands


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. An error of ours is one line on standard error, never a traceback."""
    try:
        code = cli.main(args=arguments, prog_name="smile-lite", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except SmileLiteError as error:
        _fail(f"smile-lite: {error}", error.exit_code)
    except click.exceptions.Abort:
        _fail("smile-lite: interrupted", 130)
    except KeyboardInterrupt:
        _fail("smile-lite: interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Who reads our output has had enough (`| head`): not an error of ours, and nothing to print to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(f"smile-lite: {error.filename or ''}{': ' if error.filename else ''}{error.strerror or error}", 2)


def _fail(message: str, code: int) -> None:
    click.echo(message.encode("utf-8", "replace").decode("utf-8"), err=True)
    sys.exit(code)
