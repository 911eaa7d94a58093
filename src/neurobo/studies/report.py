"""`neurobo report`: what was found, as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from optuna.study import Study

from neurobo.columns import Category
from neurobo.page import Block, Card, Cell, Grid, Items, Picture, Section, Table, write_page
from neurobo.page.blocks import COLOURS
from neurobo.page.html import axis, band, numbers, pale, text
from neurobo.studies.account import account
from neurobo.studies.findings import Findings, shown, thinned
from neurobo.studies.study_file import StudyFile
from neurobo.studies.surrogate import Slice

BEST, OTHER, GREY = COLOURS[0], COLOURS[1], "#8a8f98"
LINES = 300
"""Of the parallel coordinates."""
_HIDDEN = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
_MARGIN = {"l": 10, "r": 14, "t": 8, "b": 42}
_RANKS = ((0.5, 1.0, 0.28, COLOURS[1]), (0.1, 0.5, 0.5, COLOURS[4]), (0.0, 0.1, 0.9, COLOURS[0]))
"""Lines of the parallel coordinates: from which rank to which, how strong, in which colour. Bad
ones come first, so that good ones lie on top."""


def write_report(file: StudyFile, study: Study, target: Path) -> Path:
    found = Findings.of(file, study)
    title = f"Study {file.table.name}: {file.table.direction}"
    return write_page(target, title, sections(found))


def sections(found: Findings) -> list[Section]:
    tally = found.tally
    parts = [Section("In short", [Items(found.summary())])]
    if found.contenders:
        parts.append(Section("Best points", [_best(found)]))
    if tally.complete:
        parts.append(Section("Convergence", [_convergence(found)]))
        if len(found.space.parameters) > 1:
            parts.append(Section("Where the results are", [_parallel(found)]))
    if found.slices:
        parts.append(Section("Around the best point", [_slices(found)]))
    if found.influence:
        parts.append(Section("Which inputs matter", [_influence(found)]))
    if tally.constrained or tally.failed:
        parts.append(Section("Constraints and failures", _troubles(found)))
    parts.append(Section("What the algorithm did", _story(found)))
    return parts


def _best(found: Findings) -> Block:
    names = list(found.space.distributions)
    constraints = found.file.table.constraints
    header = ["trial", "value", *(["expected"] if found.noisy else []), *names, *constraints]
    rows: list[list[Cell | str]] = []
    for i, contender in enumerate(found.contenders):
        trial = contender.trial
        cells: list[Cell | str] = [str(trial.number), Cell(f"{trial.value:.6g}", bold=i == 0)]
        if found.noisy and contender.mean is not None and contender.sd is not None:
            cells.append(Cell(f"{contender.mean:.5g}", detail=f"± {2 * contender.sd:.2g}"))
        cells += [shown(trial.params.get(name, "")) for name in names]
        cells += [shown(trial.constraints.get(name, "")) for name in constraints]
        rows.append(cells)
    order = "what the surrogate expects (± 2 sd)" if found.noisy else "their value"
    return Table(header, rows, f"The best feasible trials, by {order}.")


def _convergence(found: Findings) -> Block:
    c = found.convergence
    sign = found.file.table.direction
    traces: list[dict[str, Any]] = []
    if c.noise_sd and len(c.step):
        x, best = _stairs(c.step, c.best)
        traces.append(band(x, best - 2 * c.noise_sd, best + 2 * c.noise_sd, BEST))
    for good, name, colour in ((True, "result", OTHER), (False, "not feasible", GREY)):
        some = c.feasible == good
        if some.any():
            traces.append(_dots(c.number[some], c.value[some], name, colour, hollow=not good))
    if len(c.step):
        x, best = _stairs(c.step, c.best)
        line = {"color": BEST, "width": 2.5}
        traces.append(
            {"x": numbers(x), "y": numbers(best), "mode": "lines", "line": line,
             "hovertemplate": "best %{y:.5g}<extra></extra>"}
        )  # fmt: skip
    layout: dict[str, Any] = {
        "xaxis": axis("trial"),
        "yaxis": {**axis("value"), "automargin": True},
        "yaxis2": _HIDDEN,
        "margin": _MARGIN,
    }
    values = c.value[c.feasible] if c.feasible.any() else c.value
    layout["yaxis"] |= _without_outliers(values, c.best, found.tally.maximize)
    rug = _rug(c.failed)
    notes = [f"Best so far ({sign}) and every result"]
    if len(found.tally.complete) > len(c.number):
        notes.append(f"{len(c.number)} of {len(found.tally.complete)} are drawn")
    if c.noise_sd:
        notes.append(f"band: two standard deviations of the noise, ± {2 * c.noise_sd:.2g}")
    if len(c.failed):
        notes.append("marks below: failed trials")
    if "range" in layout["yaxis"]:
        notes.append("far outliers are outside the picture; double-click shows all")
    picture = Picture("Best value over trials", [*traces, *rug], layout, 340)
    return Grid([Card(picture)], "; ".join(notes) + ".", wide=True)


def _stairs(step: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A line that keeps its height until the next step."""
    return np.repeat(step, 2)[1:], np.repeat(best, 2)[:-1]


def _without_outliers(
    values: np.ndarray, best: np.ndarray, maximize: bool
) -> dict[str, list[float]]:
    """A range for the axis if a few bad values would flatten all others."""
    if len(values) < 8:
        return {}
    low, middle, high = (float(v) for v in np.quantile(values, [0.0, 0.5, 1.0]))
    edge = float(np.quantile(values, 0.05 if maximize else 0.95))
    good = high if maximize else low
    if abs(edge - good) * 4 > high - low or middle == good:
        return {}
    far = edge - (good - edge) * 0.3
    near = good + (good - edge) * 0.08
    return {"range": sorted([far, near])}


def _dots(
    x: np.ndarray, y: np.ndarray, name: str, colour: str, *, hollow: bool = False
) -> dict[str, Any]:
    marker: dict[str, Any] = {"size": 6 if len(x) < 400 else 4, "color": pale(colour, 0.75)}
    if hollow:
        marker |= {"symbol": "circle-open", "color": colour}
    return {
        "x": numbers(x),
        "y": numbers(y),
        "mode": "markers",
        "marker": marker,
        "hovertemplate": f"trial %{{x}}: %{{y:.5g}} ({text(name)})<extra></extra>",
    }


def _rug(failed: np.ndarray) -> list[dict[str, Any]]:
    """Marks at the bottom of the plot, on an axis of their own that nobody sees."""
    if not len(failed):
        return []
    return [
        {
            "x": numbers(failed[:: max(len(failed) // 500, 1)]),
            "y": [0.015] * len(failed[:: max(len(failed) // 500, 1)]),
            "yaxis": "y2",
            "mode": "markers",
            "marker": {"symbol": "line-ns-open", "size": 9, "color": COLOURS[3]},
            "hovertemplate": "trial %{x} failed<extra></extra>",
        }
    ]


def _parallel(found: Findings) -> Block:
    """One line for each result through all parameters; good ones on top."""
    tally = found.tally
    names = list(found.space.parameters)
    trials = sorted(tally.feasible or tally.complete, key=tally.lower)
    total = len(trials)
    if total > LINES:  # the best tenth of them, and an even share of the others
        others = np.linspace(LINES // 10, total - 1, LINES - LINES // 10).astype(int)
        trials = [*trials[: LINES // 10], *(trials[i] for i in others)]
    columns = {name: _places(found, name, [t.params.get(name) for t in trials]) for name in names}
    traces = []
    for first, last, strength, colour in _RANKS:
        chosen = range(math.ceil(first * len(trials)), math.ceil(last * len(trials)))
        x: list[int | None] = []
        y: list[float | None] = []
        words: list[str | None] = []
        for i in chosen:
            trial = trials[i]
            x += [*range(len(names)), None]
            y += [*(round(columns[name][i], 4) for name in names), None]
            words += [
                *(f"trial {trial.number}: {trial.value:.5g}<br>{text(n)} = "
                  f"{text(shown(trial.params.get(n)))}" for n in names), None,
            ]  # fmt: skip
        traces.append(
            {"x": x, "y": y, "text": words, "hoverinfo": "text", "mode": "lines",
             "line": {"color": pale(colour, strength), "width": 1.6}}
        )  # fmt: skip
    labels = [_label(name) for name in names]
    layout = {
        "xaxis": {
            **axis(""), "tickvals": list(range(len(names))), "ticktext": labels,
            "range": [-0.15, len(names) - 0.85], "showline": False,
        },
        "yaxis": {
            **axis(""), "tickvals": [0, 1], "ticktext": ["low", "high"], "range": [-0.06, 1.06],
            "showgrid": False, "showline": False, "automargin": True,
        },
        "margin": {**_MARGIN, "b": 60},
    }  # fmt: skip
    kind = "feasible " if tally.constrained and tally.feasible else ""
    caption = (
        f"{len(trials)} of {total} {kind}results, one line "
        "each: of these the best tenth in red-orange, then to the median in yellow, the others in "
        "blue. Categories stand in the order of the study file, logarithmic ranges on a "
        "logarithmic scale."
    )
    return Grid([Card(Picture("Parallel coordinates", traces, layout, 360))], caption, wide=True)


def _label(name: str) -> str:
    """A name beside an axis."""
    return text(name if len(name) <= 18 else name[:17] + "…")


def _places(found: Findings, name: str, values: Sequence[Any]) -> list[float]:
    """Where values stand between the ends of their range."""
    parameter = found.space.parameters[name]
    if isinstance(parameter, Category):
        choices = list(parameter.distribution.choices)
        last = max(len(choices) - 1, 1)
        return [choices.index(v) / last if v in choices else 0.0 for v in values]
    return [float(c) / 2 + 0.5 for c in parameter.encode(list(values))[:, 0]]


def _slices(found: Findings) -> Block:
    cards = [Card(_slice(found, one), one.name) for one in found.slices]
    trial = found.contenders[0].trial
    caption = (
        f"What the surrogate expects along each parameter, with all others as in trial "
        f"{trial.number}, the best point; the band is two standard deviations. The mark is "
        "the point itself."
    )
    return Grid(cards, caption)


def _slice(found: Findings, one: Slice) -> Picture:
    best = found.contenders[0].trial
    here = best.params[one.name]
    mean_at = one.mean[list(one.x).index(here)] if here in one.x else None
    if one.numeric:
        x = np.array(one.x, dtype=float)
        traces: list[dict[str, Any]] = [
            band(x, one.mean - 2 * one.sd, one.mean + 2 * one.sd, OTHER),
            {"x": numbers(x), "y": numbers(one.mean), "mode": "lines",
             "line": {"color": OTHER, "width": 2.2},
             "hovertemplate": "%{x:.4g}: %{y:.5g}<extra></extra>"},
        ]  # fmt: skip
        mean_at = float(np.interp(float(here), x, one.mean))
        mark: Any = float(here)
    else:
        labels = [_label(shown(v)) for v in one.x]
        if len(set(labels)) < len(labels):
            labels = [f"{i}: {label}" for i, label in enumerate(labels)]
        traces = [
            {"x": labels, "y": numbers(one.mean), "mode": "markers",
             "marker": {"color": OTHER, "size": 9},
             "error_y": {"array": numbers(2 * one.sd), "color": OTHER, "thickness": 1.5},
             "hovertemplate": "%{x}: %{y:.5g}<extra></extra>"}
        ]  # fmt: skip
        mark = labels[list(one.x).index(here)]
    traces.append(
        {"x": [mark], "y": [None if mean_at is None else float(mean_at)], "mode": "markers",
         "marker": {"color": BEST, "size": 10, "symbol": "diamond"},
         "hovertemplate": "best point: %{x}<extra></extra>"}
    )  # fmt: skip
    layout: dict[str, Any] = {
        "xaxis": axis("", log=one.log),
        "yaxis": {**axis("value"), "automargin": True},
        "margin": {**_MARGIN, "b": 30},
    }
    if one.log:
        layout["xaxis"] |= _ticks(float(one.x[0]), float(one.x[-1]))
    if not one.numeric:
        ends = [-0.5, len(one.x) - 0.5]
        layout["xaxis"] |= {"type": "category", "automargin": True, "range": ends}
    return Picture(f"Slice along {one.name}", traces, layout, 220)


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Of a logarithmic axis: powers of ten, and between them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 3 else (1,)
    skip = max((last - first) // 6, 1)
    values = [d * 10.0**p for p in range(first, last + 1, skip) for d in digits]
    return {"tickvals": values, "ticktext": [f"{v:g}" for v in values]}


def _influence(found: Findings) -> Block:
    rows = found.influence[:20][::-1]
    names = [_label(name) for name, _, _ in rows]
    pictures = [
        ("From the surrogate",
         "Share of the variance over the whole space that would go if the input were fixed. "
         "Shares overlap where inputs act together.", [s for _, s, _ in rows], OTHER),
        ("From the evidence",
         "How fast the function changes along the input, relative to the fastest (inverse length "
         "scales).", [s for _, _, s in rows], COLOURS[2]),
    ]  # fmt: skip
    cards = []
    for title, note, values, colour in pictures:
        traces = [
            {"type": "bar", "orientation": "h", "y": names, "x": numbers(np.array(values)),
             "marker": {"color": colour}, "hovertemplate": "%{y}: %{x:.2f}<extra></extra>"}
        ]  # fmt: skip
        layout = {
            "xaxis": {**axis(""), "rangemode": "tozero"},
            "yaxis": {**axis(""), "automargin": True, "showgrid": False, "nticks": len(names)},
            "margin": {**_MARGIN, "b": 30},
            "bargap": 0.35,
        }
        cards.append(Card(Picture(title, traces, layout, 70 + 26 * len(names)), title, note))
    return Grid(cards)


def _troubles(found: Findings) -> list[Block]:
    blocks: list[Block] = []
    if found.tally.constrained:
        blocks.append(_constraints(found))
    if found.tally.failed:
        failed = found.convergence.failed
        some = np.unique(np.linspace(0, len(failed) - 1, min(len(failed), 500)).astype(int))
        last = max(t.number for t in found.tally.trials)
        x = np.concatenate([[0.0], failed[some], [last]])
        total = np.concatenate([[0.0], some + 1.0, [len(failed)]])
        picture = Picture(
            "Failures over trials",
            [{"x": numbers(x), "y": numbers(total), "mode": "lines",
              "line": {"color": COLOURS[3], "width": 2, "shape": "hv"},
              "hovertemplate": "%{y} failed until trial %{x}<extra></extra>"}],
            {"xaxis": axis("trial"), "yaxis": {**axis("failed so far"), "automargin": True,
                                               "rangemode": "tozero"}, "margin": _MARGIN},
            220,
        )  # fmt: skip
        blocks.append(Grid([Card(picture, "Failures")]))
        rows: list[list[Cell | str]] = []
        for reason, count, trial in found.reasons[:12]:
            end = str(trial.user_attrs.get("output", "")).strip().splitlines()[-1:]
            detail = end[0][:200] if end else ""
            rows.append([str(count), str(trial.number), Cell(reason[:300], detail=detail)])
        blocks.append(Table(["how often", "last in trial", "why"], rows, words=True))
    return blocks


def _constraints(found: Findings) -> Block:
    cards = []
    for name in found.file.table.constraints:
        trials = thinned([t for t in found.tally.trials if name in t.constraints], set())
        x = np.array([t.number for t in trials], dtype=float)
        y = np.array([t.constraints[name] for t in trials], dtype=float)
        traces = [
            _dots(x[y <= 0], y[y <= 0], "kept", COLOURS[2]),
            _dots(x[y > 0], y[y > 0], "broken", BEST, hollow=True),
        ]
        layout = {
            "xaxis": axis("trial"),
            "yaxis": {**axis(""), "automargin": True},
            "margin": _MARGIN,
            "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0,
                        "line": {"color": "ink", "width": 1, "dash": "dot"}}],
        }  # fmt: skip
        share = float(np.mean(y <= 0)) if len(y) else 0.0
        cards.append(Card(Picture(name, traces, layout), name, f"kept in {share:.0%} of results"))
    return Grid(cards, "Kept at and below the dotted line.")


def _story(found: Findings) -> list[Block]:
    told = account(found)
    blocks: list[Block] = [Items([*found.story(), *told.sentences()])]
    if told.work:
        rows: list[list[Cell | str]] = [
            [w.member, str(w.points), str(w.improvements)] for w in told.work
        ]
        header = ["member", "points", "improvements"]
        blocks.append(Table(header, rows, "Who proposed the points, and with what success."))
    x, y = found.jumps
    if len(x) > 1:
        step = max(len(x) // 1500, 1)
        traces = [_dots(x[::step], y[::step], "distance", OTHER)]
        layout = {
            "xaxis": axis("trial"),
            "yaxis": {**axis("distance"), "automargin": True, "rangemode": "tozero"},
            "margin": _MARGIN,
        }
        note = "How far each point was from the best before it; 1 is from corner to corner."
        picture = Picture("Distance from the best point before", traces, layout)
        blocks.append(Grid([Card(picture, "Near or far", note)]))
    return blocks
