"""Which methods take part in a comparison, and what each checkpoint is called in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vsacli.baselines.registry import METHODS, absent, known_method, method_names
from vsacli.errors import UsageError
from vsacli.evaluation.plots import Embedding, Picture
from vsacli.evaluation.run import MethodSpec
from vsacli.kinds import TaskKind
from vsacli.methods.registry import NETWORKS
from vsacli.tasks.episode import Episode

# What an analyst would compare on one table: the network, strong methods that need no tuning, and what
# anyone could guess; with --thorough, more of the strongest.
TABLE_METHODS = {
    "classification": ("vsa", "forest", "logistic", "prior"),
    "regression": ("vsa", "kernel-ridge", "forest", "ridge", "prior"),
}
THOROUGH_METHODS = {
    "classification": ("vsa", "forest", "logistic", "kernel-ridge", "class-graph", "prior"),
    "regression": ("vsa", "kernel-ridge", "forest", "ridge", "gp", "prior"),
}


def choose_methods(
    asked: str | None, default: Sequence[str] | None, kind: TaskKind, checkpoints: Sequence[str], device: str
) -> list[MethodSpec]:
    """The methods of a comparison: as asked, else `default`, else all; and the network of each checkpoint.

    A checkpoint takes part as the method that trained it, whether that was asked for or not. The method `vsa` has a
    bundled one if none is given. Optional methods that are absent are left out (:func:`absent_methods`).

    Raises
    ------
    UsageError
        An unknown method, one that does not serve this kind of task, or one that was not trained yet.
    CheckpointError
        No such checkpoint.
    """
    trained = _by_method(checkpoints)
    names = list(default) if default is not None else method_names(kind)
    if asked is not None and asked.strip() != "all":
        names = asked_methods(asked)
        if not names:
            raise UsageError(f"--methods is empty; known: {', '.join(METHODS)}")
    elif asked is not None:
        names = method_names(kind)
    missing = dict(absent_methods(names, kind))
    names = [n for n in names if n not in missing]
    if not names and not trained:
        reasons = "; ".join(f"{n}: {why}" for n, why in missing.items())
        raise UsageError(f"no method to compare ({reasons}); known: {', '.join(method_names(kind))}")
    for n in names:
        known_method(n)
        if kind not in METHODS[n].kinds:
            raise UsageError(f"method '{n}' does not support {kind}; methods that do: {', '.join(method_names(kind))}")
        if METHODS[n].trained and n not in trained:
            raise UsageError(
                f"method '{n}' has no network yet: train one with vsa meta-train --method {n} --output RUN, and give "
                "it with --checkpoint RUN"
            )
    more = [n for n in trained if n not in names]
    names = [n for n in more if n == "vsa"] + names + [n for n in more if n != "vsa"]
    specs = []
    for n in dict.fromkeys(names):
        if n in trained:
            labels = _checkpoint_labels(n, trained[n])
            specs += [MethodSpec.of(n, label, checkpoint=c, device=device) for c, label in labels.items()]
        else:
            specs.append(MethodSpec.of(n, device=device) if n == "vsa" else MethodSpec.of(n))
    return specs


def absent_methods(names: Sequence[str], kind: TaskKind) -> list[tuple[str, str]]:
    """The optional methods among these (or among all, where "all" is one) that are not here, and why."""
    known = METHODS if "all" in names else names
    asked = [n for n in known if n in METHODS and METHODS[n].optional and kind in METHODS[n].kinds]
    return [(n, why) for n in asked if (why := absent(n, kind)) is not None]


def asked_methods(text: str | None) -> list[str]:
    """The names in what was asked for; nothing asked for is all."""
    return ["all"] if text is None else [n.strip() for n in text.split(",") if n.strip()]


def _by_method(checkpoints: Sequence[str]) -> dict[str, list[str]]:
    """Checkpoints by the method that trained them, in the order given; the same one once."""
    from vsacli.checkpoints.resolve import method_of

    found: dict[str, list[str]] = {}
    for ref in {Path(c).parts: c for c in checkpoints}.values():
        found.setdefault(method_of(ref), []).append(ref)
    return found


def _checkpoint_labels(method: str, refs: Sequence[str]) -> dict[str, str]:
    """What to call each checkpoint of a method: the method alone, else with the shortest names that tell them apart."""
    if len(refs) == 1:
        return {refs[0]: method}
    parts = [Path(ref).parts for ref in refs]
    depth = 1
    while len({p[-depth:] for p in parts}) < len(refs):
        depth += 1
    return {ref: f"{method}:{'/'.join(p[-depth:])}" for ref, p in zip(refs, parts, strict=True)}


def load_checkpoints(specs: Sequence[MethodSpec], kind: TaskKind) -> None:
    """Fail before the work on a checkpoint that is absent or of the other kind."""
    for spec in specs:
        if spec.method in NETWORKS:
            from vsacli.baselines.trained import load

            load(dict(spec.settings).get("checkpoint"), kind)


def picture(episode: Episode, specs: Sequence[MethodSpec]) -> Picture:
    """The original data of an episode and the embeddings of each checkpoint, as in the paper's Figure 5."""
    from vsacli.baselines.base import standardize

    views: list[Embedding] = [("original data", standardize(episode.x))]
    for spec in specs:
        if spec.method in NETWORKS:
            from vsacli.baselines.trained import embeddings

            views.append((f"embeddings, {spec.label}", embeddings(dict(spec.settings).get("checkpoint"), episode)))
    return episode, views
