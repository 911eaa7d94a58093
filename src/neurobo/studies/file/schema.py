"""What a study file may say. The reference in docs/study-file.md is generated from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

Reference = Annotated[str, StringConstraints(pattern=r"^[\w.]+:[\w.]+$")]
"""`module:function`."""
LinearText = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Table(BaseModel):
    """A table of the file: unknown keys and numbers in quotes are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Budget(Table):
    """How much may be spent."""

    trials: int = Field(ge=1, description="How many evaluations the study has in the end.")
    hours: float | None = Field(
        None, gt=0, description="A run begins no evaluation after this time; running ones end."
    )


Choice = str | int | float | bool


class Values(Table):
    """A range of a parent's values, both ends included."""

    low: float | None = Field(None, description="The smallest value. Default: any.")
    high: float | None = Field(None, description="The largest value. Default: any.")

    @model_validator(mode="after")
    def _an_end(self) -> Values:
        if self.low is None and self.high is None:
            raise ValueError("a range must have `low`, `high` or both, got neither")
        return self


class Parameter(Table):
    """One parameter: a range (`low`, `high`) or `choices`."""

    type: Literal["float", "int"] = Field("float", description="Of a range.")
    low: float | None = Field(None, description="The smallest value.")
    high: float | None = Field(None, description="The largest value.")
    log: bool = Field(False, description="Whether ratios count, not differences; `low` above 0.")
    step: float | None = Field(None, gt=0, description="Only `low`, `low + step`, … are allowed.")
    choices: list[Choice] | None = Field(
        None, description="The values to choose from, instead of a range."
    )
    ordered: bool = Field(
        False, description="Whether `choices` have an order, in which neighbours are alike."
    )
    when: dict[Name, list[Choice] | Values] | None = Field(
        None,
        description='The parameter exists only for these values of others: `{ model = ["svm"] }`, '
        "or for a number also `{ layers = { low = 2 } }`. Others are categories, integers or "
        "stepped ranges, and may have a `when` themselves.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Parameter:
        given = self.model_fields_set
        if (self.choices is None) == (self.low is None and self.high is None):
            raise ValueError(
                "a parameter must have either `low` and `high` or `choices`, "
                f"got {', '.join(sorted(given)) or 'nothing'}"
            )
        if self.choices is not None and given - {"choices", "ordered", "when"}:
            raise ValueError(
                "`choices` must stand alone or with `ordered` and `when`, got "
                f"{', '.join(sorted(given))}"
            )
        if self.choices is None and self.ordered:
            raise ValueError(f"`ordered` must stand with `choices`, got {', '.join(sorted(given))}")
        if self.choices is None and (self.low is None or self.high is None):
            raise ValueError(
                f"a range must have both `low` and `high`, got {', '.join(sorted(given))}"
            )
        return self


class AtMostTable(Table):
    """A constraint of `where`: only so many of some parameters differ from 0."""

    at_most: int = Field(ge=0, description="How many may differ from 0.")
    of: list[Name] = Field(min_length=1, description="The parameters, whose ranges include 0.")


InputConstraint = Annotated[
    Annotated[LinearText, Tag("text")] | Annotated[AtMostTable, Tag("table")],
    Discriminator(lambda given: "table" if isinstance(given, dict | Table) else "text"),
]


class Objective(Table):
    """What is evaluated: a Python function or a program. Leave it out for `ask` and `tell`."""

    python: Reference | None = Field(
        None,
        description="`module:function`; the module is looked for beside the study file first. The "
        "function gets a dict and returns a number, or a dict like the JSON of a program.",
    )
    command: list[str] | None = Field(
        None,
        min_length=1,
        description="A program and its arguments, one string each; no shell is involved. "
        "`{name}` stands for a parameter's value, see below.",
    )
    stdin: Literal["none", "json"] = Field(
        "none", description='"json": the program reads the parameters from standard input.'
    )
    params_file: Name | None = Field(
        None,
        description="The parameters are also written to a JSON file of this name in the trial's "
        "folder; `{params_file}` is its path.",
    )
    timeout: float | None = Field(
        None, gt=0, description="Seconds after which an evaluation and its children are killed."
    )
    working_folder: Literal["trial", "study"] = Field(
        "trial", description="Where it runs: a fresh folder for each trial, or the study file's."
    )
    keep: Literal["none", "failed", "all"] = Field(
        "none", description="Which trials' folders stay, in `NAME.trials/` beside the study file."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Objective:
        if (self.python is None) == (self.command is None):
            given = ", ".join(sorted(self.model_fields_set)) or "neither"
            raise ValueError(f"an objective must have either `python` or `command`, got {given}")
        if self.python is not None and (self.stdin != "none" or self.params_file):
            raise ValueError("`stdin` and `params_file` must go with `command`, got `python`")
        file = self.params_file
        if file and ("/" in file or file in (".", "..")):
            raise ValueError(f"`params_file` must be a name without a folder, got {file!r}")
        return self


class PoolTable(Table):
    """A catalogue of candidates, each known by its features."""

    path: Name = Field(
        description="A `.npy` array (candidates first), or a `.csv` file with a heading. Columns "
        "may be separated by commas, semicolons or tabs, and numbers may have decimal commas where "
        "columns have not; `neurobo check` says how the file is read."
    )
    ids: Name | None = Field(None, description="The column of a `.csv` that names the candidates.")
    replace: bool = Field(False, description="Whether a candidate may be evaluated again.")

    @model_validator(mode="after")
    def _known_ending(self) -> PoolTable:
        if not self.path.endswith((".npy", ".csv")):
            raise ValueError(f"`path` must end with .npy or .csv, got {self.path!r}")
        if self.ids is not None and not self.path.endswith(".csv"):
            raise ValueError(f"`ids` must go with a .csv file, got {self.path!r}")
        return self


class Physics(Table):
    """A law that the objective obeys."""

    residual: Reference = Field(
        description="`module:function` of the law `residual(u, x)`, zero where it holds, or of a "
        "`neurobo.PDE`; the module is looked for beside the study file first."
    )
    names: list[Name] | None = Field(
        None, description="The parameters it is about, in the order of `x`. Default: all floats."
    )
    n_points: int | None = Field(None, ge=1, description="At how many points it is asked for.")
    weight: float | None = Field(
        None, ge=0, description="How much one of them counts. Default: found from the results."
    )


class Lease(Table):
    """How long a trial is reserved for whoever evaluates it."""

    seconds: float = Field(
        60.0, ge=2, description="For `run`, which renews it while the evaluation goes on."
    )
    ask_hours: float = Field(168.0, gt=0, description="For `ask`, until `tell`.")


class Engine(Table):
    """Where evaluations run; the study file's folder must have the same path on all machines."""

    kind: Literal["processes", "threads", "ray", "dask", "slurm"] = Field(
        "processes",
        description="Processes of this machine; threads of the runner, for Python functions; or "
        "the workers of a Ray or Dask cluster, or Slurm jobs (extras `ray`, `dask`, `slurm`).",
    )
    address: Name | None = Field(
        None,
        description='Of the cluster: `"auto"` or `"host:port"` for Ray, `"tcp://host:8786"` for '
        'Dask; `"local"` instead of Slurm for jobs of this machine. Default: as Ray and Dask find '
        "it themselves, or a new cluster on this machine.",
    )
    resources: dict[Name, str | int | float | bool] = Field(
        {},
        description="What an evaluation needs: `{ CPU = 2, GPU = 1 }` for Ray, resources that "
        "workers declare for Dask, parameters of submitit for Slurm: `{ timeout_min = 60, "
        'slurm_partition = "gpu" }`.',
    )


class StudyTable(Table):
    """The whole file."""

    name: Name = Field(description="Of the study in its storage.")
    direction: Literal["minimize", "maximize"] = Field(
        "minimize", description="Whether low or high values are good."
    )
    storage: Name | None = Field(
        None,
        description="Where results are kept: a URL such as `postgresql://user@host/db`, "
        "`mysql://user@host/db`, `journal:///study.log`, `redis://host:6379/0` or "
        "`grpc://host:13000`. Default: "
        "an SQLite file beside the study file, with its name and the ending `.db`.",
    )
    storage_retry_minutes: float = Field(
        10.0,
        ge=0,
        description="How long a run goes on while its storage is away: calls are repeated, "
        "evaluations go on, and results wait in memory and in a file beside the study file.",
    )
    algorithm: Name = Field("auto", description="See `neurobo algorithms`.")
    options: dict[str, Any] = Field({}, description="Options of the algorithm.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of all random numbers.")
    n_startup_trials: int | None = Field(
        None,
        ge=0,
        description="Points of the initial design. Default: parameters + 2, 5 to 20; half of that "
        "with a law.",
    )
    workers: int = Field(
        1,
        ge=1,
        le=1024,
        description="Evaluations at a time. With Ray and Dask: as many as the cluster can run, "
        "unless given.",
    )
    retries: int = Field(
        1,
        ge=0,
        description="How often a lost evaluation is retried: its runner died, or "
        "its lease ran out. What the objective itself fails at is a result, and is repeated only "
        "by `neurobo retry`.",
    )
    learn_failures: bool | Literal["auto"] = Field(
        "auto",
        description="Learn where evaluations fail, and keep away from there; by default if the "
        "points explain the failures.",
    )
    constraints: list[Name] = Field(
        [], description="Names of constraints that every result gives; feasible if all are <= 0."
    )
    where: list[InputConstraint] = Field(
        [],
        description="Known constraints between parameters, which every suggestion meets: linear "
        'ones such as `"copper + tin == 1"` or `"2 * copper <= tin + 0.3"`, and `{ at_most = 3, '
        'of = ["copper", "tin", "zinc", "lead"] }`.',
    )
    budget: Budget = Field(description="How much may be spent.")
    space: dict[Name, Parameter] = Field({}, description="The parameters, by name.")
    pool: PoolTable | None = Field(None, description="A catalogue of candidates.")
    objective: Objective | None = Field(None, description="What is evaluated.")
    engine: Engine = Field(
        Engine(kind="processes", address=None, resources={}), description="Where evaluations run."
    )
    physics: Physics | None = Field(None, description="A law that the objective obeys.")
    lease: Lease = Field(
        Lease(seconds=60.0, ask_hours=168.0), description="How long a trial is reserved."
    )

    @model_validator(mode="after")
    def _something_to_choose(self) -> StudyTable:
        if not self.space and self.pool is None:
            raise ValueError("a study must have a [space] or a [pool], got neither")
        if self.pool is not None and "candidate" in self.space:
            raise ValueError("the pool's own parameter is called `candidate`; rename yours")
        twice = {name for name in self.constraints if self.constraints.count(name) > 1}
        if twice:
            raise ValueError(f"`constraints` must differ from each other, got {min(twice)!r} again")
        return self
