"""A file's bytes as numbered lines of text: unpacked, in the encoding that was named, or the reason why not."""

from __future__ import annotations

import codecs
import io
import re
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError
from smile_lite.rows.fields import BadRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.rows.fields import FieldMap

__all__ = ["Content", "Source", "is_packed"]

Content = tuple[int, Any] | BadRow
_BYTE_ORDER_MARKS = {  # the longer first: that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8",
}
# RFC 4627, section 3: where the first two characters are ASCII, the zero bytes tell.
_ZERO_BYTES = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}
_NO_TEXT = {
    b"\x1f\x8b": "packed with gzip: let its name end in .gz, or unpack it",
    b"PK\x03\x04": "a ZIP archive or a workbook: unpack it, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "a workbook of an old kind: save it as CSV",
    b"PAR1\x15": "Parquet: use --input-format parquet",
    b"BZh91AY&SY": "packed with bzip2: unpack it",
    b"\xfd7zXZ\x00": "packed with xz: unpack it",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it",
    b"SQLite format 3\x00": "a database: export the rows as CSV or JSONL",
    b"%PDF-": "a PDF: there are no rows in it",
}
_UNDECODED = re.compile("[\udc00-\udcff]")
_KEEP_BYTES = "smile_lite.keep_bytes"


def _keep_bytes(error: UnicodeError) -> tuple[str, int]:
    """Each byte that no character comes of as a lone surrogate, which no encoding holds: found again in its line."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_KEEP_BYTES, _keep_bytes)


def is_packed(path: str | Path) -> bool:
    """Whether a file's name says that it is packed with gzip."""
    return Path(path).suffix.lower() == ".gz"


class _Heard(io.RawIOBase):
    """A stream whose reader is heard: `on_bytes` gets the number of bytes of each read. Closing it closes nothing."""

    def __init__(self, stream: IO[bytes], on_bytes: Callable[[int], object] | None) -> None:
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._on_bytes = on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._read(len(buffer))
        buffer[: len(chunk)] = chunk
        if self._on_bytes is not None:
            self._on_bytes(len(chunk))
        return len(chunk)


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and how. `name` is for messages."""

    path: str | Path
    name: str
    encoding: str
    fields: FieldMap
    skip_bad_rows: bool
    on_bytes: Callable[[int], object] | None

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes, unpacked where its name ends in .gz. Raises InputError where there is no such file, or it cannot
        be read.
        """
        with self._raw() as stream, self._unpacked(stream) as unpacked:
            yield unpacked

    def lines(self, *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
        """Decoded lines with their numbers, byte order marks at the beginning dropped. A line ends in LF, CR or CRLF:
        each is LF here unless `keep_ends`.

        Bytes that are not of the encoding are still to be looked for, with `undecoded`. Raises InputError for what is
        no text, or of another encoding from its first bytes; UsageError for an encoding that does not exist.
        """
        with self._raw() as raw, self._unpacked(io.BufferedReader(_Heard(raw, self.on_bytes))) as stream:
            head = stream.peek(64) if hasattr(stream, "peek") else b""
            _refuse_other_kinds(head, self._codec())
            text = io.TextIOWrapper(stream, self.encoding, _KEEP_BYTES, newline="" if keep_ends else None)
            try:
                for number, line in enumerate(text, start=1):
                    yield number, line.lstrip("\ufeff") if number == 1 else line
            except UnicodeError as error:  # of a codec that asks no error handler
                raise InputError(f"it is not {self.encoding}: {error}") from None
            finally:
                text.detach()

    def undecoded(self, text: str, line: int) -> InputError | None:
        """The error to tell where `text`, which begins in `line`, holds a byte that is not of the encoding."""
        found = None if text.isascii() else _UNDECODED.search(text)
        if found is None:
            return None
        at = found.start()
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        utf8 = self._codec().startswith("utf-8")
        remedy = "use --encoding, for example --encoding cp1252" if utf8 else "use another --encoding"
        return InputError(
            f"it is not {'UTF-8' if utf8 else self.encoding} (byte 0x{ord(found[0]) & 0xFF:02x} at column {column}): "
            f"{remedy}",
            line=line + text.count("\n", 0, at),
        )

    def _codec(self) -> str:
        try:
            io.TextIOWrapper(io.BytesIO(), self.encoding).close()  # refuses codecs that make no text of bytes
            return codecs.lookup(self.encoding).name
        except (LookupError, ValueError):
            raise UsageError(f"no encoding is called {self.encoding!r}") from None

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if str(self.path) == "-":
            yield sys.stdin.buffer if sys.stdin is not None else io.BytesIO()
            return
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115 - closed below; errors of opening are told apart
        except FileNotFoundError:
            raise InputError("there is no such file") from None
        except (OSError, ValueError) as error:
            raise InputError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
        with stream:
            yield stream

    @contextmanager
    def _unpacked(self, stream: Any) -> Iterator[Any]:
        try:
            if not is_packed(self.path):
                yield stream
                return
            import gzip

            with gzip.GzipFile(fileobj=stream, mode="rb") as unpacked:
                yield unpacked
        except EOFError:
            raise InputError("it is packed with gzip, and its end is missing") from None
        except (OSError, zlib.error) as error:
            if is_packed(self.path) and getattr(error, "errno", None) is None:
                raise InputError(f"its name ends in .gz, and it is not sound gzip: {error}") from None
            raise InputError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _refuse_other_kinds(head: bytes, codec: str) -> None:
    for signature, what in _NO_TEXT.items():
        if head.startswith(signature):
            raise InputError(f"it is no text, but {what}")
    found = next((encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    if found is not None and not codec.startswith(found):
        named = "UTF-8" if codec.startswith("utf-8") else codec
        raise InputError(f"it is not {named}; it looks like {found.upper()}: use --encoding {found}", line=1)
    if codec.startswith("utf-8"):
        unmarked = _ZERO_BYTES.get("".join("x" if byte else "0" for byte in head[:4]))
        if unmarked is not None:
            raise InputError(f"it is not UTF-8; it looks like {unmarked.upper()}: use --encoding {unmarked}", line=1)
