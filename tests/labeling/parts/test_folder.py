"""Which files are parts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.errors import DataError, OutputError, UsageError
from vsacli.labeling.parts.folder import check_folders, check_parts, find_parts


def put(folder: Path, name: str, **columns) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_parts_are_sorted_and_notes_of_other_programs_are_left_alone(tmp_path: Path):
    for name in ("b.parquet", "year=2024/part%200.PQ", "year=2023/z.snappy.parquet", "_temporary/x.parquet"):
        put(tmp_path, name, x=[1])
    put(tmp_path, ".part.parquet", x=[1])
    for name in ("_SUCCESS", ".b.parquet.crc", "readme.txt"):
        (tmp_path / name).write_bytes(b"")
    parts, others = find_parts(str(tmp_path))
    assert [part.name for part in parts] == ["b.parquet", "year=2023/z.snappy.parquet", "year=2024/part%200.PQ"]
    assert [part.keys for part in parts] == [(), (("year", "2023"),), (("year", "2024"),)]
    assert others == ["readme.txt"]


def test_keys_of_folder_names_become_the_last_columns(tmp_path: Path):
    put(tmp_path, "town=K%C3%B6ln/k=__HIVE_DEFAULT_PARTITION__/0.parquet", x=[1, 2], k=[3, 4])
    columns, parts = check_parts(find_parts(str(tmp_path))[0])
    assert columns == ["x", "k", "town"]
    assert parts[0].keys == (("town", "Köln"), ("k", None))
    assert parts[0].n_rows == 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": [1], "z": [1]}, r"p1\.parquet lacks the column 'y', which .*p0\.parquet has"),
        ({"x": [1], "y": ["a"], "z": [1]}, r"p1\.parquet has the column 'z', which .*p0\.parquet has not"),
        ({"y": ["a"], "x": [1]}, r"p1\.parquet has the column 'y' in another place"),
        ({"x": ["1"], "y": ["a"]}, r"p1\.parquet: column 'x' is string, and in .*p0\.parquet int64"),
    ],
)
def test_a_part_of_another_schema_is_named_with_the_column(tmp_path: Path, other: dict, message: str):
    put(tmp_path, "p0.parquet", x=[1], y=["a"])
    put(tmp_path, "p1.parquet", **other)
    with pytest.raises(DataError, match=message):
        check_parts(find_parts(str(tmp_path))[0])


def test_width_of_the_codes_of_a_category_is_no_difference(tmp_path: Path):
    put(tmp_path, "p0.parquet", x=pa.array(["a"]).dictionary_encode())
    put(tmp_path, "p1.parquet", x=pa.array(["b"]).cast(pa.dictionary(pa.int16(), pa.string())))
    columns, parts = check_parts(find_parts(str(tmp_path))[0])
    assert (columns, len(parts)) == (["x"], 2)


def test_folders_that_are_named_differently(tmp_path: Path):
    put(tmp_path, "year=1/p.parquet", x=[1])
    put(tmp_path, "month=1/p.parquet", x=[1])
    with pytest.raises(DataError, match=r"year=1.*its folders are named year=…, those of .*month=1.* month=…"):
        check_parts(find_parts(str(tmp_path))[0])


def test_linked_folders_hold_parts_too(tmp_path: Path):
    put(tmp_path, "elsewhere/p.parquet", x=[1])
    put(tmp_path, "in/a/p.parquet", x=[1])
    (tmp_path / "in" / "b").symlink_to(tmp_path / "elsewhere")
    assert [part.name for part in find_parts(str(tmp_path / "in"))[0]] == ["a/p.parquet", "b/p.parquet"]
    (tmp_path / "in" / "a" / "up").symlink_to(tmp_path / "in")
    with pytest.raises(DataError, match=r"a/up is a link to a folder that it lies in; remove the link"):
        find_parts(str(tmp_path / "in"))


def test_folders_without_parts(tmp_path: Path):
    with pytest.raises(DataError, match="a folder without Parquet parts"):
        find_parts(str(tmp_path))
    (tmp_path / "data.csv").write_bytes(b"x,y\n")
    with pytest.raises(DataError, match=r"data\.csv is not Parquet: name one file"):
        find_parts(str(tmp_path))


def test_places_where_labeled_parts_cannot_go(tmp_path: Path):
    source = tmp_path / "in"
    put(source, "p.parquet", x=[1])
    parts, _ = find_parts(str(source))
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(source)
    for output in (None, "-"):
        with pytest.raises(UsageError, match="name the folder"):
            check_folders(str(source), output, parts)
    for output in (source, source / "out", tmp_path, tmp_path / "link"):
        with pytest.raises(UsageError, match="cannot be labeled in place"):
            check_folders(str(source), str(output), parts)
    for output, why in ((tmp_path / "file", "it is a file"), (tmp_path / "file" / "out", "is a file, not a directory")):
        with pytest.raises(OutputError, match=why):
            check_folders(str(source), str(output), parts)
    put(tmp_path / "full", "p.parquet", x=[1])  # an older result is replaced
    check_folders(str(source), str(tmp_path / "full"), parts)
    check_folders(str(source), str(tmp_path / "full"), parts, labeled=["-"])
    with pytest.raises(UsageError, match=r"would replace .*p\.parquet, which is an input"):
        check_folders(str(source), str(tmp_path / "full"), parts, labeled=[str(tmp_path / "full" / "p.parquet")])
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "p.parquet").symlink_to(source / "p.parquet")
    with pytest.raises(UsageError, match=r"would replace .*in/p\.parquet, which is an input"):
        check_folders(str(source), str(tmp_path / "links"), parts)
    put(tmp_path / "full", "deep/old.parquet", x=[1])
    with pytest.raises(OutputError, match=r"holds deep/old\.parquet, which .*in does not"):
        check_folders(str(source), str(tmp_path / "full"), parts)
    assert not (tmp_path / "new").exists()
    check_folders(str(source), str(tmp_path / "new" / "deep"), parts)
    assert not (tmp_path / "new").exists()
