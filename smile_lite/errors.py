"""Everything that can go wrong, as one tree; each class carries the exit code of the command line.

    SmileLiteError                    exit 2
    ├── InputError (ValueError)       exit 2   a row, a field or a file of the user's is wrong
    ├── UsageError (ValueError)       exit 2   options or arguments do not fit together
    ├── OutputError (OSError)         exit 2   a result cannot be written
    ├── ExtraMissing (ImportError)    exit 2   an optional package is not installed
    ├── GateFailed                    exit 1   --fail-under or --min-pass-rate was not reached
    └── ModelError                    exit 3
        ├── UnknownModel              exit 3   no manifest, folder or repository of that name
        ├── ModelUnavailable          exit 3   offline, unreachable, unwritable, or missing a file
        ├── ModelIntegrityError       exit 3   a file's bytes are not those its manifest names
        └── NoReply                   exit 3   a chat model answered with nothing that can be used

A message says what is wrong, where it is (file, line, field) and what to do next.
"""

from __future__ import annotations

__all__ = [
    "ExtraMissing",
    "GateFailed",
    "InputError",
    "ModelError",
    "ModelIntegrityError",
    "ModelUnavailable",
    "NoReply",
    "OutputError",
    "SmileLiteError",
    "UnknownModel",
    "UsageError",
]


class SmileLiteError(Exception):
    """Base of every error that smile-lite raises on purpose."""

    exit_code = 2


class InputError(SmileLiteError, ValueError):
    """A row, a field or a file given by the user is wrong.

    `file`, `line` (1-based) and `field` say where, as far as they are known; `unit` is "line", or "row" where what is
    read has no lines (Parquet, Python lists).
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        unit: str = "line",
    ) -> None:
        self.message, self.file, self.line, self.field, self.unit = message, file, line, field, unit
        where = [part for part in (file, f"{unit} {line}" if line is not None else None) if part]
        super().__init__(f"{', '.join(where)}: {message}" if where else message)

    def at(self, *, file: str | None = None, unit: str | None = None) -> InputError:
        """The same error, told with its file or unit."""
        return InputError(
            self.message, file=file or self.file, line=self.line, field=self.field, unit=unit or self.unit
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore_input_error, (self.message, self.file, self.line, self.field, self.unit))


def _restore_input_error(message: str, file: str | None, line: int | None, field: str | None, unit: str) -> InputError:
    return InputError(message, file=file, line=line, field=field, unit=unit)


class UsageError(SmileLiteError, ValueError):
    """Options or arguments are wrong or do not fit together."""


class OutputError(SmileLiteError, OSError):
    """A result cannot be written."""


class ExtraMissing(SmileLiteError, ImportError):
    """A feature needs an optional package; the message holds the exact pip command."""


class GateFailed(SmileLiteError):
    """The rows were graded and a gate was not reached."""

    exit_code = 1


class ModelError(SmileLiteError):
    """Something is wrong with a model."""

    exit_code = 3


class UnknownModel(ModelError):
    """No manifest, folder or repository goes by that name."""


class ModelUnavailable(ModelError):
    """A model cannot be had: offline, unreachable, unwritable, or a file of it is missing."""


class ModelIntegrityError(ModelError):
    """A file's bytes are not those that the manifest names."""


class NoReply(ModelError):
    """A chat model answered, and with nothing that can be used: an empty choice, broken JSON, a refused request."""
