"""The results of `vsa eval --suite … --pool`, apart for tables whose rows form groups and for all others.

    vsa eval --suite DIR --pool --shots 1,3,5,10 --json pool.jsonl
    python benchmarks/groups.py --suite DIR --records pool.jsonl --judged judged.jsonl

A table has groups if label propagation along the graph of nearest neighbours is at least 5 points of accuracy better
than logistic regression, on average over the numbers of labels, on --draws episodes of another seed than that of the
records: the labels that judge are not those that are judged. Records of the judging are kept in --judged, and an
unfinished run is resumed.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from vsacli.cli.evalreport import comparison_sections
from vsacli.cli.sections import show
from vsacli.evaluation.episodes import POOL_ROWS, EpisodePlan, Setting
from vsacli.evaluation.results import ResultsFile, read_records
from vsacli.evaluation.run import MethodSpec, Record, run_suite
from vsacli.evaluation.suites import load_suite

FOLLOWS, IGNORES = "graph", "logistic"
"""The method that follows groups, and the one that does not."""

AHEAD = 0.05
METRICS = ("accuracy", "balanced_accuracy")


def with_groups(judged: list[Record], ahead: float = AHEAD) -> set[str]:
    """Tables on which propagation is ahead of logistic regression by so much, on average over all their episodes."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in judged:
        if r.error is None:
            found[r.table][r.method].append(r.metrics["accuracy"])
    return {
        table
        for table, by in found.items()
        if by[FOLLOWS] and by[IGNORES] and np.mean(by[FOLLOWS]) - np.mean(by[IGNORES]) >= ahead
    }


def main() -> None:
    """Print the main tables of results twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--main", help="the method whose lead is shown; default: vsa if it is there, else the first")
    parser.add_argument("--draws", type=int, default=1)
    args = parser.parse_args()
    records = [r for r in read_records(args.records) if r.kind == "classification" and r.setting == Setting.pool]
    if not records:
        parser.error(f"{args.records} has no results of `vsa eval --pool` for classification")
    names = list(dict.fromkeys(r.method for r in records))
    main_method = args.main or ("vsa" if "vsa" in names else names[0])
    plan = EpisodePlan(
        tuple(sorted({r.shot for r in records})), POOL_ROWS, args.draws, records[0].seed + 1, Setting.pool
    )
    wanted = {r.table for r in records}
    store = load_suite(args.suite, split=args.split).select(kind="classification")
    tables = [t for t in store if t.name in wanted]
    specs = [MethodSpec.of(FOLLOWS), MethodSpec.of(IGNORES)]
    results = ResultsFile(args.judged, plan)
    done = {r.key for r in results.resume(specs)}
    for new in run_suite(tables, plan, specs, done=done):
        results.add(new)
    marked = with_groups([r for r in results.records if r.table in wanted])
    sections = []
    for title, chosen in (("with groups", marked), ("without groups", wanted - marked)):
        own = [r for r in records if r.table in chosen]
        if own:
            sections += comparison_sections(f"{len(chosen)} tables {title}", own, METRICS, main_method)
    show(sections)


if __name__ == "__main__":
    main()
