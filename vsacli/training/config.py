"""How a run of meta-training is set up; saved with the run, so that it can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from vsacli.errors import TrainingError, UsageError
from vsacli.methods.registry import config_from_dict
from vsacli.nn.config import NetworkConfig
from vsacli.tasks.augment import PLAIN, AugmentConfig
from vsacli.tasks.sampler import EpisodeConfig

Optimizer = Literal["muon", "adamw", "adam"]
Precision = Literal["float32", "tf32", "bfloat16"]


@dataclass(frozen=True)
class TrainConfig:
    """A run. The defaults are the ``default`` recipe; :func:`paper_settings` gives the paper's."""

    model: NetworkConfig
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    seed: int = 0
    init: str | None = None  # a checkpoint whose weights training starts from
    steps: int | None = None  # stop after so many steps
    max_time: float | None = None  # or after so many seconds; at least one of the two
    optimizer: Optimizer = "muon"
    learning_rate: float = 2e-3  # of Adam(W), and of Muon's vectors
    muon_rate: float = 1e-2  # of Muon's matrices
    weight_decay: float = 0.01
    warmup: float = 0.02  # share of the run in which the rate rises
    schedule: Literal["cosine", "constant"] = "cosine"
    clip: float = 1.0  # largest gradient norm; 0: no limit
    average: float = 0.998  # decay of the averaged weights that are validated and saved; 0: none
    mse_weight: float = 0.5  # regression: squared error beside the likelihood
    precision: Precision = "bfloat16"
    compile: bool = False
    workers: int = 1  # processes that prepare batches; 0: in the loop
    save_every: float = 60.0  # seconds between saved states
    validate_every: float = 120.0  # seconds between validations
    patience: int | None = None  # validations without a better one before the run ends
    plain: bool = False  # the paper's episodes: whole tables, balanced classes, nothing changed
    save_steps: int | None = None  # steps between saved states, in place of seconds
    validate_steps: int | None = None  # steps between validations, in place of seconds
    tell_every: float = 10.0  # seconds between reports
    tell_steps: int | None = None  # steps between reports, in place of seconds
    bad_steps: int = 10  # so many steps in a row without a finite gradient end the run
    join: int = 1  # batches that one process takes as one: what so many torchrun processes do together

    def __post_init__(self) -> None:
        if self.steps is None and self.max_time is None:
            raise UsageError("a run needs an end: give --steps or --max-time")
        for name in ("steps", "save_steps", "validate_steps", "tell_steps", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}; it is at least 1")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "model": self.model.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The config that :meth:`to_dict` wrote.

        Raises
        ------
        TrainingError
            If it is damaged or of another version.
        """
        try:
            v = dict(values)
            e = dict(v["episodes"])
            e["augment"] = AugmentConfig(**e["augment"])
            ranges = {k: tuple(x) for k, x in e.items() if isinstance(x, list)}  # JSON has no tuples
            v["model"] = config_from_dict(v["model"])
            v["episodes"] = EpisodeConfig(**{**e, **ranges})
            return cls(**v)
        except (TypeError, KeyError) as error:
            raise TrainingError(f"the saved run has a config of another version ({error}); start a new run") from error


def paper_settings() -> dict[str, Any]:
    """What the paper sets (sections 4.1 and 4.3), as fields of :class:`TrainConfig`.

    Adam at 1e-4 without schedule, batches of eight tasks, early stopping on meta-validation; whole
    tables, one to five labeled and 20 unlabeled rows of each class. For regression, which the paper
    describes less: 5 to 20 labeled and 60 unlabeled rows.
    """
    return {
        "episodes": EpisodeConfig(
            shots=(1, 5),
            unlabeled=(20, 20),
            labeled_rows=(5, 20),
            unlabeled_rows=(60, 60),
            natural=0.0,
            tasks=(8, 8),
            augment=PLAIN,
        ),
        "optimizer": "adam",
        "learning_rate": 1e-4,
        "weight_decay": 0.0,
        "warmup": 0.0,
        "schedule": "constant",
        "clip": 0.0,
        "average": 0.0,
        "mse_weight": 0.0,
        "precision": "float32",
        "plain": True,
        "patience": 20,
    }
