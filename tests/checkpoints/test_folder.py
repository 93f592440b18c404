"""Checkpoints: what is written is read back, and whatever is wrong with a folder is one line that says so."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.nn.tasks import answers, batch_of, episode
from vsacli.checkpoints import resolve
from vsacli.checkpoints.folder import CARD_FILE, CONFIG_FILE, LARGEST_WEIGHTS, WEIGHTS_FILE, save_checkpoint
from vsacli.checkpoints.resolve import bundled_checkpoints, load_checkpoint, method_of
from vsacli.errors import CheckpointError, OutputError, UsageError
from vsacli.methods.combined import Combined, ProtoConfig
from vsacli.methods.hml import HML, HMLConfig
from vsacli.nn import VSAConfig, VSAModel, preset


def small_model(kind: Any = "classification", **changes: Any) -> VSAModel:
    torch.manual_seed(3)
    model = VSAModel(preset("small", kind, layers=1, width=8, heads=2, head_width=4, ff_width=8, channels=2, **changes))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound checkpoint for classification."""
    save_checkpoint(tmp_path / "good", small_model(), {"steps": 7, "calibration": {"temperature": 1.5}}, "# Card\n")
    return tmp_path / "good"


def edit_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    config = json.loads((folder / CONFIG_FILE).read_text())
    changed = change(config)
    (folder / CONFIG_FILE).write_text(json.dumps(config if changed is None else changed))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = load_file(folder / WEIGHTS_FILE)
    change(tensors)
    save_file(tensors, folder / WEIGHTS_FILE)


def refusal(ref: str | Path, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(ref, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_what_is_saved_is_loaded(tmp_path: Path, kind: str):
    model = small_model(kind)
    save_checkpoint(tmp_path / "a" / "b", model, {"note": "täglich", "figures": [0.5, 1]}, "# Card\n")
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == sorted([CARD_FILE, CONFIG_FILE, WEIGHTS_FILE])
    loaded = load_checkpoint(tmp_path / "a" / "b")
    assert loaded.kind == kind
    assert loaded.meta == {"note": "täglich", "figures": [0.5, 1]}
    assert loaded.model.config == model.config
    assert not loaded.model.training
    assert not any(p.requires_grad for p in loaded.model.parameters())
    assert all(torch.equal(loaded.model.state_dict()[k], v) for k, v in model.state_dict().items())
    batch = batch_of(episode(np.random.default_rng(0), kind))
    torch.testing.assert_close(answers(loaded.model.double(), batch), answers(model.eval().double(), batch))


def test_every_field_of_the_config_comes_back(tmp_path: Path):
    config = preset("paper", layers=2, residual="none", layer_norm=False, example_attention=False)
    assert VSAConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    save_checkpoint(tmp_path, VSAModel(config), {}, "")
    assert load_checkpoint(tmp_path).model.config == config


def test_saving_again_replaces(folder: Path):
    save_checkpoint(folder, small_model("regression"), {}, "new")
    assert load_checkpoint(folder).kind == "regression"
    assert (folder / CARD_FILE).read_text() == "new"


def test_all_files_have_the_rights_that_new_files_have(tmp_path: Path):
    (tmp_path / "new").touch()
    save_checkpoint(tmp_path / "out", small_model(), {}, "")
    assert {p.stat().st_mode for p in (tmp_path / "out").iterdir()} == {(tmp_path / "new").stat().st_mode}


def test_weights_of_half_precision_become_float32(folder: Path):
    edit_weights(folder, lambda t: t.update({k: v.bfloat16() for k, v in t.items()}))
    loaded = load_checkpoint(folder)
    assert {p.dtype for p in loaded.model.parameters()} == {torch.float32}


def test_either_file_of_a_folder_names_it(folder: Path):
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        assert load_checkpoint(folder / name).path == folder


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {"deep": [float("-inf")]}, np.float32(1), Path("x")])
def test_a_record_that_is_no_json_is_not_written(tmp_path: Path, bad: Any):
    with pytest.raises(UsageError, match="plain JSON with finite numbers"):
        save_checkpoint(tmp_path / "out", small_model(), {"loss": bad}, "")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        save_checkpoint(tmp_path / "file" / "below", small_model(), {}, "")


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE])
def test_a_missing_file_is_named(folder: Path, name: str):
    (folder / name).unlink()
    assert f"{name} is missing" in refusal(folder)


def test_pickles_are_never_read(folder: Path, tmp_path: Path):
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    data = pickle.dumps(Trap())
    for name in ("pytorch_model.bin", "model.pt", "model.pkl"):
        (folder / name).write_bytes(data)
    assert load_checkpoint(folder).kind == "classification"
    (folder / WEIGHTS_FILE).write_bytes(data)
    assert "damaged or not one of ours" in refusal(folder)
    (folder / WEIGHTS_FILE).unlink()
    assert "no pickle" in refusal(folder)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '"format"',
        "{}",
        '{"format": "1", "model": {}}',
        '{"format": true, "model": {}}',
        '{"format": 1}',
        '{"format": 1, "model": []}',
        '{"format": 1, "model": {}, "meta": 3}',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_a_config_that_is_none_of_ours(folder: Path, text: str):
    (folder / CONFIG_FILE).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert f"{CONFIG_FILE} is not one of ours" in refusal(folder)


def test_a_config_of_absurd_size_is_not_read(folder: Path):
    with (folder / CONFIG_FILE).open("r+b") as f:
        f.truncate(1 << 34)  # a sparse file
    assert "far too large" in refusal(folder)


def test_weights_of_absurd_size_are_not_read(folder: Path):
    with (folder / WEIGHTS_FILE).open("r+b") as f:
        f.truncate(LARGEST_WEIGHTS + 1)
    assert "larger than any model of this kind" in refusal(folder)


def test_another_format_says_to_update(folder: Path):
    edit_config(folder, lambda c: c.update(format=2))
    assert refusal(folder).endswith("has format 2, this version of vsacli reads 1; update vsacli")


def test_an_unknown_field_says_to_update_and_names_it(folder: Path):
    edit_config(folder, lambda c: c["model"].update(rotary=True))
    text = refusal(folder)
    assert "rotary" in text
    assert "update vsacli" in text
    assert str(folder) in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 0),
        ("width", -1),
        ("width", 1e9),
        ("width", "64"),
        ("width", True),
        ("layers", 10**9),
        ("kind", "ranking"),
        ("kind", ["classification"]),
        ("kind", None),
        ("head", "gp"),
        ("head", {}),
        ("residual", "dense"),
    ],
)
def test_an_impossible_config_is_refused(folder: Path, field: str, value: Any):
    edit_config(folder, lambda c: c["model"].update({field: value}))
    assert str(folder) in refusal(folder)


@pytest.mark.parametrize("sizes", [{"width": 4096, "ff_width": 4096}, {"heads": 4096, "head_width": 4096}])
def test_sizes_that_the_weights_lack_take_no_memory(folder: Path, sizes: dict[str, int]):
    edit_config(folder, lambda c: c["model"].update(sizes))
    assert "weights and config disagree" in refusal(folder)


def test_depth_that_the_weights_lack_takes_no_time(folder: Path):
    edit_config(folder, lambda c: c["model"].update(layers=4096, ff_layers=4096))  # sixteen million layers
    assert "weights and config disagree" in refusal(folder)


def test_a_truncated_file_is_refused(folder: Path):
    whole = (folder / WEIGHTS_FILE).read_bytes()
    for size in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        (folder / WEIGHTS_FILE).write_bytes(whole[:size])
        assert "damaged or not one of ours" in refusal(folder)


def test_a_flipped_header_is_refused(folder: Path):
    whole = bytearray((folder / WEIGHTS_FILE).read_bytes())
    whole[7] = 0xFF  # the length of the header, little-endian
    (folder / WEIGHTS_FILE).write_bytes(whole)
    assert "damaged or not one of ours" in refusal(folder)


def test_tensors_that_lack_or_are_too_many_or_of_another_shape(folder: Path):
    first = sorted(load_file(folder / WEIGHTS_FILE))[0]
    whole = (folder / WEIGHTS_FILE).read_bytes()
    for change in (
        lambda t: t.pop(first),
        lambda t: t.update(extra=torch.zeros(2)),
        lambda t: t.update({first: torch.zeros(3, 5, 7)}),
        lambda t: t.clear(),
    ):
        (folder / WEIGHTS_FILE).write_bytes(whole)
        edit_weights(folder, change)
        assert "weights and config disagree" in refusal(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_no_number_is_refused(folder: Path, bad: float):
    name = sorted(load_file(folder / WEIGHTS_FILE))[-1]
    edit_weights(folder, lambda t: t[name].view(-1).__setitem__(0, bad))
    assert f"{name} holds values that are not finite" in refusal(folder)


@pytest.mark.parametrize("bad", [0, -1, "2", None, [1], float("inf"), 10**300, 1e-300])
def test_a_calibration_that_is_no_factor_is_refused(folder: Path, bad: Any):
    edit_config(folder, lambda c: c["meta"].update(calibration={"temperature": bad}))
    assert "calibration temperature" in refusal(folder)


def test_a_calibration_that_is_no_record_is_refused(folder: Path):
    edit_config(folder, lambda c: c["meta"].update(calibration=3))
    assert "calibration" in refusal(folder)


def test_the_other_kind_of_task_is_refused(folder: Path):
    text = refusal(folder, kind="regression")
    assert "is for classification, but this table needs regression" in text
    assert "--task classification" in text


def test_a_folder_that_is_none(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert f"{CONFIG_FILE} is missing" in refusal(tmp_path / "empty")
    (tmp_path / "data.csv").write_text("a,b\n")
    assert f"{CONFIG_FILE} is missing" in refusal(tmp_path / "data.csv")


@pytest.mark.parametrize(
    "name", ["no-such", "./a/b", "/no/such", "~/model", "../x", "a/b/c", "a//", "nul\0", "x" * 9000]
)
def test_a_name_that_means_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(name).startswith(f"checkpoint {name}: ")


def test_an_empty_name(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)  # the empty path is the folder one is in
    for name in ("", " "):
        assert "empty name" in refusal(name)
    assert load_checkpoint(".").kind == "classification"


def test_a_repository_that_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = refusal("nobody/no-such-model-of-ours")
    assert "no such folder" in text
    assert text.endswith("vsa download nobody/no-such-model-of-ours")
    for bad in ("bad name/x@y", "a/b@../../c", "a/b@", "a--b/c"):
        assert "not the name of a Hub repository" in refusal(bad)


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bundled checkpoints of its own, and an empty working folder."""
    for kind in ("classification", "regression"):
        save_checkpoint(tmp_path / "models" / kind, small_model(kind), {}, "")
    (tmp_path / "models" / "notes").mkdir()
    (tmp_path / "models" / "README.md").write_text("")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(resolve, "bundled_folder", lambda: tmp_path / "models")
    return tmp_path / "models"


def test_bundled_checkpoints_are_found_by_kind_and_by_name(bundled: Path):
    assert list(bundled_checkpoints()) == ["classification", "regression"]
    assert load_checkpoint(kind="regression").path == bundled / "regression"
    assert load_checkpoint().path == bundled / "classification"
    loaded = load_checkpoint("regression", kind="regression")
    assert (loaded.name, loaded.path) == ("regression", bundled / "regression")
    assert "bundled: classification, regression" in refusal("classifcation")


def test_a_folder_of_the_same_name_comes_first_only_if_it_is_a_checkpoint(bundled: Path):
    Path("regression").mkdir()
    assert load_checkpoint("regression").path == bundled / "regression"
    save_checkpoint(Path("regression"), small_model("regression"), {"mine": True}, "")
    assert load_checkpoint("regression").meta == {"mine": True}


@pytest.mark.parametrize("name", ["../models/regression/..", "regression/../../work", "notes"])
def test_a_bundled_name_is_no_path(bundled: Path, name: str):
    refusal(name)


def test_no_bundled_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolve, "bundled_folder", lambda: tmp_path / "none")
    with pytest.raises(CheckpointError, match="no bundled regression checkpoint"):
        load_checkpoint(kind="regression")


def test_a_checkpoint_without_method_is_one_of_vsa_and_others_are_named(folder: Path, tmp_path: Path):
    assert "method" not in json.loads((folder / CONFIG_FILE).read_text())["model"]
    assert method_of(str(folder)) == "vsa"
    save_checkpoint(tmp_path / "other", Combined(ProtoConfig(width=8)), {}, "")
    assert json.loads((tmp_path / "other" / CONFIG_FILE).read_text())["model"]["method"] == "proto"
    assert method_of(str(tmp_path / "other")) == "proto"
    loaded = load_checkpoint(tmp_path / "other")
    assert isinstance(loaded.model, Combined)
    assert loaded.model.config == ProtoConfig(width=8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "newer"}, "the method 'newer', which this version does not know; update vsacli"),
        ({"method": ["proto"]}, "which this version does not know"),
        ({"method": "os:system"}, "which this version does not know"),
        ({"method": "vsa"}, "fields that this version does not know"),
        ({"kind": "regression"}, "proto is for classification, not 'regression'"),
        ({"width": 1 << 20}, "from 1 to 4096"),
        ({"standardize": "yes"}, "not true or false"),
        ({"layers": 4096}, "too few weights"),
        ({"width": 16}, "weights and config disagree"),
    ],
)
def test_a_damaged_checkpoint_of_another_method_is_refused(tmp_path: Path, changes: dict[str, Any], words: str):
    save_checkpoint(tmp_path, Combined(ProtoConfig(width=8)), {}, "")
    if changes.get("method") == "vsa":
        edit_config(tmp_path, lambda c: c["model"].update(changes, inner_steps=3))
    else:
        edit_config(tmp_path, lambda c: c["model"].update(changes))
    assert words in refusal(tmp_path)


def test_rounds_that_the_weights_lack_are_counted_before_they_are_built(tmp_path: Path):
    save_checkpoint(tmp_path, HML(HMLConfig(width=8)), {}, "")
    edit_config(tmp_path, lambda c: c["model"].update(iterations=4096))
    assert "too few weights" in refusal(tmp_path)
