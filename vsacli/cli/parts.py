"""What `vsa label` does with a folder of Parquet parts: its options, and the choice of the engine."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.labeling.parts.engines import Engine


class EngineChoice(StrEnum):
    local = "local"
    ray = "ray"


Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Folders: parts labeled at a time, one process each. Example: vsa label parts/ -t y -o done/ --workers 4",
    ),
]
EngineOption = Annotated[
    EngineChoice,
    typer.Option("--engine", metavar="NAME", help="Folders: local, or ray (pip install 'vsacli[ray]')."),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="The cluster of --engine ray: HOST:PORT, ray://HOST:PORT or auto. Example: --engine ray "
        "--ray-address head:6379. Default: RAY_ADDRESS, else Ray is started here.",
    ),
]


def choose_engine(engine: EngineChoice, workers: int | None, ray_address: str | None) -> Engine:
    """The engine that labels the parts.

    Raises
    ------
    UsageError
        Ray is asked for and not installed, or an address is given and Ray is not asked for.
    """
    if ray_address is not None and engine is not EngineChoice.ray:
        raise UsageError(f"--ray-address {ray_address} needs --engine ray")
    if engine is EngineChoice.ray:
        from vsacli.labeling.parts.rayengine import on_ray

        return on_ray(ray_address, workers)
    from vsacli.labeling.parts.engines import here, in_processes

    return here if workers is None or workers == 1 else in_processes(workers)


def refuse_options_of_folders(file: str, engine: EngineChoice, workers: int | None, ray_address: str | None) -> None:
    """Raise UsageError for options that do not apply to a single table."""
    given = {
        "--engine": engine is not EngineChoice.local,
        "--workers": workers is not None,
        "--ray-address": ray_address is not None,
    }
    if name := next((name for name, is_given in given.items() if is_given), None):
        raise UsageError(f"{name} is for a folder of Parquet parts, and {file} is not a folder; leave it out")
