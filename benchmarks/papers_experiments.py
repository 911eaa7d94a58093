"""Every experiment of the five papers as a row: problem, budget, our methods, peers, seeds.

`papers.py` runs them and writes docs/papers.md. Budgets are the authors' where they are known and
fit; `note` says where they do not. Figures of the papers are in `theirs`, by problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from neurobo.bench import suites
from neurobo.bench.records import Job
from neurobo.bench.suites import (
    CBO_BUDGETS,
    CBO_LITERAL_BUDGETS,
    GREEDY_SET,
    LITERAL,
    PINN_BUDGETS,
    SPREAD,
    Choice,
    Suite,
    bbob_names,
)

PRESET = re.compile(r":paper\b")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper."""

    name: str
    paper: str
    """Its section of docs/papers.md."""
    title: str
    claim: str
    """What the paper says."""
    budgets: dict[str, int]
    """By problem."""
    ours: str
    """Our algorithm as it is today."""
    preset: str
    """The same with the paper's settings."""
    peers: tuple[str, ...]
    """The paper's baselines, ours or others'."""
    theirs: dict[str, str] = field(default_factory=dict)
    """What the paper reports, by problem."""
    published: dict[str, float] = field(default_factory=dict)
    """What the paper's own method reached in the mean, by problem; lower is better."""
    seeds: int = 10
    preset_seeds: int = 5
    """Presets train for minutes; what they show is how the default differs from them. 0: none."""
    preset_budget: int | None = None
    """Presets, those of peers among them, run on problems of at most so many evaluations."""
    peer_seeds: int = 5
    n_start: int | None = None
    """Points of the start; None: our rule, or with `paper_start` that of Neural Greedy."""
    paper_start: bool = False
    note: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        return (*((self.preset,) if self.preset_seeds else ()), self.ours, *self.peers)

    def jobs(self, seeds: int | None = None, budget: int | None = None) -> list[Job]:
        """All runs, seed by seed; fewer seeds and at most `budget` evaluations for a trial."""
        budgets = {name: min(t, budget or t) for name, t in self.budgets.items()}
        suite = Suite(
            self.name, self.title, tuple(budgets), (), self.seeds, budgets=budgets,
            paper_start=self.paper_start,
        )  # fmt: skip
        parts = [
            ((self.ours,), self.seeds),
            ((self.preset,) if self.preset_seeds else (), min(self.preset_seeds, self.seeds)),
            (self.peers, self.peer_seeds),
        ]
        found = [
            job
            for methods, count in parts
            if methods
            for job in suites.jobs(suite, Choice(methods=methods, seeds=min(count, seeds or count)))
        ]
        if self.preset_budget is not None:
            short = {name for name, t in self.budgets.items() if t <= self.preset_budget}
            found = [j for j in found if j.problem in short or not PRESET.search(j.method)]
        if self.n_start is not None:
            found = [replace(job, n_start=min(self.n_start, job.budget - 1)) for job in found]
        return sorted(found, key=lambda job: job.seed)


GREEDY, STO = "Neural Greedy", "STO-BNTS"
NEURAL_BO, NEURAL_CBO, PINN = "Neural-BO", "Neural-CBO", "PINN-BO"
PAPERS = {
    GREEDY: "“Be Greedy” and the thesis “Neural zeroth-order optimization”.",
    STO: "“Sample-Then-Optimize Batch Neural Thompson Sampling”.",
    NEURAL_BO: "“Neural-BO: A Black-box Optimization Algorithm using Deep Neural Networks”.",
    NEURAL_CBO: "Chapter 4 of the thesis by Phan-Trong: unknown constraints.",
    PINN: "Chapter 5 of the thesis by Phan-Trong: an objective that obeys a known equation.",
}

GREEDY_BUDGETS = dict(zip(GREEDY_SET, (50, 200, 200, 200, 200, 100, 500, 1000), strict=True))
# NeuralUCB as in F.1: two layers of 20 units; ν and λ in the middle of its grid.
GREEDY_PEERS = (
    "neural-greedy-posterior:paper", "neural-greedy-posterior", "botorch-logei", "neural-linear-ts",
    "neural-ucb:width=20,nu=0.1,ridge=0.001", "deep-ensemble",
)  # fmt: skip
GREEDY_PRESETS = (
    "The paper's settings run up to T = 200: longer runs of Adam's 5000 steps did not fit."
)
GREEDY_THEIRS = "Theirs: GP-EI / Neural Greedy, the means of 10 runs."
# Simple regret; then R_T/T, which the thesis calls cumulative regret.
TABLE_51 = {
    "branin-2": "0.052 / 0.130; 13.6 / 17.1",
    "schwefel-3": "93.9 / 110; 380 / 282",
    "hartmann-6": "0.051 / 0.121; 2.28 / 1.76",
    "styblinski-tang-10": "94.9 / 74.2; 263 / 358",
    "levy-15": "9.95 / 4.11; 73.4 / 102",
    "ackley-20": "16.7 / 13.8; 18.3 / 17.4",
    "rosenbrock-40": "295,095 / 143,255; 1.32e6 / 1.63e6",
    "rastrigin-100": "1362 / 1588; 1551 / 1999",
}
TABLE_52 = {
    "branin-2": "11.9 / 13.0; 16.0 / 17.8",
    "schwefel-3": "97.4 / 110; 346 / 266",
    "hartmann-6": "0.303 / 0.458; 2.46 / 2.58",
    "styblinski-tang-10": "97.4 / 78.1; 278 / 379",
    "levy-15": "9.99 / 0.27; 80.1 / 98.4",
    "ackley-20": "17.3 / 17.7; 19.6 / 19.9",
    "rosenbrock-40": "306,081 / 138,696; 1.31e6 / 1.73e6",
    "rastrigin-100": "1350 / 1611; 1554 / 1997",
}


def _own(theirs: dict[str, str], wrapper: str = "") -> dict[str, float]:
    """Neural Greedy's simple regret, the second figure."""
    own = {name: text.partition(";")[0].split(" / ")[1] for name, text in theirs.items()}
    return {name + wrapper: float(text.replace(",", "")) for name, text in own.items()}


def _sto_peers(width: int = 256, depth: int = 2) -> tuple[str, ...]:
    """All networks are as large as STO-BNTS's own (5.2)."""
    size = f"width={width},depth={depth}"
    return (
        f"deep-ensemble:acquisition=draw,activation=relu,{size}",
        f"neural-ucb:covariance=diagonal,{size}", f"neural-ts:covariance=diagonal,{size}",
        "botorch-ucb", "botorch-ts",
    )  # fmt: skip


STO_PEERS = _sto_peers()
LUNAR = {"lunar-lander-12": 120, "lunar-lander-12+batch=4": 220}
HIGH = tuple(f"{f}-{d}" for d in (10, 20, 50, 100) for f in ("ackley", "levy", "michalewicz"))
NEURAL_BO_PEERS = ("botorch-logei", "smac-forest", "neural-linear-ts", "neural-greedy")
CBO_PEERS = ("config-opt", "botorch-logei", "ucb-c", "admmbo", "scbo")
CBO_THEIRS = {  # significantly better than ConfigOpt, cEI, UCB-C, ADMMBO
    "constrained-branin-2": "T T T T",
    "simionescu-2": "T T T T",
    "constrained-ackley-5": "T F T F",
    "constrained-hartmann-6": "T T T T",
    "gas-compressor-4": "T T T T",
    "speed-reducer-7": "F T T F",
    "speed-reducer-scaled-7": "F T T F",
}
PINN_PEERS = ("pinn-bo:weight=0", "botorch-logei", "botorch-ucb", "neural-greedy", "neural-bo")


def _named(theirs: dict[str, str], wrapper: str) -> dict[str, str]:
    return {name + wrapper: text for name, text in theirs.items()}


EXPERIMENTS = {
    e.name: e
    for e in (
        Experiment(
            "greedy-noiseless", GREEDY, "Table 5.1 and figures 2 and 5.1: without noise",
            "SimpleSMB is the best neural method and tends to beat GP-EI in high dimensions; "
            "PosteriorSMB is slightly worse than it.",
            GREEDY_BUDGETS, "neural-greedy", "neural-greedy:paper", GREEDY_PEERS, TABLE_51,
            published=_own(TABLE_51), paper_start=True, preset_budget=200,
            note=f"{GREEDY_THEIRS} {GREEDY_PRESETS}",
        ),
        *(
            Experiment(
                f"greedy-noisy{suffix}", GREEDY, f"Table 5.2 and figures 3 and 5.2: {level}",
                "The same trends with noise; no method minimises Ackley's function reliably.",
                {name + wrapper: t for name, t in GREEDY_BUDGETS.items()},
                "neural-greedy", "neural-greedy:paper",
                GREEDY_PEERS if presets else GREEDY_PEERS[1:], _named(TABLE_52, wrapper),
                published=_own(TABLE_52, wrapper), paper_start=True, preset_budget=200,
                preset_seeds=presets,
                note=f"{GREEDY_THEIRS} The thesis says only that the noise's standard deviation is "
                "not more than 10 % of the range; that of its GP-EI hardly changes with it."
                + (f" {GREEDY_PRESETS}" if presets else ""),
            )
            for suffix, wrapper, level, presets in (
                ("", "+noise=0.1", "noise of 10 % of the range", 5),
                ("-small", "+noise=0.01", "noise of 1 % of the range", 0),
            )
        ),
        *(
            Experiment(
                f"greedy-gamma{suffix}", GREEDY, f"Figures 4 and 5: fixed γ, {level}",
                "The best γ differs from function to function; large γ is less smooth.",
                {name + wrapper: GREEDY_BUDGETS[name] for name in GREEDY_SET[:5]},
                "neural-greedy", "neural-greedy:gamma=grid",
                tuple(f"neural-greedy:gamma={g}" for g in suites.GAMMAS), seeds=5,
                paper_start=True,
                note="The paper's settings are too slow for a grid: networks are ours.",
            )
            for suffix, wrapper, level in (
                ("", "", "without noise"), ("-noisy", "+noise=0.1", "with noise"),
            )
        ),
        Experiment(
            "sto-synthetic", STO, "Figure 1d: a smooth curve",
            "STO-BNTS beats deep ensembles; batches and wider networks help; GP-TS competes.",
            {"gp-draw-1": 30, "gp-draw-1+batch=4": 83}, "sto-bnts:depth=8,width=64",
            "sto-bnts:paper,depth=8,width=64",
            (*_sto_peers(64, 8), "sto-bnts-linear:depth=8,width=64",
             "sto-bnts-linear:depth=8,width=512"),
            n_start=3, note="`benchmarks/sto_figure1.py` has more curves.",
        ),
        Experiment(
            "sto-automl", STO, "Figures 2 and 4: hyper-parameters of forests, boosting, networks",
            "STO-BNTS with L = 2, m = 256 is best on two tasks, comparable on the third.",
            {"forest-diabetes-6": 50, "boosting-cancer-9": 50, "cnn-digits-9": 50,
             "mlp-digits-9": 50},
            "sto-bnts", "sto-bnts:paper", (*STO_PEERS, "sto-bnts-linear", "optuna-tpe"),
            note="Data sets that come with scikit-learn.",
        ),
        Experiment(
            "sto-lunar", STO, "Figure 3a: Lunar Lander, 100 iterations, batches of 1 and 4 (50)",
            "STO-BNTS and its linear variant are best; batches improve both.",
            LUNAR, "sto-bnts", "sto-bnts:paper",
            ("sto-bnts-linear", "sto-bnts-linear:paper", *STO_PEERS),
            {"lunar-lander-12": "-221 ± 18 (linear -212, GP-TS -20, Neural TS -39)",
             "lunar-lander-12+batch=4": "-263 ± 4 (linear -242)"},
            published={"lunar-lander-12": -221, "lunar-lander-12+batch=4": -263},
            seeds=20, preset_seeds=20, n_start=20,
            note="Minus the mean return, re-evaluated. Runs begin at the 20 points of the authors' "
            "five runs, in turn; theirs are best values as told, of LunarLander-v2.",
        ),
        Experiment(
            "sto-control", STO, "Figures 3b and 3c: robot pushing and rover trajectories",
            "STO-BNTS and its linear variant are best; batches improve both.",
            {"robot-pushing-14": 220, "rover-20": 220, "robot-pushing-14+batch=4": 420,
             "rover-20+batch=4": 420},
            "sto-bnts", "sto-bnts:paper", ("sto-bnts-linear", "sto-bnts-linear:paper", *STO_PEERS),
            n_start=20,
        ),
        Experiment(
            "sto-images", STO, "Figure 3d: a score over images",
            "STO-BNTS with a CNN is best; its linear variant needs a wider one.",
            {"digits-pool": 100}, "sto-bnts", "sto-bnts:paper", ("sto-bnts-linear", *STO_PEERS),
            note="Digits of 8 × 8 pixels instead of MNIST. The convolutional networks have 64 "
            "channels as the paper's, but a dense layer of 256 units instead of 64.",
        ),
        *(
            Experiment(
                f"neural-bo-{d}", NEURAL_BO, f"Figure 3.1: synthetic functions, d = {d}",
                "Neural-BO is better than all baselines, most clearly in high dimensions.",
                {name + SPREAD: 150 for name in HIGH if name.endswith(f"-{d}")},
                "neural-bo", "neural-bo:paper", NEURAL_BO_PEERS,
                note="150 evaluations of the paper's 2000.",
            )
            for d in (10, 20, 50, 100)
        ),
        Experiment(
            "neural-bo-literal", NEURAL_BO, "Figure 3.1 with the noise that the text states",
            "As above.", {name + LITERAL: 150 for name in HIGH if name.endswith(("-10", "-20"))},
            "neural-bo", "neural-bo:paper", ("botorch-logei", "neural-linear-ts", "neural-greedy"),
        ),
        Experiment(
            "neural-bo-coco", NEURAL_BO, "COCO's 24 functions, 20 d evaluations",
            "Neural-BO solves the largest share of targets for d = 2 to 10.",
            {name: 20 * int(name.split("-")[2][1:])
             for name in bbob_names((2, 3, 5, 10), range(1, 25), (1,))},
            "neural-bo", "neural-bo:paper",
            ("botorch-logei", "smac-forest", "neural-greedy", "cma-es"), seeds=1, peer_seeds=1,
            note="One of the paper's 15 instances.",
        ),
        Experiment(
            "neural-bo-sensitive", NEURAL_BO, "Figure 3.3: sensitive samples",
            "8 samples detect about 90 % of the tampered models.",
            {"sensitive-samples-49": 300}, "neural-bo", "neural-bo:paper", NEURAL_BO_PEERS,
        ),
        Experiment(
            "neural-bo-documents", NEURAL_BO, "Document retrieval",
            "Neural-BO finds better documents than GP, forest and neural baselines.",
            {"documents-500": 200}, "neural-bo", "neural-bo:paper",
            ("smac-forest", "neural-greedy", "neural-linear-ts", "random"),
        ),
        Experiment(
            "neural-bo-pushing", NEURAL_BO, "Robot pushing",
            "Neural-BO is better than all baselines.",
            {"robot-pushing-14": 300}, "neural-bo", "neural-bo:paper", NEURAL_BO_PEERS,
            note="300 evaluations of the paper's 6000.",
        ),
        Experiment(
            "cbo", NEURAL_CBO, "Table 4.2 and figure 4.1, noise of the authors' program",
            "Neural-CBO is significantly better in 20 of 24 comparisons.",
            CBO_BUDGETS, "neural-cbo", "neural-cbo:paper,width=200", CBO_PEERS,
            _named(CBO_THEIRS, suites.CBO_SPREAD),
            note="Theirs: T where Neural-CBO is significantly better than ConfigOpt, cEI, UCB-C, "
            "ADMMBO. cEI is `botorch-logei`. The speed reducer is in the text's units and, scaled, "
            "in those of the authors' program. The preset's width is 200 everywhere, the text's T.",
        ),
        Experiment(
            "cbo-literal", NEURAL_CBO, "The same with the noise that the text states",
            "As above.", CBO_LITERAL_BUDGETS, "neural-cbo", "neural-cbo:paper,width=100", CBO_PEERS,
            _named(CBO_THEIRS, LITERAL),
        ),
        Experiment(
            "cbo-realistic", NEURAL_CBO, "Figure 4.2: sensitive samples that look real",
            "10 samples detect about 85 % of the tampered models.",
            {"realistic-samples-49": 200}, "neural-cbo", "neural-cbo:paper,width=200", CBO_PEERS,
        ),
        Experiment(
            "pinn", PINN, "Figures 5.1 to 5.5, noise and budgets of the authors' program",
            "PINN-BO is better than all baselines.",
            PINN_BUDGETS, "pinn-bo", "pinn-bo:paper", PINN_PEERS,
            note="`pinn-bo:weight=0` does not use the law. Budgets of Drop-Wave, Michalewicz, "
            "heat-1 and the beam are the authors', the others ours. Michalewicz' law, h · ∇f = f, "
            "is homogeneous: between its nodes each interval keeps a free amplitude, so that few "
            "evaluations cannot profit from it.",
        ),
        Experiment(
            "pinn-literal", PINN, "Figures 5.1 and 5.2 with the noise that the text states",
            "As above.",
            {k.replace(SPREAD, LITERAL): t for k, t in PINN_BUDGETS.items() if SPREAD in k},
            "pinn-bo", "pinn-bo:paper", PINN_PEERS,
        ),
    )
}  # fmt: skip
