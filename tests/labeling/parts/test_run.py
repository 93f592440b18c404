"""A folder of parts, labeled: the same context for all, everything but the filled cells as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.labeling.parts.conftest import LabelParts, MakeParts, bytes_of, options
from vsacli.errors import DataError, OutputError, ResourceError, UsageError
from vsacli.labeling.parts import engines
from vsacli.labeling.parts import plan as plan_module
from vsacli.labeling.parts import sample as sample_module
from vsacli.labeling.parts.engines import here
from vsacli.labeling.parts.folder import Part, check_parts, find_parts
from vsacli.labeling.parts.plan import Plan, make_plan
from vsacli.labeling.parts.record import NAME, Record
from vsacli.labeling.parts.work import PartReport, label_part
from vsacli.labeling.run import label_table
from vsacli.support.progress import Progress
from vsacli.tables.read import read_table


def read(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()


def test_each_part_comes_back_with_the_missing_labels_alone_filled(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path
):
    folder = make_parts()
    before = bytes_of(folder)
    report = label_parts(folder)
    assert bytes_of(folder) == before
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.listdir(folder))
    for path in sorted(folder.iterdir()):
        old, new = read(path), read(tmp_path / "out" / path.name)
        assert new.schema == old.schema
        assert new.drop_columns("y") == old.drop_columns("y")
        assert new["y"].to_pylist() == ["ab"[c] for c in old["truth"].to_pylist()]
        assert pq.ParquetFile(tmp_path / "out" / path.name).num_row_groups == 3
    assert (report.rows, report.columns, report.missing) == (36, 4, 24)
    assert (report.given, report.filled) == ({"a": 6, "b": 6}, {"a": 12, "b": 12})
    assert report.missing_tokens == {"": 24}
    assert report.mean_confidence is not None
    assert 0.5 < report.mean_confidence <= 1


def test_a_single_part_gets_the_bytes_of_the_file_alone(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    folder = make_parts(1, 400)
    report = label_parts(folder, confidence=True)
    table = read_table(folder / "part-0.parquet")
    run = label_table(table, options(confidence=True))
    with open(tmp_path / "alone.parquet", "wb") as sink:
        run.write(sink)
    assert (tmp_path / "out" / "part-0.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    assert report.filled == run.report.filled
    assert report.used == run.report.used
    assert report.mean_confidence == pytest.approx(run.report.mean_confidence)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_small_folder_gets_the_labels_of_its_file(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """All parts one below the other as one file; workers are not started, since nothing is left for them."""

    def number(p: int, table: pa.Table) -> pa.Array:
        given = [label is not None for label in table["y"].to_pylist()]
        return pa.array([round(v, 2) if g else None for v, g in zip(table["x"].to_pylist(), given, strict=True)])

    folder = make_parts(3, 60, **({"y": number} if kind == "numbers" else {}))
    monkeypatch.setattr(engines, "ProcessPoolExecutor", None)
    report = label_parts(folder, confidence=True, engine=engines.in_processes(3))
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.concat_tables([read(folder / f"part-{p}.parquet") for p in range(3)]), whole)
    run = label_table(read_table(whole), options(confidence=True))
    with (tmp_path / "alone.parquet").open("wb") as sink:
        run.write(sink)
    parts = pa.concat_tables([read(tmp_path / "out" / f"part-{p}.parquet") for p in range(3)])
    assert parts.to_pydict() == read(tmp_path / "alone.parquet").to_pydict()
    assert (report.given, report.missing, report.filled) == (run.report.given, run.report.missing, run.report.filled)
    assert report.graph_rows == run.report.graph_rows


def backwards(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
    for part in reversed(parts):
        yield label_part(plan, part, output, at_a_time=2)


def test_the_order_in_which_parts_are_finished_and_threads_change_nothing(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path
):
    folder = make_parts(3, 300)
    one = label_parts(folder, "forwards", confidence=True)
    other = label_parts(folder, "backwards", confidence=True, engine=backwards)
    assert bytes_of(tmp_path / "forwards") == bytes_of(tmp_path / "backwards")
    assert one == other


def test_many_classes_are_read_in_the_same_groups_in_every_part(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forty groups on a lattice of two attributes; the first part alone has labels."""
    rows = np.arange(160)

    def place(p: int, table: pa.Table) -> pa.Array:
        return pa.array(10.0 * (rows % 8) + np.random.default_rng(p).normal(0, 0.3, 160))

    def height(p: int, table: pa.Table) -> pa.Array:
        return pa.array(10.0 * (rows % 40 // 8) + np.random.default_rng(9 + p).normal(0, 0.3, 160))

    def label(p: int, table: pa.Table) -> pa.Array:
        return pa.array([f"group {r % 40}" if p == 0 and r < 80 else None for r in rows])

    monkeypatch.setattr(plan_module, "WHOLE_ROWS", 0)
    folder = make_parts(3, 160, x=place, word=height, truth=lambda p, table: pa.array(rows % 40), y=label)
    report = label_parts(folder, "forwards", confidence=True)
    label_parts(folder, "backwards", confidence=True, engine=backwards)
    assert bytes_of(tmp_path / "forwards") == bytes_of(tmp_path / "backwards")
    assert report.filled == {f"group {c}": 10 for c in range(40)}
    assert report.graph_rows == 480
    for p in range(3):
        table = read(tmp_path / "forwards" / f"part-{p}.parquet").to_pydict()
        assert table["y"] == [f"group {c}" for c in table["truth"]]


def test_labels_of_one_part_serve_the_others(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    def given_in_the_last(p: int, table: pa.Table) -> pa.Array:
        return pa.array(["ab"[c] if p == 2 else None for c in table["truth"].to_pylist()], pa.string())

    folder = make_parts(y=given_in_the_last)
    label_parts(folder)
    for path in folder.iterdir():
        new = read(tmp_path / "out" / path.name)
        assert new["y"].to_pylist() == ["ab"[c] for c in new["truth"].to_pylist()]
    last = (folder / "part-2.parquet").read_bytes()
    assert (tmp_path / "out" / "part-2.parquet").read_bytes() == last  # nothing to fill in it


def test_a_token_means_the_same_in_all_parts(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    """Codes beside NA make it a class; that they stand in other parts makes no difference."""

    def codes(p: int, table: pa.Table) -> pa.Array:
        names = [("EU", "NA"), ("EU", "AS"), (None, None)][p]
        return pa.array([names[c] if i < 6 else None for i, c in enumerate(table["truth"].to_pylist())], pa.string())

    folder = make_parts(y=codes)
    report = label_parts(folder)
    assert report.given == {"EU": 6, "NA": 3, "AS": 3}
    assert any("'NA' is taken as a class" in note for note in report.notes)
    assert read(tmp_path / "out" / "part-0.parquet")["y"].to_pylist()[:6] == ["EU", "NA"] * 3
    report = label_parts(folder, "again", na=("NA", "AS"))
    assert report.given == {"EU": 6}
    assert report.missing_tokens == {"": 24, "NA": 3, "AS": 3}
    assert read(tmp_path / "again" / "part-1.parquet")["y"].to_pylist() == ["EU"] * 12


@pytest.mark.parametrize(
    "kind",
    [pa.int16(), pa.float32(), pa.bool_(), pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.string_view()],
    ids=str,
)
def test_types_of_the_target(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, kind: pa.DataType):
    def typed(p: int, table: pa.Table) -> pa.Array:
        given = [None if y is None else int(y == "b") for y in table["y"].to_pylist()]
        if kind in (pa.int16(), pa.float32(), pa.bool_()):
            return pa.array(given).cast(kind)
        return pa.array([None if g is None else str(g) for g in given], pa.string()).cast(kind)

    folder = make_parts(y=typed)
    label_parts(folder, task="classification")
    for path in folder.iterdir():
        new = read(tmp_path / "out" / path.name)
        assert new.schema == read(path).schema
        assert [int(float(y)) for y in new["y"].to_pylist()] == new["truth"].to_pylist()


def test_numbers(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    def prices(p: int, table: pa.Table) -> pa.Array:
        exact = np.array(table["x"]) * 10 + np.arange(12) / 8
        return pa.array(exact, mask=np.arange(12) % 6 >= 3)

    report = label_parts(make_parts(y=prices), task="regression", confidence=True)
    assert (report.kind, report.filled, report.given) == ("regression", {"": 18}, {"": 18})
    new = read(tmp_path / "out" / "part-1.parquet")
    assert new["y"].null_count == 0
    filled = np.array(new["y"])[np.arange(12) % 6 >= 3]
    assert (filled[np.array(new["truth"])[np.arange(12) % 6 >= 3] == 1] > 60).all()
    std = [value for value in new["y_std"].to_pylist() if value is not None]
    every = [s for p in range(3) for s in read(tmp_path / "out" / f"part-{p}.parquet")["y_std"].to_pylist() if s]
    assert len(std) == 6
    assert report.mean_std == pytest.approx(np.mean(every))


def test_a_column_that_is_empty_in_some_parts(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    def sometimes(p: int, table: pa.Table) -> pa.Array:
        return pa.array(["r", "s"] * 6 if p == 1 else [None] * 12, pa.string())

    report = label_parts(make_parts(extra=sometimes))
    assert "extra" in report.used
    assert read(tmp_path / "out" / "part-2.parquet")["y"].null_count == 0


def test_keys_of_folder_names_are_attributes(label_parts: LabelParts, tmp_path: Path):
    for key in ("left", "right"):
        (tmp_path / "in" / f"side={key}").mkdir(parents=True)
        y = pa.array([key[0] if i < 6 else None for i in range(20)])
        pq.write_table(
            pa.table({"x": np.random.default_rng(0).normal(size=20), "y": y}), tmp_path / f"in/side={key}/0.parquet"
        )
    report = label_parts(tmp_path / "in", exclude=())
    assert report.used == {"x": 1, "side": 1}
    for key in ("left", "right"):
        new = read(tmp_path / "out" / f"side={key}" / "0.parquet")
        assert new.column_names == ["x", "y"]
        assert new["y"].to_pylist() == [key[0]] * 20
    with pytest.raises(UsageError, match="'side' is in the folder names"):
        label_parts(tmp_path / "in", "other", target="side", exclude=())


def test_labels_from_another_table(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    folder = make_parts()
    for path in folder.iterdir():
        pq.write_table(read(path).drop_columns("y"), path)
    source = tmp_path / "given.csv"
    source.write_text("y,x,word\na,1.1,low\nb,9.2,high\na,0.8,low\nb,8.7,high\n,5,low\n", encoding="utf-8")
    report = label_parts(folder, labeled=[read_table(source)], labeled_paths=[str(source)])
    assert (report.given, report.missing, report.filled) == ({"a": 2, "b": 2}, 36, {"a": 18, "b": 18})
    assert report.missing_tokens == {"": 36}
    new = read(tmp_path / "out" / "part-2.parquet")
    assert new.column_names == ["x", "word", "truth", "y"]
    assert new["y"].to_pylist() == ["ab"[c] for c in new["truth"].to_pylist()]
    assert sum("it was added as the last one" in note for note in report.notes) == 1


def test_one_class_and_nothing_missing_need_no_network(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    report = label_parts(make_parts(names=("a", "a")))
    assert (report.checkpoint, report.filled) == (None, {"a": 24})
    full = tmp_path / "out"
    again = label_parts(full, "again")
    assert (again.missing, again.filled) == (0, {"a": 0})
    assert bytes_of(tmp_path / "again") == bytes_of(full)


def test_a_large_folder_is_sampled_and_its_row_numbers_are_no_attribute(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sample_module, "SAMPLE_CELLS", 0)  # the least sample: 2,000 rows
    monkeypatch.setattr(sample_module, "LABELED_CELLS", 0)  # 1,000 labeled rows
    rng = np.random.default_rng(0)
    folder = make_parts(3, 1500, counter=lambda p, t: pa.array(rng.permutation(1500) + 1500 * p))
    report = label_parts(folder)
    assert ("counter", "an id: integers without a gap") in report.left_out
    assert report.used == {"x": 1, "word": 1}
    assert report.notes == [
        "of 1,500 labeled rows a sample of 1,000 is read with every part",
        next(note for note in report.notes if note.startswith("column types were decided from a sample of")),
    ]
    for path in folder.iterdir():
        new = read(tmp_path / "out" / path.name)
        assert new["y"].to_pylist() == ["ab"[c] for c in new["truth"].to_pylist()]


def test_every_class_is_among_the_sampled_labels(make_parts: MakeParts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sample_module, "LABELED_CELLS", 0)

    def rare(p: int, table: pa.Table) -> pa.Array:
        return pa.array([None if i == 0 else f"c{i}" if i < 9 else "many" for i in range(1500)])

    columns, parts = check_parts(find_parts(str(make_parts(2, 1500, y=rare)))[0])
    plan = make_plan("in", columns, parts, options(), labeled=(), progress=lambda *_: None)
    assert plan.network is not None
    assert len(plan.network.y) == len(plan.network.labeled) == 1000
    assert set(plan.network.y) == set(range(9))


def test_rows_are_asked_about_beside_different_ones(make_parts: MakeParts, monkeypatch: pytest.MonkeyPatch):
    """As in a table: a row that a folder repeats is read once."""
    monkeypatch.setattr(plan_module, "WHOLE_ROWS", 0)

    def few(p: int, table: pa.Table) -> pa.Array:
        return pa.array([float(i % 20) for i in range(900)])

    columns, parts = check_parts(find_parts(str(make_parts(2, 900, x=few)))[0])
    plan = make_plan("in", columns, parts, options(), labeled=(), progress=lambda *_: None)
    assert plan.network is not None
    beside = plan.network.beside
    assert len(beside) == len(np.unique(beside, axis=0)) == 20


def test_where_a_folder_is_cut_into_parts_changes_no_answer(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Small parts and large ones: all rows are asked about beside the same ones."""
    monkeypatch.setattr(plan_module, "WHOLE_ROWS", 0)
    folder = make_parts(3, 300)
    rows = pa.concat_tables([read(folder / f"part-{p}.parquet") for p in range(3)])
    other = tmp_path / "other"
    other.mkdir()
    for p, (start, stop) in enumerate([(0, 40), (40, 820), (820, 900)]):
        pq.write_table(rows.slice(start, stop - start), other / f"part-{p}.parquet")
    found = []
    for source, output in ((folder, "out"), (other, "out-of-other")):
        label_parts(source, output, confidence=True)
        found.append(pa.concat_tables([read(tmp_path / output / f"part-{p}.parquet") for p in range(3)]))
    assert found[0]["y"].equals(found[1]["y"])
    confidence = [np.array(table["y_confidence"].to_pylist(), float) for table in found]
    np.testing.assert_allclose(confidence[1], confidence[0], rtol=1e-4)


class Interrupted(Exception):
    pass


def stopping_after(number: int):
    def engine(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        for i, part in enumerate(parts):
            if i == number:
                raise Interrupted
            yield label_part(plan, part, output)

    return engine


def test_an_interrupted_run_goes_on(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    folder = make_parts(4)
    whole = label_parts(folder, "whole")
    with pytest.raises(Interrupted):
        label_parts(folder, engine=stopping_after(2))
    out = tmp_path / "out"
    assert sorted(os.listdir(out)) == [NAME, "part-0.parquet", "part-1.parquet"]
    (out / ".vsa-0123.tmp").write_bytes(b"left by a killed run")
    worked: list[str] = []

    def watching(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        worked.extend(part.name for part in parts)
        yield from here(plan, parts, output, progress)

    report = label_parts(folder, engine=watching)
    assert worked == ["part-2.parquet", "part-3.parquet"]
    assert bytes_of(out) == bytes_of(tmp_path / "whole")
    note = "resuming an interrupted run: 2 of 4 parts were finished and are kept"
    assert note in report.notes
    report.notes.remove(note)
    assert report == whole


@pytest.mark.parametrize("change", ["option", "input", "output", "record"])
def test_what_is_changed_is_labeled_again(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, change: str):
    folder = make_parts(3)
    with pytest.raises(Interrupted):
        label_parts(folder, engine=stopping_after(2))
    record = tmp_path / "out" / NAME
    changes = {}
    if change == "option":
        changes = {"confidence": True}
    elif change == "input":
        os.utime(folder / "part-2.parquet", ns=(0, 0))
    elif change == "output":
        (tmp_path / "out" / "part-1.parquet").write_bytes(b"something else")
    else:
        lines = record.read_text(encoding="utf-8").splitlines()
        assert json.loads(lines[2])["name"] == "part-1.parquet"
        record.write_text("\n".join([*lines[:2], lines[2][:20]]), encoding="utf-8")  # the power went
    report = label_parts(folder, **changes)
    again = f"{tmp_path / 'out'} holds an unfinished run of other inputs or options: all parts are labeled again"
    kept = "resuming an interrupted run: 1 of 3 parts were finished and are kept"
    assert (again in report.notes, kept in report.notes) == (
        change in ("option", "input"),
        change in ("output", "record"),
    )
    label_parts(folder, "whole", **changes)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")


def test_an_error_of_one_part_names_it_and_keeps_the_others(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(plan_module, "WHOLE_ROWS", 0)  # each part is answered by itself
    folder = make_parts(3)

    def failing(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        yield label_part(plan, parts[0], output)
        data = bytearray((folder / "part-1.parquet").read_bytes())
        data[8:200] = bytes(192)
        (folder / "part-1.parquet").write_bytes(data)
        yield label_part(plan, parts[1], output)

    with pytest.raises(DataError, match=r"part-1\.parquet: .*damaged.*; 1 of 3 parts are labeled and kept"):
        label_parts(folder, engine=failing)
    assert sorted(os.listdir(tmp_path / "out")) == [NAME, "part-0.parquet"]


def test_a_failure_ends_the_engine_and_leaves_no_pieces(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def engine(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        try:
            yield label_part(plan, parts[0], output)
        finally:
            Path(output, ".vsa-0.tmp").write_bytes(b"")  # of a worker that was ended
            Path(output, "ended").write_bytes(b"")

    def full(*_: object) -> None:
        raise OutputError("no room")

    monkeypatch.setattr(Record, "add", full)
    with pytest.raises(OutputError, match="no room"):
        label_parts(make_parts(2), engine=engine)
    assert sorted(os.listdir(tmp_path / "out")) == [NAME, "ended", "part-0.parquet"]


def test_a_file_where_a_folder_of_parts_should_be(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    make_parts(1, folder="in")
    (tmp_path / "in" / "deep").mkdir()
    (tmp_path / "in" / "part-0.parquet").rename(tmp_path / "in" / "deep" / "part-0.parquet")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "deep").write_bytes(b"mine")
    with pytest.raises(OutputError, match=r"part-0\.parquet: cannot write .*out/deep/part-0\.parquet: File exists"):
        label_parts(tmp_path / "in")
    assert (tmp_path / "out" / "deep").read_bytes() == b"mine"


def test_errors_that_know_no_part_get_its_name(make_parts: MakeParts, label_parts: LabelParts, monkeypatch):
    from vsacli.inference import predict

    def full(*_: object, **__: object) -> None:
        raise ResourceError("no room")

    monkeypatch.setattr(predict, "predict", full)
    monkeypatch.setattr(plan_module, "WHOLE_ROWS", 0)
    folder = make_parts(2)
    with pytest.raises(ResourceError, match=r"part-0\.parquet: no room$"):
        label_parts(folder)


def test_a_label_that_is_no_number_is_found_in_its_part(make_parts: MakeParts, label_parts: LabelParts):
    def words(p: int, table: pa.Table) -> pa.Array:
        return pa.array([None if i < 6 else "x" if (p, i) == (1, 8) else f"{i}.5" for i in range(12)])

    with pytest.raises(DataError, match=r"row 9 of .*part-1\.parquet"):
        label_parts(make_parts(y=words), task="regression")
