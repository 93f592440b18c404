"""The kinds of tasks: what labels are."""

from __future__ import annotations

from typing import Literal

TaskKind = Literal["classification", "regression"]
