"""Which problems, methods, seeds and budgets make an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from neurobo.bench.peers import method, methods
from neurobo.bench.problems import problem, yahpo
from neurobo.bench.records import Job
from neurobo.errors import InvalidInput, check_choice, check_number
from neurobo.search.initial_design import default_size, paper_size

OURS = "ours"
"""Stands for every registered algorithm but the papers' baselines."""
BASELINES = frozenset({"deep-ensemble", "neural-ucb", "neural-ts", "neural-linear-ts"})


@dataclass(frozen=True)
class Suite:
    """An experiment. Methods that cannot handle a problem are left out of it."""

    name: str
    summary: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int = 5
    first_seed: int = 1000
    """Settings are chosen on lower seeds, if at all."""
    budgets: dict[str, int] = field(default_factory=dict)
    """Evaluations where they differ from the problem's own budget, by name with wrappers."""
    paper_start: bool = False
    """Whether the start follows the Neural Greedy paper's size rule instead of ours."""


def bbob_names(
    dims: Sequence[int], functions: Sequence[int], instances: Sequence[int]
) -> tuple[str, ...]:
    return tuple(f"bbob-f{f}-d{d}-i{i}" for d in dims for f in functions for i in instances)


# One or two of each of COCO's five groups: separable, moderate, ill-conditioned, multi-modal with
# and without global structure.
BBOB_FUNCTIONS = (1, 3, 8, 10, 13, 15, 20, 21)
GREEDY_SET = (
    "branin-2",
    "hartmann-6",
    "styblinski-tang-10",
    "levy-15",
    "ackley-20",
    "schwefel-3",
    "rosenbrock-40",
    "rastrigin-100",
)
GAMMAS = (0.5, 1, 1.5, 2, 3, 5)
NOISY = tuple(f"{name}-{d}" for name in ("ackley", "levy", "michalewicz") for d in (10, 20))
# The noise of the authors' programs, and the literal reading of their texts.
SPREAD, CBO_SPREAD, LITERAL = "+spread=0.1", "+spread=0.05", "+variance=0.01"
HIGH = tuple(f"{name}-{d}" for name in ("ackley", "levy", "michalewicz") for d in (10, 20, 50, 100))
# The thesis puts noise on objective and constraints. It states no budgets; the authors' program has
# those of Branin, gas, Ackley and the speed reducer.
CBO_BUDGETS = {
    f"constrained-branin-2{CBO_SPREAD}": 100,
    f"simionescu-2{CBO_SPREAD}": 100,
    f"constrained-ackley-5{CBO_SPREAD}": 200,
    f"constrained-hartmann-6{CBO_SPREAD}": 200,
    f"gas-compressor-4{CBO_SPREAD}": 100,
    f"speed-reducer-7{CBO_SPREAD}": 200,
    f"speed-reducer-scaled-7{CBO_SPREAD}": 200,
}
CBO_LITERAL_BUDGETS = {
    name.replace(CBO_SPREAD, LITERAL): 60 if "-2+" in name else 100 for name in CBO_BUDGETS
}
CBO_METHODS = (
    "neural-cbo", "botorch-logei", "scbo", "optuna-gp", "optuna-tpe", "config-opt", "ucb-c",
    "admmbo",
)  # fmt: skip
# Those of Drop-Wave, Michalewicz, heat-1 and the beam are the authors' program's.
PINN_BUDGETS = {
    f"physics-drop-wave-2{SPREAD}": 200,
    f"physics-styblinski-tang-10{SPREAD}": 200,
    f"physics-rastrigin-20{SPREAD}": 200,
    f"physics-michalewicz-30{SPREAD}": 1000,
    f"physics-cosine-mixture-50{SPREAD}": 200,
    "heat-1": 250,
    "heat-2": 250,
    "heat-3": 250,
    "beam-1": 100,
}
PINN_METHODS = (OURS, "botorch-logei", "botorch-ucb", "random")

# Without noise; each with its own units.
DESIGN_BUDGETS = {
    "constrained-branin-2": 60,
    "simionescu-2": 60,
    "gardner-2": 60,
    "constrained-ackley-5": 80,
    "constrained-hartmann-6": 80,
    "three-bar-truss-2": 60,
    "tension-spring-3": 80,
    "gas-compressor-4": 80,
    "himmelblau-5": 80,
    "speed-reducer-7": 80,
    "heat-exchanger-8": 80,
    "stepped-cantilever-10": 80,
}
# Other instances of the needles are for tuning.
RUGGED = ("schwefel-3", "langermann-2", *(f"needles-4-{i}" for i in range(1, 11)))
CONDITIONAL = ("conditional-tree-9", "model-choice-cancer-14", "layers-digits-8")
CONDITIONAL_METHODS = (
    "auto",
    "optuna-tpe:multivariate=true,group=true",
    "optuna-gp",
    "smac-forest",
    "random",
)

PEERS_BUDGETS = {
    "branin-2+shift": 40,
    "hartmann-6+shift": 60,
    "styblinski-tang-10+shift": 80,
    "levy-15+shift": 80,
    "ackley-20+shift": 80,
    "rosenbrock-40+shift": 80,
    "forest-diabetes-6": 40,
    "boosting-cancer-9": 50,
    "constrained-ackley-5": 50,
    "digits-pool": 50,
}
MEMBERS_BUDGETS = {name: budget for name, budget in PEERS_BUDGETS.items() if "pool" not in name}

# What `auto` must stand: noise, failures, evaluations side by side.
ROBUST_BUDGETS = {
    f"{name}+{trouble}": budget
    for trouble in ("noise=0.05", "noise=0.2", "failures=0.2", "batch=8")
    for name, budget in (
        ("branin-2+shift", 45),
        ("hartmann-6+shift", 64),
        ("levy-10+shift", 76),
        ("styblinski-tang-10+shift", 76),
    )
}

# Of each of COCO's groups but the easiest; other instances are for the report.
TUNING = bbob_names((5, 10, 20), (3, 8, 10, 15, 20, 21), (1, 2))
PARTS = bbob_names((5, 10), (3, 8, 10, 15, 20, 21), (3, 4))
ABLATIONS = (
    "warp=false",
    "stretch=false",
    "middle=false",
    "credit=true",
    "members=wide",
    "members=network",
    "members=wide+network",
    "members=wide+wide-local",
    "members=wide+wide-local+network-local+network",
    "members=wide+wide-local+network-local+wide+wide-local+network",
)
"""`auto` with one part changed."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "smoke",
            "two minutes: does everything work, and is nothing worse than it was",
            ("branin-2+shift", "rosenbrock-5+shift", "levy-10+shift"),
            ("auto", "optuna-tpe", "random"),
            budgets={"branin-2+shift": 25, "rosenbrock-5+shift": 35, "levy-10+shift": 60},
        ),
        Suite(
            "greedy",
            "tables 5.1 and 5.2 of the Neural Greedy thesis: without noise, then with noise whose "
            "standard deviation is 10 % of the range",
            (*GREEDY_SET, *(f"{name}+noise=0.1" for name in GREEDY_SET)),
            (OURS, "optuna-gp"),
            first_seed=200,
            paper_start=True,
        ),
        Suite(
            "sto",
            "the STO-BNTS experiments: control and AutoML",
            (
                "lunar-lander-12",
                "rover-20",
                "forest-diabetes-6",
                "boosting-cancer-9",
                "digits-pool",
            ),
            (OURS, *sorted(BASELINES), "botorch-ts", "botorch-ucb", "random"),
        ),
        Suite(
            "mixed",
            "categories and numbers: tuning a random forest and gradient boosting",
            ("forest-digits-6", "boosting-cancer-9"),
            ("sto-bnts", "neural-greedy", "optuna-tpe", "optuna-gp", "random"),
            budgets={"forest-digits-6": 40, "boosting-cancer-9": 40},
        ),
        Suite(
            "neural-bo",
            "the Neural-BO experiments: high dimensions with the noise of the authors' program, "
            "bbob at 20 evaluations for each dimension, sensitive samples, documents, pushing",
            (
                *(name + SPREAD for name in HIGH),
                *bbob_names((2, 3, 5, 10), range(1, 25), range(1, 16)),
                "sensitive-samples-49",
                "documents-500",
                "robot-pushing-14",
            ),
            (OURS, "botorch-logei", "smac-forest", "random"),
            budgets={"ackley-20" + SPREAD: 2000},
        ),
        *(
            Suite(
                name,
                f"Ackley, Levy and Michalewicz, d = 10 and 20, at 150 evaluations: {noise}",
                tuple(problem + wrapper for problem in NOISY),
                ("neural-bo", "neural-greedy", "neural-linear-ts", "botorch-logei"),
                budgets={problem + wrapper: 150 for problem in NOISY},
            )
            for name, wrapper, noise in (
                ("noisy", SPREAD, "the noise of Neural-BO's program"),
                ("noisy-literal", LITERAL, "noise variance 1 % of the range, as its text says"),
            )
        ),
        Suite(
            "bbob",
            "COCO at 20 evaluations for each dimension: 8 functions, 2 instances, d = 2, 3, 5",
            bbob_names((2, 3, 5), BBOB_FUNCTIONS, (1, 2)),
            (OURS, "optuna-gp", "optuna-tpe", "cma-es", "random"),
            seeds=1,
        ),
        Suite(
            "cbo",
            "unknown constraints, figure 4.1 and table 4.2 of the Neural-CBO thesis: noise and "
            "budgets of the authors' program",
            tuple(CBO_BUDGETS),
            CBO_METHODS,
            budgets=CBO_BUDGETS,
        ),
        Suite(
            "cbo-literal",
            "the same with noise variance 1 % of the range, as the text says; fewer evaluations",
            tuple(CBO_LITERAL_BUDGETS),
            CBO_METHODS,
            budgets=CBO_LITERAL_BUDGETS,
        ),
        Suite(
            "designs",
            "unknown constraints without noise: engineering designs, whose constraints span orders "
            "of magnitude, and the problems of `cbo`",
            tuple(DESIGN_BUDGETS),
            ("auto", "neural-cbo", "scbo", "botorch-logei", "optuna-gp", "optuna-tpe", "random"),
            budgets=DESIGN_BUDGETS,
        ),
        Suite(
            "rugged",
            "many deep wells: Schwefel's and Langermann's functions, ten instances of needles",
            RUGGED,
            ("auto", "botorch-logei", "turbo-1", "optuna-gp", "optuna-tpe", "cma-es", "random"),
        ),
        Suite(
            "conditional",
            "parameters that exist only for some values of others: a tree, a choice of models, a "
            "network with a width for each layer",
            CONDITIONAL,
            CONDITIONAL_METHODS,
            budgets=dict.fromkeys(CONDITIONAL, yahpo.BUDGET),
        ),
        Suite(
            "yahpo",
            "tuning tasks of YAHPO Gym, whose data --data or NEUROBO_YAHPO names",
            yahpo.REPORT,
            CONDITIONAL_METHODS,
        ),
        Suite(
            "yahpo-tune",
            "other tasks of YAHPO Gym, for choosing settings",
            yahpo.TUNING,
            ("auto", "optuna-tpe:multivariate=true,group=true"),
            seeds=2,
            first_seed=1,
        ),
        Suite(
            "pinn",
            "a known differential equation, as in the PINN-BO experiments: noise and budgets of "
            "the authors' program",
            (*PINN_BUDGETS, "oscillator-1"),
            PINN_METHODS,
            budgets=PINN_BUDGETS,
        ),
        Suite(
            "pinn-literal",
            "its synthetic functions with noise variance 1 % of the range, as the text says",
            tuple(name.replace(SPREAD, LITERAL) for name in PINN_BUDGETS if SPREAD in name),
            PINN_METHODS,
            budgets={
                name.replace(SPREAD, LITERAL): budget
                for name, budget in PINN_BUDGETS.items()
                if SPREAD in name
            },
        ),
        Suite(
            "auto-tune",
            "what the settings of `auto` are chosen on",
            TUNING,
            ("auto", "optuna-gp"),
            seeds=1,
            first_seed=1,
            budgets={name: 60 if "-d5-" in name else 80 for name in TUNING},
        ),
        Suite(
            "auto-parts",
            "`auto` with one part changed, on other instances of what it is tuned on",
            PARTS,
            ("auto", *(f"auto:{change}" for change in ABLATIONS)),
            seeds=1,
            budgets={name: 60 if "-d5-" in name else 80 for name in PARTS},
        ),
        Suite(
            "auto-robust",
            "noise of 5 and 20 % of the range, a fifth of the evaluations failing, batches of 8",
            tuple(ROBUST_BUDGETS),
            ("auto", "botorch-lognei", "optuna-gp", "optuna-tpe", "random"),
            budgets=ROBUST_BUDGETS,
        ),
        Suite(
            "auto-members",
            "the members of `auto`, each on its own, on the problems of `peers` but the pool, "
            "which has other ones",
            tuple(MEMBERS_BUDGETS),
            tuple(f"auto:members={name}" for name in ("wide", "wide-local", "network-local")),
            budgets=MEMBERS_BUDGETS,
        ),
        Suite(
            "auto-report",
            "COCO on instances that `auto` was not tuned on: all functions, d = 2, 5 and 10",
            bbob_names((2, 5, 10), range(1, 25), (6,)),
            ("auto", "botorch-logei", "optuna-gp", "optuna-tpe", "cma-es"),
            seeds=1,
        ),
        Suite(
            "gamma",
            "γ by evidence and by leaving one out, against the values of a grid",
            ("branin-2", "hartmann-6", "styblinski-tang-10+shift", "levy-15+shift"),
            tuple(f"neural-greedy:gamma={g}" for g in ("evidence", "grid", *GAMMAS)),
            budgets={
                "branin-2": 50,
                "hartmann-6": 100,
                "styblinski-tang-10+shift": 150,
                "levy-15+shift": 150,
            },
        ),
        Suite(
            "peers",
            "the headline comparison: shifted synthetic functions from 2 to 40 dimensions, mixed "
            "AutoML, constraints, a pool of candidates",
            tuple(PEERS_BUDGETS),
            (
                OURS,
                "botorch-logei",
                "turbo-1",
                "scbo",
                "optuna-gp",
                "optuna-tpe",
                "smac-forest",
                "nevergrad-ngopt",
                "cma-es",
                "random",
            ),
            budgets=PEERS_BUDGETS,
        ),
    )
}


@dataclass(frozen=True)
class Choice:
    """A suite as the user wants it run."""

    problems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: int | None = None
    scale: float = 1.0


def suite(name: str) -> Suite:
    check_choice("a suite", name, SUITES)
    return SUITES[name]


def jobs(suite: Suite, choice: Choice) -> list[Job]:
    """The runs of a suite, seed by seed, so that a stopped experiment is a smaller whole one."""
    check_number("scale", choice.scale, above=0)
    if choice.scale > 1:
        raise InvalidInput(f"scale must be at most 1, got {choice.scale}")
    names = choice.problems or suite.problems
    seeds = choice.seeds or max(1, round(suite.seeds * choice.scale))
    wanted = [method(text) for text in expand(choice.methods or suite.methods)]
    labels = expand(choice.methods or suite.methods)
    found = []
    for seed in range(suite.first_seed, suite.first_seed + seeds):
        for name in names:
            about = problem(name, seed)
            budget = suite.budgets.get(name, about.budget)
            n_start = (
                paper_size(about.dim, budget) if suite.paper_start else default_size(about.space)
            )
            scaled = max(round(budget * choice.scale), min(budget, n_start + 1))
            found += [
                Job(name, label, seed, scaled, n_start)
                for label, m in zip(labels, wanted, strict=True)
                if m.needs <= about.kinds | about.offers and about.kinds <= m.handles
            ]
    return found


def expand(names: Sequence[str]) -> list[str]:
    """Method names with `ours` spelled out."""
    spelled = []
    for name in names:
        if name == OURS:
            spelled += [m for m in methods() if method(m).ours and m not in BASELINES]
        else:
            spelled.append(name)
    return list(dict.fromkeys(spelled))
