"""How a run of meta-training is set up; saved with the run, so that it can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from vsacli.errors import TrainingError, UsageError
from vsacli.nn.config import VSAConfig
from vsacli.tasks.augment import AugmentConfig
from vsacli.tasks.sampler import EpisodeConfig

Optimizer = Literal["muon", "adamw", "adam"]


@dataclass(frozen=True)
class TrainConfig:
    """A run. The defaults are the ``default`` recipe; :func:`paper_recipe` gives the paper's."""

    model: VSAConfig
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    seed: int = 0
    steps: int | None = None  # stop after so many steps
    max_time: float | None = None  # or after so many seconds; at least one of the two
    optimizer: Optimizer = "muon"
    learning_rate: float = 2e-3  # of Adam(W), and of Muon's vectors
    muon_rate: float = 1e-2  # of Muon's matrices
    weight_decay: float = 0.01
    warmup: float = 0.02  # share of the run in which the rate rises
    schedule: Literal["cosine", "constant"] = "cosine"
    clip: float = 1.0  # largest gradient norm
    average: float = 0.998  # decay of the averaged weights that are validated and saved; 0: none
    mse_weight: float = 0.5  # regression: squared error beside the likelihood
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    compile: bool = False
    workers: int = 1  # processes that prepare batches; 0: in the loop
    save_every: float = 60.0  # seconds between saved states
    validate_every: float = 120.0  # seconds between validations
    patience: int | None = None  # validations without a better one before the run ends

    def __post_init__(self) -> None:
        if self.steps is None and self.max_time is None:
            raise UsageError("a run needs an end: give --steps or --max-time")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

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
            v["model"] = VSAConfig.from_dict(v["model"])
            v["episodes"] = EpisodeConfig(**{**e, **ranges})
            return cls(**v)
        except (TypeError, KeyError) as error:
            raise TrainingError(f"the saved run has a config of another version ({error}); start a new run") from error
