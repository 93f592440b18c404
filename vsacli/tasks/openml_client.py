"""openml-python behind a few functions: quiet, with time limits, and with errors that name the cause.

The client's own cache is used (its configuration file or OPENML_CACHE_DIR says where), and its configured server.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from vsacli.errors import ResourceError
from vsacli.kinds import TaskKind
from vsacli.support.locks import locked

if TYPE_CHECKING:
    import pandas as pd

TIMEOUT_S = 60.0
MAX_FILE_BYTES = 300_000_000
DATABASE_IS_DOWN = 107
KIND_OF_TYPE: dict[int, TaskKind] = {1: "classification", 2: "regression"}

P = ParamSpec("P")
R = TypeVar("R")


class Unreachable(Exception):
    """The server does not answer, or not as a server should: worth another try later."""


class Unusable(Exception):
    """The server's answer, or the data set, cannot be used: the message says why."""


@dataclass(frozen=True)
class TaskDescription:
    """What OpenML says of a task, without its data."""

    task_id: int
    data_id: int
    name: str
    kind: TaskKind
    target: str


@dataclass(frozen=True)
class Listed:
    """A task in OpenML's list, with the qualities that choose among tasks (NaN where OpenML has none)."""

    task_id: int
    data_id: int
    name: str
    target: str
    rows: float
    columns: float
    classes: float
    smallest_class: float


@contextmanager
def quiet_client() -> Iterator[None]:
    """Silence the client's logging and warnings, and give its requests a time limit (it sets none)."""
    root, silent, disabled = logging.getLogger(), logging.NullHandler(), logging.root.manager.disable
    # The client calls logging.warning(), which would install a handler that prints; with one there it does not.
    root.addHandler(silent)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import requests.adapters

            plain_send = requests.adapters.HTTPAdapter.send

            @functools.wraps(plain_send)
            def send(self: Any, request: Any, **options: Any) -> Any:
                options["timeout"] = options.get("timeout") or TIMEOUT_S
                return plain_send(self, request, **options)

            requests.adapters.HTTPAdapter.send = send  # pyright: ignore[reportAttributeAccessIssue]
            try:
                yield
            finally:
                requests.adapters.HTTPAdapter.send = plain_send
    finally:
        logging.disable(disabled)
        root.removeHandler(silent)


def translated(call: Callable[P, R]) -> Callable[P, R]:
    """Run a function on the client, quietly, and turn whatever it raises into `Unreachable` or `Unusable`."""

    @functools.wraps(call)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with quiet_client():
            import requests
            import urllib3
            from openml.exceptions import OpenMLCacheException, OpenMLServerError, OpenMLServerException

            try:
                return call(*args, **kwargs)
            except (Unreachable, Unusable):
                raise
            except (requests.RequestException, urllib3.exceptions.HTTPError, TimeoutError) as e:
                raise Unreachable(_one_line(e)) from e
            except OpenMLServerException as e:
                if e.code == DATABASE_IS_DOWN:
                    raise Unreachable(f"error {e.code}: {_one_line(e.message)}") from e
                raise Unusable(f"OpenML says (error {e.code}): {_one_line(e.message)}") from e
            except OpenMLServerError as e:
                raise Unreachable(_one_line(e)) from e
            except (OpenMLCacheException, PermissionError) as e:
                raise ResourceError(f"OpenML's cache cannot be written: {_one_line(e)}") from e
            except OSError as e:
                if e.errno is not None and not isinstance(e, FileNotFoundError):
                    raise ResourceError(f"OpenML's cache cannot be used: {_one_line(e)}") from e
                raise Unusable(_one_line(e)) from e
            except MemoryError as e:
                raise Unusable("does not fit in memory") from e
            except Exception as e:
                # Whatever a parser makes of a damaged file: the table is skipped, and named with this.
                cause = f" ({_one_line(e.__cause__)})" if e.__cause__ is not None else ""
                raise Unusable(_one_line(e) + cause) from e

    return wrapped


def check_client() -> None:
    """Load the client, which reads its configuration and makes its folders.

    Raises
    ------
    ResourceError
        They cannot be used.
    """
    with quiet_client():
        try:
            import openml  # noqa: F401
        except ImportError:
            raise
        except Exception as error:
            folder = Path(os.environ.get("XDG_CONFIG_HOME", "~/.config"), "openml")
            why = _one_line(error) if isinstance(error, OSError) else type(error).__name__  # lines of it may hold a key
            raise ResourceError(
                f"OpenML's client cannot start ({why}): correct or remove its configuration, {folder / 'config'}, and "
                f"see that OPENML_CACHE_DIR can be a folder"
            ) from None


def server_url() -> str:
    """The API address that the client is configured to use."""
    check_client()
    import openml

    return openml.config.server


@contextmanager
def use_server(url: str) -> Iterator[None]:
    """Let the client use another server than it is configured for."""
    check_client()
    import openml

    configured = openml.config.server
    openml.config.server = url
    try:
        yield
    finally:
        openml.config.server = configured


@contextmanager
def alone() -> Iterator[None]:
    """Keep other processes out of the client's cache of files.

    The client writes them in place: another process would take half a file for a damaged one, and remove it.
    """
    check_client()
    import openml

    folder = Path(openml.config.get_cache_directory())
    with suppress(OSError):  # the client itself says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".vsa.lock", wait=True):
        yield


@translated
def suite_task_ids(suite: int | str) -> list[int]:
    """The tasks of a suite, by its number or alias, each once."""
    import openml

    try:
        found = openml.study.get_suite(suite)
    except AssertionError:
        raise Unusable("that study is a collection of runs, not of tasks") from None
    return list(dict.fromkeys(int(i) for i in found.tasks or []))


@translated
def list_tasks(
    kind: TaskKind, *, rows: tuple[int, int], columns: tuple[int, int], classes: tuple[int, int]
) -> list[Listed]:
    """Active supervised tasks in OpenML's list whose data sets have sizes in the given ranges.

    The ranges are sent as filters; the caller checks them again, as qualities may be absent.
    """
    import openml

    filters: dict[str, Any] = {"number_instances": _between(rows), "number_features": _between(columns)}
    types = openml.tasks.TaskType
    if kind == "classification":
        filters["number_classes"] = _between(classes)
        task_type = types.SUPERVISED_CLASSIFICATION
    else:
        task_type = types.SUPERVISED_REGRESSION
    frame: Any = openml.tasks.list_tasks(task_type=task_type, output_format="dataframe", **filters)
    listed = []
    for row in frame.to_dict("records"):
        if row.get("status", "active") != "active":
            continue
        listed.append(
            Listed(
                task_id=int(row["tid"]),
                data_id=int(row["did"]),
                name=str(row["name"]),
                target=str(row.get("target_feature") or ""),
                rows=float(row.get("NumberOfInstances", "nan")),
                columns=float(row.get("NumberOfFeatures", "nan")),
                classes=float(row.get("NumberOfClasses", "nan")),
                smallest_class=float(row.get("MinorityClassSize", "nan")),
            )
        )
    return listed


@translated
def describe_task(task_id: int) -> TaskDescription:
    """The description of a task, from the client's cache or the server; its data are not fetched yet."""
    import openml

    def describe() -> TaskDescription:
        task: Any = openml.tasks.get_task(task_id, download_splits=False, download_data=False)
        kind = KIND_OF_TYPE.get(int(task.task_type_id.value))
        if kind is None:
            raise Unusable(f"neither classification nor regression ({task.task_type})")
        if not getattr(task, "target_name", None):
            raise Unusable("no target is named")
        dataset = openml.datasets.get_dataset(int(task.dataset_id), download_data=False)
        return TaskDescription(int(task_id), int(task.dataset_id), str(dataset.name), kind, str(task.target_name))

    try:
        return describe()
    except (Unusable, OSError, openml.exceptions.OpenMLServerError):
        raise
    except Exception:  # a cached file that was cut short: the client has removed it, so once more
        return describe()


def has_task(task_id: int, server: str) -> bool:
    """Whether the client's cache knows the task, so that asking for it may need no server."""
    import openml

    with use_server(server):
        return (Path(openml.config.get_cache_directory()) / "tasks" / str(task_id) / "task.xml").is_file()


@translated
def load_frame(task: TaskDescription) -> tuple[pd.DataFrame, pd.Series]:
    """The data of a task: columns without ids and ignored ones, and the target.

    A file in the client's cache that is damaged (a download that was cut off: its checksum differs, or it cannot be
    parsed) is fetched again, once.
    """
    import openml

    folder = Path(openml.config.get_cache_directory()) / "datasets" / str(task.data_id)
    was_there = any((folder / name).exists() for name in ("dataset.arff", f"dataset_{task.data_id}.pq"))
    try:
        return _load_frame(task)
    except (Unusable, OSError, MemoryError, openml.exceptions.OpenMLServerError):
        raise
    except Exception:
        if not was_there:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        return _load_frame(task)


def _load_frame(task: TaskDescription) -> tuple[pd.DataFrame, pd.Series]:
    import openml
    import pandas as pd

    dataset: Any = openml.datasets.get_dataset(task.data_id, download_data=True)
    path = Path(dataset.parquet_file or dataset.data_file)
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise Unusable(f"its file of {size / 1e6:,.0f} MB is larger than {MAX_FILE_BYTES / 1e6:,.0f} MB")
    if dataset.md5_checksum and path.suffix == ".arff" and _md5(path) != dataset.md5_checksum:
        raise ValueError(f"the checksum of {path.name} is not the one that OpenML names")
    frame: Any
    target: Any
    if dataset.format.lower() == "sparse_arff" and path.suffix == ".arff":
        frame = _sparse_frame(path, dropped=(dataset.row_id_attribute, *(dataset.ignore_attribute or ())))
        if task.target not in frame.columns:
            raise Unusable(f"the target {task.target!r} is not a column of it")
        return frame.drop(columns=task.target), frame[task.target]
    frame, target, _, _ = dataset.get_data(target=task.target, dataset_format="dataframe")
    if not isinstance(target, pd.Series):
        raise Unusable(f"the target {task.target!r} is not one column of it")
    return frame, target


def _sparse_frame(path: Path, dropped: tuple[str | None, ...]) -> pd.DataFrame:
    """A sparse ARFF file as a plain frame: a cell that is not given is 0, or the first value of a nominal attribute.

    The client's own reader fails on nominal attributes here with pandas 3.
    """
    import arff
    import pandas as pd

    with path.open(encoding="utf-8") as f:
        content: Any = arff.load(f, return_type=arff.LOD)
    columns = {}
    for j, (name, kind) in enumerate(content["attributes"]):
        if name not in dropped:
            absent = kind[0] if isinstance(kind, list) else "" if kind == "STRING" else 0.0
            columns[name] = [row.get(j, absent) for row in content["data"]]
    return pd.DataFrame(columns)


def _between(limits: tuple[int, int]) -> str:
    return f"{limits[0]}..{limits[1]}"


def _md5(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _one_line(error: object) -> str:
    text = " ".join(str(error).split())
    if not text:
        text = type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."
