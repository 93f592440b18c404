"""Delimited text: cells as the csv module reads them, and a file that comes back byte for byte."""

from __future__ import annotations

import csv
import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.errors import DataError, UsageError
from vsacli.support.privacy import showing_values
from vsacli.tables.table import ExtraColumn
from vsacli.tables.text.table import TextTable


def table(data: bytes | str, **options: str) -> TextTable:
    return TextTable(data.encode() if isinstance(data, str) else data, name="t.csv", **options)  # type: ignore[arg-type]


def written(
    of: TextTable, target: int = 0, fills: dict[int, str | None] | None = None, extra: list[ExtraColumn] | None = None
) -> bytes:
    fills = fills or {}
    sink = io.BytesIO()
    rows = np.array(sorted(fills), dtype=np.int64)
    of.write(sink, target, rows, pa.array([fills[k] for k in rows.tolist()], pa.string()), extra or [])
    return sink.getvalue()


cell = st.text(alphabet='ab1",;\t\n\r é€𝄞-', max_size=5)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str]:
    """A text of two to four columns in some dialect, with blank lines and mixed line ends; and its delimiter."""
    width = draw(st.integers(2, 4))
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=8))
    text = ""
    for row in rows:
        spelled = []
        for value in row:
            plain = not set(value) & {delimiter, '"', "\r", "\n"}
            quote = not plain or draw(st.booleans())
            spelled.append('"' + value.replace('"', '""') + '"' if quote else value)
        text += delimiter.join(spelled) + draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]))
    if draw(st.booleans()):
        text = text.rstrip("\r\n") if not text.rstrip("\r\n").endswith(delimiter) else text
    return text, delimiter


@given(file=files(), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"]), data=st.data())
@settings(max_examples=150, deadline=None)
def test_only_the_target_cells_change(file: tuple[str, str], encoding: str, data: st.DataObject):
    text, delimiter = file
    raw = text.encode(encoding)
    header, *rows = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if r]
    of = table(raw, delimiter=delimiter, encoding=encoding)
    assert of.columns == header
    assert [of.column(j).to_pylist() for j in range(len(header))] == [[r[j] for r in rows] for j in range(len(header))]
    assert written(of) == raw

    target = data.draw(st.integers(0, len(header) - 1))
    fills = {k: data.draw(cell) for k in range(len(rows)) if data.draw(st.booleans())}
    result = written(of, target, fills).decode(encoding)
    expected = [[fills.get(k, c) if j == target else c for j, c in enumerate(r)] for k, r in enumerate(rows)]
    assert [r for r in csv.reader(io.StringIO(result, newline=""), delimiter=delimiter) if r] == [header, *expected]
    for k in fills:  # undone one by one, the input is back
        before, after = _split(text, delimiter, target)[k + 1], _split(result, delimiter, target)[k + 1]
        assert before[0] == after[0]
        assert before[1] == after[1]


def _split(text: str, delimiter: str, target: int) -> list[tuple[str, str]]:
    """The raw text of each record before and after its target cell, by a reader of one character at a time."""
    records, field, quoted, parts = [], "", False, []
    position = 0
    while position <= len(text):
        char = text[position] if position < len(text) else ""
        if char == '"' and (quoted or not field):
            quoted = not quoted
            field += char
        elif char == '"' and field.startswith('"') and field.endswith('"'):
            quoted = True
            field += char
        elif not quoted and char in (delimiter, "\r", "\n", ""):
            parts.append(field)
            field = ""
            if char != delimiter:
                if text[position : position + 2] == "\r\n":
                    char = "\r\n"
                    position += 1
                if len(parts) > 1:
                    before, after = delimiter.join(parts[:target]), delimiter.join(parts[target + 1 :])
                    records.append((before, after + char))
                parts = []
        else:
            field += char
        position += 1
    return records


def test_nothing_but_the_missing_cells_changes_in_a_messy_file():
    raw = (
        b'\xef\xbb\xbfid,"name",name,label\r\n'
        b'007,"a ""b"", c",#x,\r\n'
        b"\n"
        b'9007199254740993,"line\r\nbreak",,""\n'
        b"#5,NA,1e-05, \r"
        b'08, \x00 ,"",yes'
    )
    of = table(raw)
    assert of.columns == ["id", "name", "name", "label"]
    assert of.column(3).to_pylist() == ["", "", " ", "yes"]
    assert of.column(1).to_pylist() == ['a "b", c', "line\r\nbreak", "NA", " \0 "]
    expected = raw.replace(b"#x,\r", b"#x,no\r").replace(b',""\n', b",yes\n").replace(b"05, \r", b"05,no\r")
    assert written(of, 3, {0: "no", 1: "yes", 2: "no"}) == expected


def test_a_column_across_many_blocks():
    n = 300_000
    of = table("id,label,text\n" + "".join(f'{k},,"x""{k}"\n' for k in range(n)))
    assert len(of._index.blocks) > 3
    assert of.column(0).to_pylist() == [str(k) for k in range(n)]
    assert of.column(2).to_pylist() == [f'x"{k}' for k in range(n)]
    result = written(of, 1, dict.fromkeys(range(0, n, 7), "yes")).decode()
    assert result == "id,label,text\n" + "".join(f'{k},{"" if k % 7 else "yes"},"x""{k}"\n' for k in range(n))


def test_fills_are_quoted_if_they_have_to_be():
    of = table("a,label\n1,x\n2,\n3,\n4,\n5,\n6,\n")
    fills = {1: "a,b", 2: 'say "x"', 3: "two\nlines", 4: " y ", 5: "z;"}
    assert written(of, 1, fills).decode() == ('a,label\n1,x\n2,"a,b"\n3,"say ""x"""\n4,"two\nlines"\n5, y \n6,z;\n')


def test_fills_are_quoted_as_the_given_labels_are():
    of = table('a,label\n1,"x"\n2,\n3,""\n4,"y"\n')
    assert written(of, 1, {1: "x", 2: "y"}).decode() == 'a,label\n1,"x"\n2,"x"\n3,"y"\n4,"y"\n'
    mixed = table('a,label\n1,"x"\n2,\n3,y\n4,\n')
    assert written(mixed, 1, {1: "x", 3: "y"}).decode() == 'a,label\n1,"x"\n2,"x"\n3,y\n4,y\n'
    none_given = table('"a","label"\n"1",""\n"2",""\n')
    assert written(none_given, 1, {0: "x"}).decode() == '"a","label"\n"1","x"\n"2",""\n'


def test_a_null_value_leaves_its_cell():
    of = table("a,label\n1,\n2,NA\n3,\n")
    assert written(of, 1, {0: "x", 1: None, 2: "y"}).decode() == "a,label\n1,x\n2,NA\n3,y\n"


def test_extra_columns_follow_the_last_cell():
    of = table('a,label\r\n1,\r\n\r\n2,"y"\n3,')
    extra = [
        ExtraColumn("conf, all", pa.array([0.5, None, 0.25])),
        ExtraColumn("note", pa.array(["u", 'v"', None])),
    ]
    assert written(of, 1, {0: "x", 2: "z"}, extra).decode() == (
        'a,label,"conf, all",note\r\n1,"x",0.5,u\r\n\r\n2,"y",,"v"""\n3,"z",0.25,'
    )


def test_extra_columns_in_a_file_that_quotes_everything():
    of = table('"a","label"\n"1","x"\n"2",""\n')
    extra = [ExtraColumn("p", pa.array(["0.5", None]))]
    assert written(of, 1, {1: "x"}, extra).decode() == '"a","label","p"\n"1","x","0.5"\n"2","x",""\n'


def test_extra_columns_go_before_a_trailing_delimiter():
    of = table("a,label\n1,x,\n2,,\n")
    extra = [ExtraColumn("p", pa.array(["0.5", "0.6"]))]
    assert written(of, 1, {1: "y"}, extra).decode() == "a,label,p\n1,x,0.5,\n2,y,0.6,\n"


def test_extra_numbers_have_the_decimal_mark_of_the_table():
    of = table("a;label\n1,5;x\n2,25;\n")
    assert of.decimal == ","
    extra = [ExtraColumn("p", pa.array([0.5, 0.25]))]
    assert written(of, 1, {1: "x"}, extra).decode() == "a;label;p\n1,5;x;0,5\n2,25;x;0,25\n"


def test_an_extra_name_that_is_taken_is_refused():
    of = table("a,p\n1,2\n")
    with pytest.raises(UsageError, match="column 'p' already"):
        written(of, 1, {}, [ExtraColumn("p", pa.array(["x"]))])
    same = [ExtraColumn("q", pa.array(["x"])), ExtraColumn("q", pa.array(["x"]))]
    with pytest.raises(UsageError, match="column 'q' already"):
        written(of, 1, {}, same)


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ([2], "a,label\r\n1,y\r\n\r\n2,x\n"),
        ([0], 'label,"p, q"\r\ny,0.5\r\n\r\nx,"b, c"\n'),
        ([0, 2], "label\r\ny\r\n\r\nx\n"),
    ],
)
def test_columns_may_be_left_out(without: list[int], expected: str):
    of = table('a,label,"p, q"\r\n1,,0.5\r\n\r\n2,x,"b, c"\n')
    sink = io.BytesIO()
    of.write(sink, 1, np.array([0]), pa.array(["y"]), without=without)
    assert sink.getvalue().decode() == expected


@given(file=files(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_other_columns_stay_if_some_are_left_out(file: tuple[str, str], data: st.DataObject):
    text, delimiter = file
    try:
        of = table(text, delimiter=delimiter)
    except (DataError, UsageError):
        return
    places = range(len(of.columns))
    kept = sorted(data.draw(st.sets(st.sampled_from(list(places)), min_size=2)))
    extra = [ExtraColumn("extra", pa.array(["e"] * of.n_rows))] if data.draw(st.booleans()) else []
    if "extra" in of.columns:
        return
    sink = io.BytesIO()
    without = [j for j in places if j not in kept]
    of.write(sink, kept[0], np.array([], dtype=np.int64), pa.array([], pa.string()), extra, without=without)
    read = table(sink.getvalue(), delimiter=delimiter)
    assert read.columns == [*(of.columns[j] for j in kept), *(column.name for column in extra)]
    assert read.n_rows == of.n_rows
    for i, j in enumerate(kept):
        assert read.column(i).equals(of.column(j))


def test_one_column():
    of = table('fruit\n"a, b"\n""\n\nc\n')
    assert of.columns == ["fruit"]
    assert of.column(0).to_pylist() == ["a, b", "", "c"]
    assert written(of, 0, {1: "c"}).decode() == 'fruit\n"a, b"\nc\n\nc\n'
    assert written(of, 0, {1: ""}).decode() == 'fruit\n"a, b"\n""\n\nc\n'  # a blank line would be no row
    extra = [ExtraColumn("p", pa.array(["1", "2", None]))]
    assert written(of, 0, {1: "c"}, extra).decode() == 'fruit;p\n"a, b";1\nc;2\n\nc;\n'


def test_header_only():
    of = table("a,b")
    assert (of.columns, of.n_rows, of.column(1).to_pylist()) == (["a", "b"], 0, [])
    assert written(of) == b"a,b"
    assert written(of, 0, {}, [ExtraColumn("c", pa.array([], pa.string()))]) == b"a,b,c"


def test_the_encoding_comes_back():
    text = "Größe;label\r\nweiß;\r\nrot;ja\r\n"
    for encoding in ("latin-1", "cp1252", "utf-16-be", "utf-16", "cp037"):
        of = table(text.encode(encoding), encoding=encoding)
        assert of.columns == ["Größe", "label"]
        assert of.column(0).to_pylist() == ["weiß", "rot"]
        assert written(of, 1, {0: "ja"}) == text.replace("weiß;", "weiß;ja").encode(encoding)


def test_multibyte_text_with_delimiters_inside_characters():
    text = "名前|表|label\nソ|能|x\n十|ー|\n"  # their second bytes in Shift JIS are \ and |
    of = table(text.encode("shift_jis"), encoding="shift_jis")
    assert of.column(1).to_pylist() == ["能", "ー"]
    assert written(of, 2, {1: "表"}) == text.replace("ー|", "ー|表").encode("shift_jis")


def test_a_value_that_the_encoding_lacks_is_refused_before_anything_is_written():
    of = table("a,label\né,\n".encode("latin-1"), encoding="latin-1")
    sink = io.BytesIO()
    with pytest.raises(DataError, match="a character of a label cannot be written in the file's encoding"):
        of.write(sink, 1, np.array([0]), pa.array(["€"]))
    assert sink.getvalue() == b""


def test_a_value_that_needs_quotes_in_a_file_without():
    of = table('a\tb\tlabel\n"x\t1\tu\ny"\t2\t\n"z\t3\t\n')
    assert of.column(0).to_pylist() == ['"x', 'y"', '"z']
    assert written(of, 2, {1: 'u"'}).decode() == 'a\tb\tlabel\n"x\t1\tu\ny"\t2\tu"\n"z\t3\t\n'
    with pytest.raises(DataError, match="quotes no cells"):
        written(of, 2, {1: "u\tv"})


def test_where_counts_lines_and_rows():
    of = table('a,b\n1,"x\r\ny"\r\n\r3,4\n')
    assert [of.where(0), of.where(1)] == ["row 1 (line 2)", "row 2 (line 5)"]


def test_find():
    of = table("id,Gro\u0308ße,x,x, label ,\n1,2,3,4,5,6\n")
    assert of.find("id") == 0
    assert of.find("Größe") == 1
    assert of.find("Gro\u0308ße") == 1
    assert of.find("label") == 4
    assert of.find("") == 5
    with pytest.raises(UsageError, match=r"2 columns are called 'x' \(columns 3 and 4\)"):
        of.find("x")
    with pytest.raises(UsageError, match=r"no column 'Lable'; did you mean ' label '\?"):
        of.find("Lable")
    with pytest.raises(UsageError, match=r"no column 'zzzz'; it has \d columns \(VSA_SHOW_VALUES=1 lists them\)"):
        of.find("zzzz")
    with showing_values(True), pytest.raises(UsageError, match="no column 'zzzz'; it has 'id', "):
        of.find("zzzz")


def test_find_does_not_take_cells_for_names():
    of = table("17,0.471,Smith,\n18,-0.838,Jones,yes\n")
    with pytest.raises(UsageError, match="no column 'label'; some of its names are numbers") as error:
        of.find("label")
    assert "0.471" not in str(error.value)
    assert "Smith" not in str(error.value)
    with showing_values(True), pytest.raises(UsageError, match=r"it has '17', '0\.471', 'Smith', ''"):
        of.find("label")
    with showing_values(True), pytest.raises(UsageError, match="it has '2019', '2020'"):  # years are names
        table("2019,2020\n1.5,2.5\n").find("label")


def test_memory_beyond_the_file_does_not_grow_with_the_rows():
    def peak(n: int) -> tuple[int, int]:
        data = b"id,when,size,label\n" + b"1234567,2024-03-01,17.25,\n" * n
        rows, values = np.arange(n), pa.array(["yes"] * n)
        tracemalloc.start()
        of = TextTable(data, name="t.csv")
        of.write(_Nowhere(), 3, rows, values)  # type: ignore[arg-type]
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, len(data)

    (small, small_file), (large, large_file) = peak(100_000), peak(1_000_000)
    assert large - small < large_file - small_file


class _Nowhere:
    def write(self, data: memoryview) -> int:
        return len(data)


def test_quotes_behind_backslashes_are_read_and_written_so():
    """What Spark and MySQL write: a table that fits only so."""
    raw = b'id,note,label\n1,"say \\"so\\", or not",x\n2,"C:\\\\",\n3,plain \\" text,"y \\"z\\""\n4,,\n'
    of = table(raw)
    assert of.column(1).to_pylist() == ['say "so", or not', "C:\\", 'plain \\" text', ""]
    assert of.column(2).to_pylist() == ["x", "", 'y "z"', ""]
    assert any("backslash" in note for note in of.notes)
    assert written(of) == raw
    result = written(of, 2, {1: 'y "z"', 3: "a\\b,c"})
    assert result == raw.replace(b'",\n3', b'","y \\"z\\""\n3').replace(b"4,,", b'4,,"a\\\\b,c"')
    assert table(result).column(2).to_pylist() == ["x", 'y "z"', 'y "z"', "a\\b,c"]


def test_a_table_that_fits_without_them_has_plain_backslashes():
    of = table(b'path,label\n"C:\\",x\n"D:\\",\n')
    assert of.column(0).to_pylist() == ["C:\\", "D:\\"]
