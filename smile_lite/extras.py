"""One guard for every optional package: import it, or say the exact pip command that brings it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from smile_lite.errors import ExtraMissing

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, which the extra `extra` installs.

    Raises ExtraMissing where it is not installed, with `purpose` ("converting a model") in the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is there; something that it needs is broken, and that message is the useful one
        raise ExtraMissing(
            f"{purpose} needs the package {package}: pip install 'smile-lite[{extra}]'", name=package
        ) from None
