"""Where the keys of a TOML document stand, which `tomllib` does not say."""

from __future__ import annotations

import re
from bisect import bisect_left

Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'", re.DOTALL
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}\n#]+")


def lines_of(text: str) -> dict[Path, int]:
    """The line of every key and array item, by its path. The text must be valid TOML."""
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[Path, int] = {}
        self._ends = [found.start() for found in re.finditer("\n", text)]

    def document(self) -> dict[Path, int]:
        table: Path = ()
        arrays: dict[Path, int] = {}
        while self._skip() < len(self._text):
            line = self._line()
            if self._take("[["):
                name = self._key()
                self._at = self._text.index("]]", self._at) + 2
                arrays[name] = arrays.get(name, -1) + 1
                table = (*name, arrays[name])
                self._note(name, line)
                self._note(table, line)
            elif self._take("["):
                table = self._key()
                self._at = self._text.index("]", self._at) + 1
                self._note(table, line)
            else:
                self._pair(table)
        return self._lines

    def _skip(self) -> int:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _take(self, sign: str) -> bool:
        if self._text.startswith(sign, self._at):
            self._at += len(sign)
            return True
        return False

    def _line(self) -> int:
        return bisect_left(self._ends, self._at) + 1

    def _note(self, path: Path, line: int) -> None:
        for end in range(1, len(path)):  # a.b.c = 1 also says where a and a.b begin
            self._lines.setdefault(path[:end], line)
        self._lines.setdefault(path, line)

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip()
            quoted = _STRING.match(self._text, self._at)
            bare = _BARE_KEY.match(self._text, self._at)
            found = quoted or bare
            if found is None:
                return tuple(parts)
            self._at = found.end()
            parts.append(_unquoted(found[0]) if quoted else found[0])
            self._skip()
            if not self._take("."):
                return tuple(parts)

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = (*table, *self._key())
        self._note(path, line)
        self._at = self._text.index("=", self._at) + 1
        self._skip()
        self._value(path)

    def _value(self, path: Path) -> None:
        quoted = _STRING.match(self._text, self._at)
        if quoted:
            self._at = quoted.end()
        elif self._take("["):
            index = 0
            while self._skip() < len(self._text) and not self._take("]"):
                self._note((*path, index), self._line())
                self._value((*path, index))
                self._skip()
                self._take(",")
                index += 1
        elif self._take("{"):
            while self._skip() < len(self._text) and not self._take("}"):
                self._pair(path)
                self._skip()
                self._take(",")
        elif plain := _PLAIN.match(self._text, self._at):
            self._at = plain.end()


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    import tomllib

    (name,) = tomllib.loads(f"{key} = 0")
    return name
