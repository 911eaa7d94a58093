"""With data of our own making in YAHPO Gym's format: a network that is a weighted sum."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from typer.testing import CliRunner

from neurobo.bench.problems import problem
from neurobo.bench.problems.yahpo import DATA, REPORT, SCENARIOS, TUNING
from neurobo.bench.records import Store
from neurobo.cli.app import app
from neurobo.errors import InvalidInput

NAME = "yahpo-rbv2_xgboost-1053"
LOW, HIGH = 0.25, 0.75
CONFIG: dict[str, Any] = {
    "hyperparameters": [
        {"name": "booster", "type": "categorical", "choices": ["gblinear", "gbtree", "dart"]},
        {"name": "nrounds", "type": "uniform_int", "log": True, "lower": 7, "upper": 2981},
        {"name": "task_id", "type": "categorical", "choices": ["1053", "1063"]},
        {"name": "repl", "type": "uniform_int", "log": False, "lower": 1, "upper": 10},
        {"name": "trainsize", "type": "uniform_float", "log": False, "lower": 0.03, "upper": 1.0},
        {"name": "eta", "type": "uniform_float", "log": True, "lower": 0.001, "upper": 1.0},
        {"name": "rate_drop", "type": "uniform_float", "log": False, "lower": 0.0, "upper": 1.0},
    ],
    "conditions": [
        {"child": "eta", "parent": "booster", "type": "IN", "values": ["dart", "gbtree"]},
        {"child": "rate_drop", "parent": "booster", "type": "EQ", "value": "dart"},
    ],
}
CODES = {
    "booster": {"#na#": 0, "dart": 1, "gblinear": 2, "gbtree": 3},
    "task_id": {"#na#": 0, "1053": 4, "1063": 6},
}
WEIGHTS = {"nrounds": 1e-4, "eta": 0.1, "rate_drop": 0.2, "trainsize": 0.05, "repl": 0.002}
CODE_WEIGHTS = {"task_id": 0.01, "booster": 0.03}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "rbv2_xgboost"
    folder.mkdir()
    (folder / "config_space.json").write_text(json.dumps(CONFIG))
    (folder / "encoding.json").write_text(json.dumps(CODES))
    statistics = tmp_path / "global_statistics"
    statistics.mkdir()
    (statistics / "instance_target_statistics.csv").write_text(
        "metric,statistic,value,scenario,instance\n"
        "acc,min,0.9,rbv2_xgboost,1063\n"
        "auc,min,0.8,rbv2_xgboost,1053\n"
        f"acc,min,{LOW},rbv2_xgboost,1053\n"
        f"acc,max,{HIGH},rbv2_xgboost,1053\n"
    )
    monkeypatch.setenv(DATA, str(tmp_path))
    return tmp_path


def write_network(path: Path) -> None:
    """Outputs zeros, and as the accuracy the weighted sum of all inputs."""
    onnx = pytest.importorskip("onnx")
    helper, kinds, about = onnx.helper, onnx.TensorProto, SCENARIOS["rbv2_xgboost"]

    def weights(names: tuple[str, ...], by_name: dict[str, float], name: str) -> Any:
        table = np.zeros((len(names), len(about.outputs)), np.float32)
        table[:, about.outputs.index("acc")] = [by_name.get(n, 0.0) for n in names]
        return onnx.numpy_helper.from_array(table, name)

    def tensor(name: str, kind: int, width: int) -> Any:
        return helper.make_tensor_value_info(name, kind, ["batch_size", width])

    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x_cat"], ["codes"], to=kinds.FLOAT),
            helper.make_node("MatMul", ["codes", "of_codes"], ["a"]),
            helper.make_node("MatMul", ["x_cont", "of_numbers"], ["b"]),
            helper.make_node("Add", ["a", "b"], ["output"]),
        ],
        "sum",
        [
            tensor("x_cat", kinds.INT32, len(about.categories)),
            tensor("x_cont", kinds.FLOAT, len(about.numbers)),
        ],
        [tensor("output", kinds.FLOAT, len(about.outputs))],
        [
            weights(about.categories, CODE_WEIGHTS, "of_codes"),
            weights(about.numbers, WEIGHTS, "of_numbers"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)


@pytest.mark.usefixtures("data")
def test_the_space_comes_from_the_data_without_task_and_fidelity() -> None:
    given = problem(NAME)
    assert given.space.distributions == {
        "booster": CategoricalDistribution(["gblinear", "gbtree", "dart"]),
        "nrounds": IntDistribution(7, 2981, log=True),
        "eta": FloatDistribution(0.001, 1.0, log=True),
        "rate_drop": FloatDistribution(0.0, 1.0),
    }
    assert given.space.conditions.when == {
        "eta": {"booster": ["dart", "gbtree"]},
        "rate_drop": {"booster": ["dart"]},
    }


@pytest.mark.peers
def test_the_value_is_the_normalised_regret(data: Path) -> None:
    pytest.importorskip("onnxruntime")
    write_network(data / "rbv2_xgboost" / "model.onnx")
    given, rng = problem(NAME), np.random.default_rng(0)
    fixed = 0.01 * 4 + 0.05 * 1.0 + 0.002 * 10
    for params, accuracy in (
        ({"booster": "gblinear", "nrounds": 1000}, 0.03 * 2 + 0.1),
        ({"booster": "gbtree", "nrounds": 10, "eta": 0.5}, 0.03 * 3 + 0.001 + 0.05),
        (
            {"booster": "dart", "nrounds": 10, "eta": 0.5, "rate_drop": 0.25},
            0.03 + 0.001 + 0.05 + 0.05,
        ),
    ):
        regret = (HIGH - fixed - accuracy) / (HIGH - LOW)
        assert given.evaluate(params, rng).value == pytest.approx(regret, abs=1e-6)


@pytest.mark.peers
def test_a_run_finds_the_data_that_the_command_names(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are in processes of their own."""
    pytest.importorskip("onnxruntime")
    write_network(data / "rbv2_xgboost" / "model.onnx")
    monkeypatch.delenv(DATA)
    monkeypatch.setattr(os, "environ", dict(os.environ))  # what the command sets ends with the test
    results = tmp_path / "results"
    command = f"bench run yahpo --data {data} --problems {NAME} --peers random --seeds 1"
    done = CliRunner().invoke(app, [*command.split(), "--scale", "0.1", "--folder", str(results)])
    assert done.exit_code == 0, done.output
    (record,) = Store(results).read()
    assert len(record.values) == 10
    assert not record.failures


def test_the_folder_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA, raising=False)
    with pytest.raises(InvalidInput, match=r"--data or .*NEUROBO_YAHPO must name .*got none"):
        problem(NAME)


def test_the_folder_must_hold_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(DATA, str(tmp_path))
    with pytest.raises(InvalidInput, match=r"must have rbv2_xgboost/config_space\.json"):
        problem(NAME)


@pytest.mark.usefixtures("data")
def test_published_extremes_are_needed() -> None:
    with pytest.raises(InvalidInput, match="min and max of acc of rbv2_xgboost 1063"):
        problem("yahpo-rbv2_xgboost-1063")


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("yahpo-lcbench-126026", "a task of lcbench must be one of"),
        ("yahpo-iaml_glmnet-40981", "a scenario of YAHPO must be one of"),
    ],
)
def test_other_tasks_stay_unseen(name: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        problem(name)


def test_no_task_is_both_for_tuning_and_for_the_report() -> None:
    assert len(TUNING) == 7
    assert len(REPORT) == 16
    assert not set(TUNING) & set(REPORT)
