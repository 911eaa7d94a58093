"""CSV files as people have them: with commas, semicolons or tabs, and with decimal commas."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from neurobo.errors import InvalidInput

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Sheet:
    """The cells of a CSV file with a heading."""

    header: list[str]
    rows: list[list[str]]
    separator: str
    decimal_comma: bool
    digest: str
    """Of the file's content."""

    @property
    def read_with(self) -> str:
        """How the file was read, if not as most are: with commas and decimal points."""
        parts = [] if self.separator == "," else [SEPARATORS[self.separator]]
        return " and ".join([*parts, *(["decimal commas"] if self.decimal_comma else [])])

    def number(self, name: str, text: str) -> float:
        """The number in a cell of the column `name`."""
        text, kind = text.strip(), " with a decimal comma" * self.decimal_comma
        try:
            if self.decimal_comma and "." in text:
                raise ValueError("it could be thousands")
            return float(text.replace(",", ".") if self.decimal_comma else text)
        except ValueError:
            raise InvalidInput(f"{name!r} must be a number{kind}, got {text!r}") from None


def read_sheet(
    path: Path, what: str, *, needed: Collection[str], numeric: Callable[[str], bool]
) -> Sheet:
    """Read a CSV file, and guess its separator and whether its numbers have decimal commas.

    Args:
        path: The file.
        what: Its name in messages, such as "the pool".
        needed: Columns that the heading should have: the separator that finds them is right.
        numeric: Whether a column holds numbers.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
        readings = {s: _cells(text, s) for s in SEPARATORS}
    except FileNotFoundError:
        raise InvalidInput(f"{what} must be a CSV file, got {path}, which does not exist") from None
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise InvalidInput(f"{what} must be a CSV file in UTF-8, got {path}: {error}") from None
    if not readings[","]:
        raise InvalidInput(f"{what} must have a heading, got nothing in {path}")

    def fits(separator: str) -> tuple[bool, int]:
        heading = readings[separator][0]
        return set(needed) <= set(heading), len(heading)

    separator = max(readings, key=fits)  # the first of equal ones
    header, *rows = readings[separator]
    places = [i for i, name in enumerate(header) if numeric(name)]
    comma = separator != "," and any(
        i < len(row) and _DECIMAL_COMMA.fullmatch(row[i].strip()) for row in rows for i in places
    )
    return Sheet(header, rows, separator, comma, hashlib.sha256(content).hexdigest()[:12])


def _cells(text: str, separator: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return [[name.strip() for name in rows[0]], *rows[1:]] if rows else []
