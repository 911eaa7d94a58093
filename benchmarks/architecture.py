"""What docs/architecture.md shows: the rooms, and the path of one suggestion from a real trace.

    python benchmarks/architecture.py           # writes parts of the page and its pictures
    python benchmarks/architecture.py --count   # prints counts only; of an older source:
    PYTHONPATH=/older/clone/src python benchmarks/architecture.py --count

A profiler notes each call of a function of ours and the function of ours that called it. Each
trace has a process of its own: JAX looks into compiled functions only while it compiles them.
"""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from prose import wrapped

import neurobo

HOME = Path(neurobo.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PICTURES = PAGE.with_name("pictures")
ROOMS = (
    "integrations", "suggestion", "algorithm", "search", "acquisition", "physics", "surrogates",
    "training", "networks", "data", "space",
)  # fmt: skip
"""On the path, top to bottom: a room may only call rooms that come after it."""
SHELLS = ("cli", "demos", "bench", "studies", "analysis", "ray", "running")
LEAVES = ("page", "compilation", "errors")
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
    "suggest": "Files that one call of neurobo.suggest passes",
    "sampler": "Files that one suggestion by NeuroSampler passes",
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
    return not _is_attribute(code)


def _is_attribute(code: CodeType) -> bool:
    owner, _, name = code.co_qualname.rpartition(".")
    module = inspect.getmodule(code)
    found = inspect.getattr_static(getattr(module, owner, None), name, None)
    return isinstance(found, property | cached_property)


def visits(calls: Sequence[Call]) -> list[Visit]:
    found: list[Visit] = []
    latest: dict[str, Visit] = {}
    left: set[str] = set()
    """Files that the pass has called before the one that it called last."""
    last = ""
    for call in calls:
        if call.by_pass and call.file != call.caller and call.file != last:
            left.add(last)
            last = call.file
            again = call.file in left
        else:
            again = False
        if call.file not in latest or again:
            latest[call.file] = Visit(call, [], again)
            found.append(latest[call.file])
        if call.function not in latest[call.file].functions:
            latest[call.file].functions.append(call.function)
    return found


def repeated(calls: Sequence[Call]) -> list[str]:
    """Functions of algorithms that were called several times for the one suggestion."""
    times = Counter(c.function for c in calls if _room(c.file).startswith("algorithm"))
    return [f"{name} ×{n}" for name, n in times.items() if n > 1 and "__" not in name]


def count(calls: Sequence[Call]) -> str:
    path = visits(calls)
    files = len({visit.call.file for visit in path})
    again = [f"`{v.call.file}` ({', '.join(v.functions)})" for v in path if v.again]
    return (
        f"{files} files; the pass comes back to {', '.join(again) or 'none'}; functions of "
        f"algorithms called again: {', '.join(repeated(calls)) or 'none'}"
    )


def rooms() -> str:
    """A table of the packages: what lives there (its docstring) and the files."""
    lines = ["| package | contents | files |", "|---|---|---|"]
    for room in (*SHELLS, *ROOMS, *LEAVES):
        folder = HOME / room
        if not folder.is_dir():
            home, files = HOME / f"{room}.py", "–"
        else:
            home = folder / "__init__.py"
            files = ", ".join(f"`{name}`" for name in _below(folder))
        about = (ast.get_docstring(ast.parse(home.read_text())) or "").partition("\n\n")[0]
        name = f"{room}/" if folder.is_dir() else f"{room}.py"
        lines.append(f"| `{name}` | {' '.join(about.split())} | {files} |")
    return "\n".join(lines)


def _below(folder: Path) -> list[str]:
    """Modules of a room, and its packages with their modules."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and path.stem != "__init__":
            found.append(path.name)
        elif (path / "__init__.py").exists():
            found += [f"{path.name}/{name}" for name in _below(path)]
    return found


def written(text: str, part: str, content: str) -> str:
    """A page with the content between a part's marks replaced."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


ROW, COLUMN, STEP, LEFT, TOP = 30, 100, 20, 20, 84
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
    places: dict[str, tuple[int, int]] = {}
    for row, visit in enumerate(v for v in path if _room(v.call.file) in ROOMS):
        caller = places.get(visit.call.caller)
        x, y = _x(_room(visit.call.file)), TOP + ROW * row
        if caller is not None and caller[0] >= x:  # in the same room
            x = caller[0] + STEP
        places[visit.call.file] = x, y
        parts += _row(visit, x, y, caller)
    return "\n".join([*parts, "</svg>\n"])


def _row(visit: Visit, x: int, y: int, caller: tuple[int, int] | None) -> list[str]:
    file = visit.call.file
    colour = COLOURS[ROOMS.index(_room(file))]
    name, width = file.partition("/")[2] or file, 7.2 * len(file.partition("/")[2] or file) + 14
    fill = f'fill="white" stroke="{colour}" stroke-dasharray="4 2"' if visit.again else (
        f'fill="{colour}"'
    )  # fmt: skip
    words = ", ".join(f.rpartition(".")[2] for f in visit.functions[:3])
    more = ", …" if len(visit.functions) > 3 else ""
    parts = []
    if caller is not None:
        from_x, from_y = caller[0] + 6, caller[1] + 20
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
    counts = []
    for name, title in TITLES.items():
        script = [sys.executable, __file__, "--trace", name]
        shown = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout
        calls = [Call(**entry) for entry in json.loads(shown)]
        counts.append(f"- {title}: {count(calls)}.")
        if not options:
            (PICTURES / f"path-{name}.svg").write_text(picture(visits(calls), title))
    print("\n".join(counts))
    if not options:
        page = written(PAGE.read_text(), "rooms", rooms())
        PAGE.write_text(wrapped(written(page, "counts", "\n".join(counts))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--trace"]:
        print(json.dumps([asdict(call) for call in traced(CASES[sys.argv[2]]())]))
    else:
        main(*sys.argv[1:])
