"""What a network is made of: a dataclass that is saved with the weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from vsacli.errors import CheckpointError

Residual = Literal["paper", "prenorm", "none"]


@dataclass(frozen=True)
class NetworkConfig:
    """What the configs of all networks have in common; :mod:`vsacli.methods.registry` lists them."""

    method: ClassVar[str] = "vsa"  # which network it configures

    kind: Literal["classification", "regression"] = "classification"

    @property
    def kept_floats(self) -> int:
        """How many numbers a cell that was read leaves for rows that are asked about; 0 if none can be."""
        return 0

    @property
    def training_floats(self) -> int:
        """About how many numbers training keeps for one cell (a row of one slot), over all layers."""
        raise NotImplementedError

    @property
    def pass_floats(self) -> int:
        """About how many numbers of a cell an answer needs at once."""
        raise NotImplementedError

    @property
    def least_tensors(self) -> int:
        """Smallest number of tensors that the weights have, from the config alone."""
        raise NotImplementedError

    def describe(self) -> str:
        """The network in a few words, for its card."""
        raise NotImplementedError

    @property
    def reads_structure(self) -> bool:
        """Whether the network reads what all rows of a table say of each (`vsacli.structure`)."""
        return False

    @property
    def reads_class_space(self) -> bool:
        """Whether it reads what they say in the space in which classes are round as well."""
        return False

    @property
    def can_be_asked(self) -> bool:
        """Whether rows can be asked about after others were read, without being read themselves."""
        return False

    def check_sizes(self, *names: str) -> None:
        """Refuse sizes that no network of this kind has.

        Raises
        ------
        CheckpointError
        """
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 4096:
                raise CheckpointError(f"{name} = {value!r} in the model config is not a whole number from 1 to 4096")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``method`` among them, but for the VSA network, which came first."""
        named = {} if self.method == "vsa" else {"method": self.method}
        return {**named, **asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that :meth:`to_dict` wrote.

        Raises
        ------
        CheckpointError
            For a field this version does not know (the checkpoint is newer) or a bad value.
        """
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in values.items() if k != "method"}
        unknown = sorted(set(values) - known)
        if unknown:
            raise CheckpointError(
                f"the model config has fields that this version does not know ({', '.join(unknown)}); update vsacli"
            )
        return cls(**values)


@dataclass(frozen=True)
class VSAConfig(NetworkConfig):
    """Hyperparameters of :class:`vsacli.nn.model.VSAModel`.

    The defaults are the ``default`` preset; :func:`preset` gives the others.
    """

    layers: int = 5  # pairs of blocks: along examples, then along attributes and labels
    width: int = 64  # H, third mode between blocks
    heads: int = 4  # R
    head_width: int = 16  # H_K = H_V
    ff_width: int = 128  # hidden units of FF
    ff_layers: int = 2  # linear maps in FF
    channels: int = 8  # H^(B): embedding channels an attribute
    residual: Residual = "prenorm"  # "paper": Z W + FF(LN(MVSA(Z))); "none": the ablation w/oRes
    layer_norm: bool = True  # False: the ablation w/oLN
    example_attention: bool = True  # False: the ablation AttributeAttn
    attribute_attention: bool = True  # False: the ablation ExampleAttn
    observed_indicator: bool = True  # False: the ablation w/oObsInd
    kind_indicator: bool = True  # False: the ablation w/oAttLabInd
    standardize: bool = True  # z-scores and ranks of each attribute over the rows of the task
    head: Literal["prototype", "label_propagation", "gp"] = "prototype"
    readout: bool = True  # add what an unlabeled row's own label slots say to what the head says
    kernel_ridge: bool = False  # read the answers of kernel ridge regression, and follow them as far as they serve
    structure: bool = False  # read what all rows of the table say of each (vsacli.structure)
    class_space: bool = False  # and of each class (vsacli.structure.class_space)
    more_kernels: bool = False  # with kernel_ridge: of kernels of few attributes as well, and of all together

    def __post_init__(self) -> None:
        heads = {"classification": ("prototype", "label_propagation"), "regression": ("gp",)}
        if self.kind not in heads:
            raise CheckpointError(f"unknown task kind {self.kind!r} in the model config")
        if self.head not in heads[self.kind]:
            raise CheckpointError(f"head {self.head!r} does not support {self.kind}; use one of {heads[self.kind]}")
        if self.residual not in ("paper", "prenorm", "none"):
            raise CheckpointError(f"unknown residual {self.residual!r} in the model config")
        self.check_sizes("layers", "width", "heads", "head_width", "ff_width", "ff_layers", "channels")
        if self.class_space and not (self.structure and self.kind == "classification"):
            raise CheckpointError("class_space goes with structure, in a network for classes")
        if self.more_kernels and not self.kernel_ridge:
            raise CheckpointError("more_kernels goes with kernel_ridge")
        if not (self.example_attention or self.attribute_attention):
            raise CheckpointError("a model without example and attribute attention has no blocks")

    @property
    def reads_structure(self) -> bool:
        """As `structure` says."""
        return self.structure

    @property
    def reads_class_space(self) -> bool:
        """As `class_space` says."""
        return self.class_space

    @property
    def can_be_asked(self) -> bool:
        """Pre-norm blocks keep what they have read; label propagation compares unlabeled rows with each other."""
        return self.residual == "prenorm" and self.head != "label_propagation"

    @property
    def kept_floats(self) -> int:
        """Keys and values of each layer along examples."""
        return 2 * self.layers * self.heads * self.head_width * self.example_attention

    @property
    def training_floats(self) -> int:
        """Two blocks a layer, each with projections, scores and the feed-forward network."""
        block = 8 * self.width + 6 * self.heads * self.head_width + 3 * self.ff_width * (self.ff_layers - 1)
        return 2 * self.layers * block

    @property
    def pass_floats(self) -> int:
        """The largest moment of a block holds about ten tensors of (N, S, H), attention included; in slices, four."""
        return (4 if self.residual == "prenorm" else 10) * max(self.width, self.heads * self.head_width)

    @property
    def least_tensors(self) -> int:
        """A weight for each linear map of each block."""
        return self.layers * self.ff_layers

    def describe(self) -> str:
        """Layers, widths and head."""
        axes = (("examples", self.example_attention), ("attributes and labels", self.attribute_attention))
        blocks = " and ".join(name for name, on in axes if on)
        return (
            f"{self.layers} layers of attention along {blocks}, width {self.width}, {self.heads} heads of"
            f" {self.head_width}, {self.residual} residuals, {self.head} head"
            + (", reading kernel ridge answers" if self.kernel_ridge else "")
            + (" of many kernels" if self.more_kernels else "")
            + (", reading the structure of the whole table" if self.structure else "")
            + (" and of its classes" if self.class_space else "")
        )


def preset(name: str, kind: Literal["classification", "regression"] = "classification", **changes: Any) -> VSAConfig:
    """A named configuration.

    Parameters
    ----------
    name : {"default", "small", "paper"}
        ``paper`` has exactly the hyperparameters of section 4.3 of the paper: three pairs of
        blocks, four heads, H_K = H_V = H = 32, H^(B) = 1, a three-layer FF of 32 units. The paper
        reads prototypes alone, so there is no readout.
    kind : {"classification", "regression"}
        The kind of tasks.
    **changes
        Fields to set otherwise.
    """
    head = "prototype" if kind == "classification" else "gp"
    if name == "default":
        config = VSAConfig(kind=kind, head=head)
    elif name == "small":
        config = VSAConfig(kind=kind, head=head, layers=3, width=32, heads=4, head_width=8, ff_width=64, channels=4)
    elif name == "paper":
        config = VSAConfig(
            kind=kind,
            head=head,
            layers=3,
            width=32,
            heads=4,
            head_width=32,
            ff_width=32,
            ff_layers=3,
            channels=1,
            residual="paper",
            standardize=False,
            readout=False,
        )
    else:
        raise CheckpointError(f"unknown preset {name!r}; there are default, small and paper")
    return replace(config, **changes)
