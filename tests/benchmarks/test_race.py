"""What the race of recipes sets and prints."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.benchmarks.test_unlabeled_and_groups import script


def test_an_entry_changes_the_bundled_recipe_and_nothing_else() -> None:
    race = script("race")
    base = race.config_of("base", 1, 3, 2)
    assert (base.model.class_space, base.precision, base.seed, base.validate_every) == (True, "bfloat16", 3, 30)
    assert base.episodes.structure > 0
    changed = race.config_of("class_space=false,cells=700,shots=2-3,average=0.9", 1, 3, 2)
    assert (changed.model.class_space, changed.episodes.cells, changed.episodes.shots) == (False, 700, (2, 3))
    assert changed.average == 0.9
    assert (changed.model.width, changed.episodes.attributes) == (base.model.width, base.episodes.attributes)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(SystemExit, match="celsl=3"):
        script("race").config_of("celsl=3", 1, 0, 1)


def test_summary_has_means_and_their_standard_errors() -> None:
    row = script("race").summary("mean", np.array([[0.8, 0.6], [0.9, 0.5], [1.0, 0.7]]))
    assert re.findall(r"[\d.]+", row) == ["0.9000", "0.0577", "0.6000", "0.0577"]
