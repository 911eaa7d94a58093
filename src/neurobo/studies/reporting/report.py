"""`neurobo report`: what was found, as one HTML page."""

from __future__ import annotations

from pathlib import Path

from optuna.study import Study

from neurobo.analysis.explanation import Explanation
from neurobo.integrations.optuna.attributes import OUTPUT
from neurobo.page import (
    Block,
    Card,
    Cell,
    Details,
    Grid,
    Items,
    Section,
    Table,
    write_page,
)
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.reporting import charts
from neurobo.studies.reporting.advice import recommended
from neurobo.studies.reporting.context import Context, contexts
from neurobo.studies.reporting.findings import Findings, plus_minus, shown
from neurobo.studies.reporting.sentences import SHARES, story, summary


def write_report(file: StudyFile, study: Study, target: Path) -> Path:
    found = Findings.of(file, study)
    told = found.explanation
    top = [_subtitle(found), recommended(found, told)]
    return write_page(target, file.table.name, sections(found, told), top=top)


def _subtitle(found: Findings) -> str:
    table, n = found.file.table, len(found.space.distributions)
    goal = "Highest" if found.tally.maximize else "Lowest"
    return f"{goal} value over {n} parameter{'s' * (n != 1)}, searched with `{table.algorithm}`."


def sections(found: Findings, told: Explanation) -> list[Section]:
    tally = found.tally
    parts = [Section("Summary", [Items(summary(found))])]
    if found.contenders:
        parts.append(Section("Best results", [_best(found)]))
    if tally.complete:
        parts.append(Section("Convergence", [_convergence(found)]))
        if len(found.space.parameters) > 1:
            parts.append(Section("All results", [_parallel(found)]))
    if found.slices:
        parts.append(Section("Around the recommended setting", [_slices(found)]))
    parts += [_over(found, one) for one in contexts(found)]
    if found.influence:
        parts.append(Section("Which parameters matter", _influence(found)))
    if tally.constrained or tally.failed:
        parts.append(Section("Constraints and failures", _troubles(found)))
    parts.append(Section("How the search went", _story(found, told)))
    return parts


def _best(found: Findings) -> Block:
    names = list(found.space.distributions)
    constraints = found.file.table.constraints
    header = ["trial", "value", *(["expected"] if found.noisy else []), *names, *constraints]
    rows: list[list[Cell | str]] = []
    for i, contender in enumerate(found.contenders):
        trial = contender.trial
        cells: list[Cell | str] = [str(trial.number), Cell(found.value(trial.value), bold=i == 0)]
        if found.noisy and contender.mean is not None and contender.sd is not None:
            cells.append(plus_minus(contender.mean, 2 * contender.sd))
        cells += [found.setting(name, trial.params.get(name, "")) for name in names]
        cells += [shown(trial.constraints.get(name, "")) for name in constraints]
        rows.append(cells)
    order = "expected value (± 2 standard deviations)" if found.noisy else "value"
    return Table(header, rows, f"The best feasible trials by {order}.")


def _convergence(found: Findings) -> Block:
    c, tally = found.convergence, found.tally
    picture = charts.convergence(found)
    drawn = f"{len(c.number)} of {len(tally.complete)} results" * (
        len(tally.complete) > len(c.number)
    )
    notes = [f"The best value so far (line) and {drawn or 'every result'} (dots)"]
    if not c.feasible.all():
        notes.append("circles: not feasible")
    if c.noise_sd:
        notes.append(f"band: two standard deviations of the noise, ± {2 * c.noise_sd:.2g}")
    if len(c.failed):
        notes.append("marks at the bottom: failed trials")
    if picture.y.view is not None:
        notes.append("far outliers are left out at first")
    return Grid([Card(picture)], "; ".join(notes) + ".", wide=True)


def _parallel(found: Findings) -> Block:
    tally = found.tally
    total = len(tally.feasible or tally.complete)
    kind = "feasible " if tally.constrained and tally.feasible else ""
    caption = (
        f"{len(charts.in_parallel(found))} of {total} {kind}results, one line each, through the "
        "values of all parameters to the value of the objective on the right: of these the best "
        "tenth in red-orange, then to the median in yellow, the others in blue. Every axis has its "
        "own scale; logarithmic ranges have a logarithmic one."
    )
    if charts.view(found) is not None:
        caption += " Far outliers stand at the end of the objective's axis."
    return Grid([Card(charts.parallel(found))], caption, wide=True)


def _slices(found: Findings) -> Block:
    cards = [Card(charts.slice_of(found, one), one.name) for one in found.slices]
    caption = (
        "The expected value along each parameter, with all others as recommended. The band is two "
        "standard deviations; the diamond is the recommended setting, of trial "
        f"{found.contenders[0].trial.number}."
    )
    inactive = sum(n not in found.contenders[0].trial.params for n in found.space.parameters)
    more = found.space.n_parameters - len(cards) - inactive
    if more > 0:
        caption += f" {more} parameter{'s' * (more != 1)} that matter less are left out."
    if inactive:
        caption += (
            f" {inactive} parameter{'s' * (inactive != 1)} that the recommended setting does not "
            "have are left out; one that another value would need is in the middle of its range."
        )
    return Grid(cards, caption)


def _over(found: Findings, one: Context) -> Section:
    """The best value over a context parameter."""
    names = [name for name in found.space.distributions if name != one.name]
    rows: list[list[Cell | str]] = [
        [
            found.setting(one.name, value),
            plus_minus(best.value, 2 * best.sd),
            *(found.setting(name, best.params.get(name, "")) for name in names),
        ]
        for value, best in zip(one.values, one.found, strict=True)
    ]
    caption = (
        f"Trials were asked for with given values of {one.name}. For each value of it, the other "
        "parameters are those of the best expected value (± 2 standard deviations)."
    )
    table = Table([one.name, "expected", *names], rows, caption)
    return Section(
        f"Best value over {one.name}", [Grid([Card(charts.best_over(found, one))]), table]
    )


def _influence(found: Findings) -> list[Block]:
    rows = found.influence[:20]
    note = f"Dark: alone; pale: with combinations. Combinations: {found.combined:.0%}."
    speeds = Card(
        charts.speeds(rows), "Inverse length scales",
        "How fast the function changes along each parameter, relative to the fastest.",
    )  # fmt: skip
    return [
        Grid([Card(charts.shares(rows), "", note)], wide=True),
        SHARES,
        Details("Technical details", [Grid([speeds])]),
    ]


def _troubles(found: Findings) -> list[Block]:
    blocks: list[Block] = []
    if found.tally.constrained:
        cards = []
        for name in found.file.table.constraints:
            picture, share = charts.constraint(found, name)
            cards.append(Card(picture, name, f"met by {share:.0%} of the results"))
        blocks.append(Grid(cards, "A constraint is met at and below the dotted line."))
    if found.tally.failed:
        blocks.append(Grid([Card(charts.failures(found), "Failures")]))
        rows: list[list[Cell | str]] = []
        for reason, count, trial in found.reasons[:12]:
            end = str(trial.user_attrs.get(OUTPUT, "")).strip().splitlines()[-1:]
            detail = end[0][:200] if end else ""
            rows.append([str(count), str(trial.number), Cell(reason[:300], detail=detail)])
        blocks.append(Table(["how often", "last in trial", "why"], rows, words=True))
    return blocks


def _story(found: Findings, told: Explanation) -> list[Block]:
    blocks: list[Block] = [Items([*story(found), *told.search()])]
    if told.work:
        rows: list[list[Cell | str]] = [
            [w.member, str(w.points), str(w.improvements)] for w in told.work
        ]
        header = ["member", "points", "improvements"]
        caption = "Which member of the portfolio proposed how many points and improvements."
        blocks.append(Table(header, rows, caption))
    if len(found.jumps[0]) > 1:
        note = "How far each point was from the best before it; 1 is from corner to corner."
        blocks.append(Grid([Card(charts.distances(found), "Near or far", note)]))
    if technical := told.technical():
        blocks.append(Details("Technical details", [Items(technical)]))
    return blocks
