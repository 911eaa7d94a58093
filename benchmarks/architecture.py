"""The path of one suggestion, from a real trace: the pictures and counts of docs/architecture.md.

    python benchmarks/architecture.py           # writes docs/pictures/path-*.svg, prints counts
    python benchmarks/architecture.py --count   # prints counts only; also of older sources:
    PYTHONPATH=/older/clone/src python benchmarks/architecture.py --count

A profiler notes each call of a function of ours and the function of ours that called it. Each
trace has a process of its own: JAX looks into compiled functions only while it compiles them.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import neurobo

HOME = Path(neurobo.__file__).parent
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ROOMS = (
    "integrations", "suggestion", "algorithm", "search", "acquisition", "physics", "surrogates",
    "training", "networks", "data", "space",
)  # fmt: skip
"""Top to bottom: a room may only call rooms that come after it."""
PASS = "next_points"
"""The function that holds the whole pass."""
N = 23
"""Enough observations for input and output warping and a trust region."""
HISTORY = [([i / N, (i * 5 % N) / N], (i / N - 0.3) ** 2 + i * 5 % N / N) for i in range(N)]


@dataclass(frozen=True)
class Call:
    file: str
    """Below the package's folder."""
    function: str
    caller: str
    """File of the function of ours that made the call."""
    by_pass: bool
    """Whether the file that holds the pass made it, while it passed."""


@dataclass
class Visit:
    """A file on the path, in order of the first call; a call by the pass to a file that it called
    before is another visit."""

    call: Call
    functions: list[str]
    again: bool = False


def suggest() -> Callable[[], object]:
    """One `neurobo.suggest` call."""
    function, algorithm = neurobo.suggest, neurobo.Auto()
    return lambda: function([(0, 1), (0, 1)], HISTORY, algorithm=algorithm, seed=0)


def sample() -> Callable[[], object]:
    """One suggestion by `NeuroSampler` in an Optuna study."""
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna.trial import create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space: dict[str, Any] = {"x0": FloatDistribution(0, 1), "x1": FloatDistribution(0, 1)}
    study = optuna.create_study(sampler=neurobo.NeuroSampler("auto", seed=0))
    for point, value in HISTORY:
        params = dict(zip(space, point, strict=True))
        study.add_trial(create_trial(params=params, distributions=space, value=value))
    return lambda: study.ask(space)


CASES = {"suggest": suggest, "sampler": sample}
TITLES = {
    "suggest": "The files that one call of neurobo.suggest passes",
    "sampler": "The files that one suggestion by NeuroSampler passes",
}


def traced(work: Callable[[], object]) -> list[Call]:
    calls: list[Call] = []
    generators: set[FrameType] = set()  # that go on are not called again

    def notice(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and _on_path(frame.f_code) and frame not in generators:
            if frame.f_code.co_flags & inspect.CO_GENERATOR:
                generators.add(frame)
            behind = list(_ours(frame.f_back))
            caller = _file(behind[0].f_code) if behind else ""
            passing = any(f.f_code.co_name == PASS for f in behind)
            by_pass = passing and caller == _pass_file(behind)
            calls.append(Call(_file(frame.f_code), _name(frame.f_code), caller, by_pass))

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def _pass_file(frames: Sequence[FrameType]) -> str:
    return next(_file(f.f_code) for f in frames if f.f_code.co_name == PASS)


def _ours(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if _file(frame.f_code):
            yield frame
        frame = frame.f_back


def _file(code: CodeType) -> str:
    path = Path(code.co_filename)
    return str(path.relative_to(HOME)) if path.is_relative_to(HOME) else ""


def _name(code: CodeType) -> str:
    return code.co_qualname.replace(".<locals>", "")


def _on_path(code: CodeType) -> bool:
    """Checks of arguments, imports and attributes of records are no visits."""
    file = _file(code)
    if not file or file in ("errors.py", "__init__.py") or code.co_name.startswith("<"):
        return False
    return not (code.co_name.startswith("__") or _is_attribute(code))


def _is_attribute(code: CodeType) -> bool:
    owner, _, name = code.co_qualname.rpartition(".")
    module = inspect.getmodule(code)
    found = inspect.getattr_static(getattr(module, owner, None), name, None)
    return isinstance(found, property | cached_property)


def visits(calls: Sequence[Call]) -> list[Visit]:
    found: list[Visit] = []
    latest: dict[str, Visit] = {}
    left: set[str] = set()
    """Files that the pass has called and come back from."""
    for call in calls:
        again = call.by_pass and call.file != call.caller and call.file in left
        if call.file not in latest or again:
            latest[call.file] = Visit(call, [], again)
            found.append(latest[call.file])
        if call.function not in latest[call.file].functions:
            latest[call.file].functions.append(call.function)
        if call.by_pass and call.file != call.caller:
            left.add(call.file)
    return found


def count(path: Sequence[Visit]) -> str:
    files = {visit.call.file for visit in path}
    again = [f"{v.call.file} ({', '.join(v.functions)})" for v in path if v.again]
    return f"{len(files)} files; visited again by the pass: {', '.join(again) or 'none'}"


ROW, COLUMN, LEFT, TOP = 30, 92, 20, 84
COLOURS = (
    "#7f7f7f", "#111111", "#8c564b", "#2ca02c", "#17becf", "#bcbd22", "#1f77b4", "#9467bd",
    "#e377c2", "#ff7f0e", "#d62728",
)  # fmt: skip


def picture(path: Sequence[Visit], title: str) -> str:
    """A row for each visit, a column for each room; lines lead from the caller to the called."""
    width, height = LEFT + COLUMN * (len(ROOMS) + 2) + 40, TOP + ROW * len(path) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    bottom = TOP + ROW * len(path)
    for room, colour in zip(ROOMS, COLOURS, strict=True):
        x = _x(room)
        parts.append(f'<text x="{x}" y="60" fill="{colour}" font-weight="bold">{room}</text>')
        parts.append(f'<path d="M{x + 6} 68V{bottom}" stroke="{colour}" stroke-opacity="0.2"/>')
    rows: dict[str, int] = {}
    for row, visit in enumerate(path):
        parts += _row(visit, row, rows.get(visit.call.caller))
        rows[visit.call.file] = row
    return "\n".join([*parts, "</svg>\n"])


def _row(visit: Visit, row: int, caller_row: int | None) -> list[str]:
    file = visit.call.file
    x, y = _x(_room(file)), TOP + ROW * row
    colour = COLOURS[ROOMS.index(_room(file))]
    name, width = file.partition("/")[2] or file, 7.2 * len(file.partition("/")[2] or file) + 14
    fill = f'fill="white" stroke="{colour}" stroke-dasharray="4 2"' if visit.again else (
        f'fill="{colour}"'
    )  # fmt: skip
    words = ", ".join(f.rpartition(".")[2] for f in visit.functions[:3])
    more = ", …" if len(visit.functions) > 3 else ""
    parts = []
    if caller_row is not None:
        from_x, from_y = _x(_room(visit.call.caller)) + 6, TOP + ROW * caller_row + 20
        parts.append(
            f'<path d="M{from_x} {from_y}V{y + 10}H{x}" fill="none" stroke="#444" '
            'stroke-width="1.2"/>'
        )
        parts.append(f'<path d="M{x - 6} {y + 6}L{x} {y + 10}L{x - 6} {y + 14}z" fill="#444"/>')
    parts.append(f'<rect x="{x}" y="{y}" width="{width:.0f}" height="20" rx="4" {fill}/>')
    ink = colour if visit.again else "white"
    parts.append(f'<text x="{x + 7}" y="{y + 14}" fill="{ink}">{escape(name)}</text>')
    parts.append(
        f'<text x="{x + width + 8:.0f}" y="{y + 14}" fill="#555" font-size="11">'
        f"{escape(words + more)}</text>"
    )
    return parts


def _room(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def _x(room: str) -> int:
    return LEFT + COLUMN * ROOMS.index(room)


def main(*options: str) -> None:
    for name, title in TITLES.items():
        script = [sys.executable, __file__, "--trace", name]
        shown = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout
        path = visits([Call(**entry) for entry in json.loads(shown)])
        print(f"{name}: {count(path)}")
        if not options:
            (PICTURES / f"path-{name}.svg").write_text(picture(path, title))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--trace"]:
        print(json.dumps([asdict(call) for call in traced(CASES[sys.argv[2]]())]))
    else:
        main(*sys.argv[1:])
