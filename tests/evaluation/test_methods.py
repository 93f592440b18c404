"""Which methods take part, and what checkpoints of several methods are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsacli.checkpoints.folder import save_checkpoint
from vsacli.errors import CheckpointError, UsageError
from vsacli.evaluation.methods import choose_methods, load_checkpoints
from vsacli.methods.registry import build_network, config_class
from vsacli.nn import preset


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, str]:
    """Untrained checkpoints by the name of their folder."""
    configs = {f"{name}-{i}": config_class(name)() for name in ("proto", "hml") for i in (1, 2)}
    configs["vsa-1"] = preset("small", layers=1)
    for name, config in configs.items():
        save_checkpoint(tmp_path / name, build_network(config), {}, "card")
    return {name: str(tmp_path / name) for name in configs}


def labels(methods: str | None, checkpoints: list[str], default: tuple[str, ...] | None = ("vsa", "prior")) -> list:
    specs = choose_methods(methods, default, "classification", checkpoints, "cpu")
    return [(s.label, s.method, dict(s.settings).get("checkpoint")) for s in specs]


def test_a_checkpoint_is_called_by_its_method(runs: dict[str, str]) -> None:
    given = [runs["proto-1"], runs["hml-2"], runs["vsa-1"]]
    assert labels("hml,knn,vsa,proto", given) == [
        ("hml", "hml", runs["hml-2"]),
        ("knn", "knn", None),
        ("vsa", "vsa", runs["vsa-1"]),
        ("proto", "proto", runs["proto-1"]),
    ]


def test_checkpoints_take_part_unasked_the_vsa_network_first(runs: dict[str, str]) -> None:
    given = [runs["proto-1"], runs["vsa-1"]]
    assert [label for label, _, _ in labels("knn", given)] == ["vsa", "knn", "proto"]
    assert labels(None, [runs["proto-1"]]) == [
        ("vsa", "vsa", None),
        ("prior", "prior", None),
        ("proto", "proto", runs["proto-1"]),
    ]


def test_two_checkpoints_of_a_method_have_the_names_of_their_folders(runs: dict[str, str]) -> None:
    found = labels("knn", [runs["proto-1"], runs["hml-1"], runs["proto-2"], runs["proto-1"] + "/"])
    assert [label for label, _, _ in found] == ["knn", "proto:proto-1", "proto:proto-2", "hml"]


def test_what_cannot_take_part_is_told_before_the_work(runs: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'hml' has no network yet: train one with vsa meta-train --method hml"):
        labels("hml,knn", [runs["proto-1"]])
    with pytest.raises(UsageError, match="'metagp' does not support classification"):
        labels("metagp", [])
    with pytest.raises(CheckpointError, match="no such folder"):
        labels("knn", [str(tmp_path / "none")])
    regression = choose_methods(None, ("prior",), "regression", [runs["hml-1"]], "cpu")
    with pytest.raises(CheckpointError, match="is for classification"):
        load_checkpoints(regression, "regression")


def test_all_are_those_that_need_no_training() -> None:
    found = [label for label, _, _ in labels("all", [])]
    assert {"vsa", "logistic", "gp"} <= set(found)
    assert not {"proto", "lp", "meta-rbf-gp"} & set(found)
