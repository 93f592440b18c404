"""What the configs of the compared methods have in common."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vsacli.errors import CheckpointError
from vsacli.methods.registry import network_info
from vsacli.nn.config import NetworkConfig


@dataclass(frozen=True)
class MethodConfig(NetworkConfig):
    """A compared method. Defaults are section 4.2 of the paper, but for ``standardize``.

    Attributes
    ----------
    standardize : bool
        True takes z-scores of each attribute over the rows of the task, and targets scaled by the labeled rows, as
        the VSA network does by default. False takes values as they come, as the paper's preset does.
    """

    standardize: bool = True

    def __post_init__(self) -> None:
        info = network_info(self.method)
        if self.kind not in info.kinds:
            raise CheckpointError(f"{self.method} is for {' and '.join(info.kinds)}, not {self.kind!r}")
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(f.default, bool):
                if not isinstance(value, bool):
                    raise CheckpointError(f"{f.name} = {value!r} in the model config is not true or false")
            elif isinstance(f.default, int):
                self.check_sizes(f.name)
            elif isinstance(f.default, float) and not (isinstance(value, (int, float)) and 0 <= value <= 1e6):
                raise CheckpointError(f"{f.name} = {value!r} in the model config is not a number from 0 to 1e6")

    @property
    def observed_indicator(self) -> bool:
        """The input tensor, if a method reads it, says what is observed."""
        return True

    @property
    def kind_indicator(self) -> bool:
        """The input tensor, if a method reads it, distinguishes attributes from labels."""
        return True

    @property
    def least_tensors(self) -> int:
        """One: such networks are small, and their sizes are bounded."""
        return 1

    def describe(self) -> str:
        """What the method is, and its fields."""
        own = [f.name for f in fields(self) if f.name != "kind"]
        return f"{network_info(self.method).summary}; " + ", ".join(f"{n} {getattr(self, n)}" for n in own)


@dataclass(frozen=True)
class LayeredConfig(MethodConfig):
    """A method whose network has layers of a width.

    Attributes
    ----------
    layers : int
        Of a feed-forward network, or of what its method repeats.
    width : int
        Hidden units.
    """

    layers: int = 3
    width: int = 32

    @property
    def training_floats(self) -> int:
        """A hidden layer, its activation and the gradients of both, for each layer."""
        return 8 * self.layers * self.width

    @property
    def pass_floats(self) -> int:
        """A few tensors of (N, S, H)."""
        return 8 * self.width

    @property
    def least_tensors(self) -> int:
        """A weight a layer."""
        return self.layers


@dataclass(frozen=True)
class AttributesConfig(MethodConfig):
    """A method that learns nothing but the numbers of its head."""

    @property
    def training_floats(self) -> int:
        """The value, its scaled form, and their gradients; kernels are small beside a table."""
        return 32

    @property
    def pass_floats(self) -> int:
        """A few copies of the values, and the kernel."""
        return 32
