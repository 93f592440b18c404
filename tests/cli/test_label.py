"""Each option of `vsa label`, on a table with an evident answer."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(data.decode("utf-8-sig").splitlines()))


def test_output_goes_to_a_file_and_standard_output_stays_empty(vsa, two_groups, write, tmp_path: Path):
    path = write("in.csv", two_groups.csv())
    result = vsa("label", path, "-t", "label", "-o", tmp_path / "out.csv")
    assert (result.code, result.stdout) == (0, b"")
    assert [row["label"] for row in table((tmp_path / "out.csv").read_bytes())] == two_groups.truth


def test_output_may_be_the_input(vsa, two_groups, write):
    path = write("in.csv", two_groups.csv())
    assert vsa("label", path, "-t", "label", "-o", path).code == 0
    assert [row["label"] for row in table(path.read_bytes())] == two_groups.truth


def test_task_is_told_with_its_reason(vsa, two_groups, write):
    path = write("in.csv", two_groups.csv({"a": "1", "b": "2"}))
    auto = vsa("label", path, "-t", "label")
    assert re.search(r"task: classification of 'label' \(.+\)", auto.stderr)
    asked = vsa("label", path, "-t", "label", "--task", "regression")
    assert re.search(r"task: regression of 'label' \(as given with --task\)", asked.stderr)


def test_summary_tells_what_was_done(vsa, two_groups, write):
    data = two_groups.csv().replace(b"x,y,label", b"x,y,label").decode().splitlines()
    data = "\n".join([f"{line},{'same' if i else 'extra'}" for i, line in enumerate(data)]).encode()
    lines = vsa("label", write("in.csv", data), "-t", "label", "--exclude", "y").stderr.splitlines()
    assert all(line.startswith("vsa: ") for line in lines)
    facts = dict(line.removeprefix("vsa: ").split(": ", 1) for line in lines if ": note: " not in line)
    assert facts["table"].endswith("in.csv, 24 rows, 4 columns")
    assert facts["labels"] == "8 given, 4 in each of 2 classes"
    assert facts["missing"] == "16: empty (16)"
    assert facts["columns"] == "1 used: x"
    assert "y (--exclude)" in facts["left out"]
    assert "extra (" in facts["left out"]
    assert facts["filled"] == "16, 8 in each of 2 classes"
    assert re.fullmatch(r"0\.\d{3} on average|1\.000 on average", facts["confidence"])
    assert facts["network"].endswith(" on cpu")


@pytest.mark.usefixtures("values_shown")
def test_summary_names_classes_if_asked(vsa, two_groups, write):
    told = vsa("label", write("in.csv", two_groups.csv()), "-t", "label").stderr
    assert "labels: 8 given: a (4), b (4)\n" in told
    assert "filled: 16: a (8), b (8)\n" in told


def test_quiet_says_nothing(vsa, two_groups, write):
    result = vsa("label", write("in.csv", two_groups.csv()), "-t", "label", "--quiet")
    assert (result.code, result.stderr) == (0, "")


def test_excluded_column_does_not_matter(vsa, two_groups, write):
    lines = two_groups.csv().decode().splitlines()
    first = "\n".join([f"{line},{i * 37 % 11}" if i else f"{line},z" for i, line in enumerate(lines)]).encode()
    other = "\n".join([f"{line},{i * 53 % 7}" if i else f"{line},z" for i, line in enumerate(lines)]).encode()
    results = [
        table(vsa("label", write("in.csv", data), "-t", "label", "--exclude", "z", "--proba").stdout)
        for data in (first, other)
    ]
    assert [row["label_proba_a"] for row in results[0]] == [row["label_proba_a"] for row in results[1]]


def test_confidence_and_probabilities(vsa, two_groups, write):
    result = vsa("label", write("in.csv", two_groups.csv()), "-t", "label", "--confidence", "--proba")
    rows = table(result.stdout)
    assert list(rows[0]) == ["x", "y", "label", "label_confidence", "label_proba_a", "label_proba_b"]
    for row, given in zip(rows, two_groups.given, strict=True):
        if given:
            assert row["label_confidence"] == row["label_proba_a"] == row["label_proba_b"] == ""
        else:
            both = {name: float(row[f"label_proba_{name}"]) for name in "ab"}
            assert sum(both.values()) == pytest.approx(1, abs=2e-4)
            assert float(row["label_confidence"]) == max(both.values()) == both[row["label"]]


def test_added_columns_never_replace_one(vsa, two_groups, write):
    data = two_groups.csv().replace(b"x,y,label", b"label_confidence,y,label")
    result = vsa("label", write("in.csv", data), "-t", "label", "--confidence")
    assert result.stdout.splitlines()[0] == b"label_confidence,y,label,label_confidence_2"
    assert re.search("note: .*label_confidence exists already.*label_confidence_2", result.stderr)


def test_standard_deviation_of_a_regression(vsa, write):
    data = "\n".join(["x,y", *(f"{i},{2 * i if i % 3 == 0 else ''}" for i in range(40))]).encode()
    result = vsa("label", write("in.csv", data), "-t", "y", "--task", "regression", "--confidence")
    assert result.code == 0, result.stderr
    rows = table(result.stdout)
    assert all((row["y_std"] == "") == (i % 3 == 0) for i, row in enumerate(rows))
    assert all(float(row["y_std"]) > 0 for row in rows if row["y_std"])


def test_min_confidence_leaves_cells_empty(vsa, write):
    rows = [f"{v},{label}" for v, label in [(0, "a"), (10, "b"), (0.1, ""), (9.9, ""), (5.0, ""), (4.8, "")]]
    path = write("in.csv", "\n".join(["x,label", *rows]).encode())
    free = table(vsa("label", path, "-t", "label", "--confidence").stdout)
    certainties = sorted(float(row["label_confidence"]) for row in free if row["label_confidence"])
    limit = (certainties[0] + certainties[-1]) / 2
    result = vsa("label", path, "-t", "label", "--confidence", "--min-confidence", f"{limit:.6f}")
    kept = table(result.stdout)
    for before, after in zip(free[2:], kept[2:], strict=True):
        sure = float(before["label_confidence"]) >= limit
        assert after["label"] == (before["label"] if sure else "")
        assert after["label_confidence"] == before["label_confidence"]
    empty = sum(row["label"] == "" for row in kept)
    assert 0 < empty < 4
    assert f"not filled: {empty} below --min-confidence" in result.stderr
    assert "on average, cells that were left empty included\n" in result.stderr
    in_percent = vsa("label", path, "-t", "label", "--confidence", "--min-confidence", f"{100 * limit:.4f}%")
    assert in_percent.stdout == result.stdout


def test_min_confidence_leaves_a_missing_mark_as_it_is(vsa, write):
    path = write("in.csv", b"x,label\n0,a\n10,b\n5,NA\n5.1,NA\n")
    result = vsa("label", path, "-t", "label", "--min-confidence", "1")
    assert result.stdout == path.read_bytes()


def test_labels_from_another_table(vsa, two_groups, write):
    """Its rows are near those of the table, and none of them."""
    lines = two_groups.lines()
    labeled = [line for line, given in zip(lines, two_groups.given, strict=True) if given]
    source = "\n".join(
        ["label,y,more,x", *(",".join([c[2], c[1], "m", c[0] + "1"]) for c in (r.split(",") for r in labeled))]
    )
    rest = "\n".join(["x,y,label", *(line.rsplit(",", 1)[0] + "," for line in lines)])
    result = vsa(
        "label", write("in.csv", rest.encode()), "-t", "label", "--labeled", write("given.csv", source.encode())
    )
    assert result.code == 0, result.stderr
    assert [row["label"] for row in table(result.stdout)] == two_groups.truth
    assert "labels: 8 given, 4 in each of 2 classes" in result.stderr
    assert re.search(r"note: not used, because .* has no such columns, only .*given\.csv: more", result.stderr)


def test_labeled_table_brings_the_column(vsa, two_groups, write):
    rest = "\n".join(line.rsplit(",", 1)[0] for line in two_groups.csv().decode().splitlines())
    source = write("given.csv", two_groups.csv())
    result = vsa("label", write("in.csv", rest.encode()), "-t", "label", "--labeled", source, "--confidence")
    assert result.code == 0, result.stderr
    rows = table(result.stdout)
    assert list(rows[0]) == ["x", "y", "label", "label_confidence"]
    assert [row["label"] for row in rows] == two_groups.truth
    assert "no column 'label'" in result.stderr


def test_labeled_table_of_another_kind(vsa, two_groups, write, tmp_path: Path):
    """Labels in a Parquet file with the class codes as integers; the file to fill is a CSV."""
    given = [(x, y, int(label == "b")) for (x, y), label in zip(two_groups.rows[:8], two_groups.truth, strict=False)]
    x, y, codes = zip(*given, strict=True)
    pq.write_table(pa.table({"x": x, "y": y, "label": pa.array(codes, pa.int32())}), tmp_path / "given.parquet")
    rest = "\n".join(["x,y,label", *(line.rsplit(",", 1)[0] + "," for line in two_groups.lines())])
    result = vsa(
        "label",
        write("in.csv", rest.encode()),
        *["-t", "label", "--task", "classification", "--labeled", tmp_path / "given.parquet"],
    )
    assert result.code == 0, result.stderr
    assert [row["label"] for row in table(result.stdout)] == [str(int(t == "b")) for t in two_groups.truth]


def test_labeled_csv_for_a_parquet_file(vsa, two_groups, write, tmp_path: Path):
    x, y = zip(*two_groups.rows, strict=True)
    pq.write_table(pa.table({"x": x, "y": y, "label": pa.nulls(24, pa.int16())}), tmp_path / "in.parquet")
    source = write("given.csv", two_groups.csv({"a": "7", "b": "8"}))
    result = vsa(
        *["label", tmp_path / "in.parquet", "-t", "label", "--task", "classification"],
        *["--labeled", source, "-o", tmp_path / "out.parquet"],
    )
    assert result.code == 0, result.stderr
    column = pq.read_table(tmp_path / "out.parquet")["label"]
    assert column.type == pa.int16()
    assert column.to_pylist() == [7 if t == "a" else 8 for t in two_groups.truth]
    words = write("words.csv", two_groups.csv())
    refused = vsa("label", tmp_path / "in.parquet", "-t", "label", "--labeled", words)
    assert "words.csv do not fit the target column" in refused.error


def test_added_columns_of_parquet_are_numbers(vsa, two_groups, tmp_path: Path):
    x, y = zip(*two_groups.rows, strict=True)
    labels = [label if given else None for label, given in zip(two_groups.truth, two_groups.given, strict=True)]
    pq.write_table(pa.table({"x": x, "y": y, "label": labels}), tmp_path / "in.parquet")
    result = vsa("label", tmp_path / "in.parquet", "-t", "label", "-o", tmp_path / "out.parquet", "--confidence")
    assert result.code == 0, result.stderr
    column = pq.read_table(tmp_path / "out.parquet")["label_confidence"]
    assert column.type == pa.float64()
    assert [value is None for value in column.to_pylist()] == two_groups.given


def test_include_uses_a_column_that_looks_like_an_id(vsa, write):
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(10**6)}K{i % 2}{i},{rng.random():.3f},{'ab'[i % 2] if i < 12 else ''}" for i in range(40)]
    path = write("in.csv", "\n".join(["code,z,label", *rows, ""]).encode())
    plain = dict(
        line.removeprefix("vsa: ").split(": ", 1) for line in vsa("label", path, "-t", "label").stderr.splitlines()
    )
    assert "code (an id: all 40 values differ); --include COL uses" in plain["left out"]
    forced = vsa("label", path, "-t", "label", "--include", "code").stderr
    assert "left out" not in forced
    assert "2 used: code (6 attributes), z" in forced
    for wrong, why in (("label", "never an attribute"), ("nothing", "no column 'nothing'"), ("z", "both in --include")):
        result = vsa("label", path, "-t", "label", "--include", wrong, "--exclude", "z")
        assert result.code == 2
        assert why in result.error


def test_whole_numbers_next_to_each_other_are_a_quantity(vsa, write):
    rng = np.random.default_rng(1)
    heights = rng.normal(140, 6, 40)
    ages = np.clip(np.rint((heights - 140) / 3 + 41), 37, 45).astype(int)
    rows = [f"{h:.1f},{age if i < 20 else ''}" for i, (h, age) in enumerate(zip(heights, ages, strict=True))]
    result = vsa("label", write("in.csv", "\n".join(["height,age", *rows, ""]).encode()), "-t", "age")
    assert "vsa: task: regression of 'age'" in result.stderr
    assert "use --task classification" in result.stderr
    fills = [int(row["age"]) for row in table(result.stdout)[20:]]
    assert np.abs(np.array(fills) - ages[20:]).mean() < 1


def test_a_further_header_row_is_kept_and_not_learned_from(vsa, write):
    ids = '"{""ImportId"":""a""}",,"{""ImportId"":""c""}"'
    head = ["Q1,Q2,Q9", "What is your age?,How often?,Which plan would you take?", ids]
    rows = [f"{20 + i},{i % 5},{('Basic', 'Plus')[i // 20] if i % 5 == 0 else ''}" for i in range(40)]
    result = vsa("label", write("in.csv", "\n".join([*head, *rows, ""]).encode()), "-t", "Q9")
    lines = result.stdout.decode().splitlines()
    assert lines[:3] == head
    assert {line.rpartition(",")[2] for line in lines[3:]} == {"Basic", "Plus"}
    assert "2 classes" in result.stderr
    assert result.stderr.count("is in a further header row, row ") == 2
    assert "kept and not learned from" in result.stderr


@pytest.mark.parametrize("labels", [("yes", "no"), ("1.5", "22.5")])
def test_a_header_that_is_repeated_below_is_kept_and_not_learned_from(vsa, write, labels):
    """As where files were put one below the other with `cat`."""
    rows = [f"{20 + i},{i % 5},{labels[i // 20] if i % 5 == 0 else ''}" for i in range(40)]
    lines = ["age,often,plan", *rows[:20], "age,often,plan", *rows[20:], "age,often,plan", *rows[:3]]
    result = vsa("label", write("in.csv", "\n".join([*lines, ""]).encode()), "-t", "plan", "--task", "auto")
    after = result.stdout.decode().splitlines()
    assert [i for i, line in enumerate(after) if line == "age,often,plan"] == [0, 21, 42]
    assert "plan (" not in result.stderr
    assert "(2 cells) is in a further header row, row 21 (line 22): kept and not learned from" in result.stderr


def test_numbers_for_missing_and_errors_of_spreadsheets_are_kept_and_not_learned_from(vsa, write):
    rng = np.random.default_rng(2)
    income = rng.uniform(10, 100, 60)
    spend = [f"{0.6 * v + 5:.1f}" if i % 2 else "" for i, v in enumerate(income)]
    spend[3] = spend[5] = "-99"
    spend[7] = "#REF!"
    path = write(
        "in.csv",
        "\n".join(["income,spend", *(f"{a:.1f},{b}" for a, b in zip(income, spend, strict=True)), ""]).encode(),
    )
    result = vsa("label", path, "-t", "spend")
    after = [row["spend"] for row in table(result.stdout)]
    assert [after[i] for i in range(1, 60, 2)] == [spend[i] for i in range(1, 60, 2)]
    assert all(5 < float(after[i]) < 70 for i in range(0, 60, 2))
    assert "use --na '-99' to have it filled" in result.stderr
    assert "labels: 27 given" in result.stderr
    filled = vsa("label", path, "-t", "spend", "--na", "-99", "--na", "#REF!").stdout
    assert all(5 < float(row["spend"]) < 70 for row in table(filled))


def test_the_output_of_an_earlier_run_is_not_learned_from(vsa, two_groups, write):
    path = write("in.csv", two_groups.csv())
    first = vsa("label", path, "-t", "label", "--confidence", "--proba").stdout
    rows = table(first)
    swapped = {"a": "b", "b": "a"}
    for row, given in zip(rows, two_groups.given, strict=True):
        if not given:
            row["label"] = swapped[row["label"]]  # fills that are all wrong
    rows[-1]["label"] = ""
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]
    second = vsa("label", write("again.csv", "\n".join(lines).encode()), "-t", "label", "--confidence")
    assert [row["label"] for row in table(second.stdout)[:-1]] == [row["label"] for row in rows[:-1]]
    assert table(second.stdout)[-1]["label"] == two_groups.truth[-1]
    assert "2 used: x, y" in second.stderr
    assert "label_confidence (added by an earlier run of vsa)" in second.stderr
    assert "15 labels were filled by an earlier run" in second.stderr
    assert f"labels: {sum(two_groups.given)} given" in second.stderr
    included = [part for name in ("label_confidence", "label_proba_a") for part in ("--include", name)]
    again = vsa("label", path.with_name("again.csv"), "-t", "label", *included)
    assert "4 used: x, y, label_confidence" in again.stderr


def test_a_price_is_not_negative_where_none_is(vsa, write):
    x = np.linspace(0, 100, 60)
    rows = [f"{v:.2f},{3 * v + 2.5:.2f}" if v > 10 and i % 3 == 0 else f"{v - 60:.2f}," for i, v in enumerate(x)]
    result = vsa("label", write("in.csv", "\n".join(["x,price", *rows, ""]).encode()), "-t", "price")
    assert min(float(row["price"]) for row in table(result.stdout)) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r'"says \"hi\""', '"plain"'),
        (r'"says \"hi\""', "plain"),
        (r'"a \"b\", c"', r'"d"'),
        ('"say ""hi"""', '"plain"'),
        ('"hi"', "plain"),
        ('"C:\\"', '"D:\\"'),
        ('"a,b"', '"c"'),
    ],
)
def test_a_fill_has_the_bytes_of_a_given_label(vsa, two_groups, write, one: str, other: str):
    csv = two_groups.csv().decode().replace(",a\n", f",{one}\n").replace(",b\n", f",{other}\n")
    _, *lines = vsa("label", write("in.csv", csv.encode()), "-t", "label").stdout.decode().splitlines()
    before = csv.splitlines()[1:]
    for line, was, truth in zip(lines, before, two_groups.truth, strict=True):
        assert line == (was if not was.endswith(",") else was + (one if truth == "a" else other))
