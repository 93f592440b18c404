"""The page, from hostile facts and odd tables: what a browser would find in it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from vsacli.insight.report import report_page
from vsacli.insight.report.facts import Bars, Histogram, Map, Point, ReportFacts, Rows
from vsacli.insight.report.page import page
from vsacli.insight.report.svg import edge_names
from vsacli.insight.study import Study, StudyConfig, study
from vsacli.labeling.run import LabelOptions, label_table
from vsacli.support.progress import silent
from vsacli.tables.read import read_table

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></svg><svg onload=alert(1)>",
    "--><!--",
    "&lt;b&gt;",
]


class Parsed(HTMLParser):
    """Tags with their attributes, and the text of each, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ["document"]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1], []).append(data)

    def handle_endtag(self, tag: str) -> None:
        while tag in self._open and self._open.pop() != tag:
            pass

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def hostile_facts() -> ReportFacts:
    points = [Point(0.5, 0.5, i, 0.5, i == 0, i, [text, f"x: {text}"]) for i, text in enumerate(HOSTILE)]
    return ReportFacts(
        table=HOSTILE[0],
        target=HOSTILE[1],
        kind="classification",
        summary=[(text, text) for text in HOSTILE],
        headline=HOSTILE[2],
        balance=Bars(HOSTILE, [("given", [1] * 6), ("filled", [2] * 6)]),
        certainty=Histogram([0, 0.5, 1], [("filled", [3, 4])]),
        map=Map(points, HOSTILE, None),
        least_certain=Rows(HOSTILE, [HOSTILE]),
        suggested=Rows(HOSTILE, [HOSTILE]),
        importance=[(text, 0.5, 0.25) for text in HOSTILE],
    )


def assert_inert(text: str) -> Parsed:
    """No tag, attribute or request that the page's own code has not written."""
    found = Parsed(text)
    known = re.findall(
        r"\w+",
        "html head meta title style body main header h1 h2 p span bdi section ul li code svg text rect line path use g "
        "circle defs details summary div table caption thead tbody tr th td wbr dl dt dd footer script",
    )
    assert {tag for tag, _ in found.tags} <= set(known)
    for tag, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "style", "srcdoc", "action", "xlink:href"), (tag, name)
            if name == "href":
                assert re.fullmatch(r"#m\d+", value or "")
    assert len(found.all("script")) == 2
    assert len(found.all("style")) == 1
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    assert text.isprintable() or all(c.isprintable() or c == "\n" for c in text)
    return found


def test_hostile_cells_stay_text():
    text = page(hostile_facts())
    found = assert_inert(text)
    cells = found.texts["bdi"] + found.texts["title"]
    assert all(hostile in cells for hostile in HOSTILE)
    assert "".join(found.texts["script"]).count("</script") == 0


def test_policy_allows_what_is_in_the_page_and_nothing_else():
    text = page(hostile_facts())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"

    def digest(pattern: str) -> str:
        block = re.search(pattern, text, re.S)
        assert block is not None
        return f"'sha256-{base64.b64encode(hashlib.sha256(block[1].encode()).digest()).decode()}'"

    assert rules["style-src"] == digest(r"<style>(.*?)</style>")
    assert rules["script-src"] == digest(r"<script>(.*?)</script>")


def test_headings_table_headers_and_names_of_pictures():
    found = Parsed(page(hostile_facts()))
    assert found.all("html") == [{"lang": "en"}]
    assert len(found.all("h1")) == 1
    assert len(found.all("h2")) == 7
    assert all(th.get("scope") == "col" for th in found.all("th"))
    assert len(found.all("caption")) == len(found.all("table"))
    pictures = [svg for svg in found.all("svg") if svg.get("role") == "img"]
    assert len(pictures) == 4
    assert all(svg.get("aria-label") for svg in pictures)
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([0.0, 0.05, 0.1], ["0.00", "0.05", "0.10"]),
        ([-0.2, -0.1, 0.0, 0.1], ["-0.2", "-0.1", "0.0", "0.1"]),
        ([0, 25, 50], ["0", "25", "50"]),
        ([0, 2.5, 5], ["0.0", "2.5", "5.0"]),
        ([1e15, 3e15], ["1e+15", "3e+15"]),
        ([-1e-7, 1e-7], ["-1e-07", "1e-07"]),
    ],
)
def test_names_of_edges(edges: list[float], names: list[str]):
    assert edge_names(edges) == names


def look(path: Path, **changes: object) -> Study:
    """The study of a labeled file."""
    options = LabelOptions(**{"target": "label", "device": "cpu", **changes})  # type: ignore[arg-type]
    return study(label_table(read_table(path), options, keep=True), StudyConfig(columns=True), silent)


def numbers_csv(values: list[str]) -> bytes:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{v}" for (a, b), v in zip(rng.normal(size=(len(values), 2)), values, strict=True)]
    return "\n".join(["x,y,label", *rows]).encode()


Write = Callable[[str, bytes], Path]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] + [""] * 20, "auto"),
        (["a"] + [""] * 20, "auto"),  # one class
        (["a", "b"] * 4, "auto"),  # nothing missing
        (["a", "b", ""], "auto"),
        ([f"c{i}" for i in range(30)] + [""] * 30, "auto"),  # more classes than colours
        (["1.5", "2.5", "7.25"] + [""] * 20, "regression"),
        (["3", "3"] + [""] * 20, "regression"),  # equal numbers
        (["1e300", "-1e300"] + [""] * 20, "regression"),
        (["1e-300", "2e-300"] + [""] * 20, "regression"),
        (["5", ""], "regression"),
    ],
)
def test_tables_at_the_edge(write: Write, values: list[str], task: str):
    found = look(write("t.csv", numbers_csv(values)), task=task)
    text = report_page(found, [("table", "t")]).decode()
    assert_inert(text)
    assert "nan" not in text.replace("nance", "").lower()
    assert not re.search(r'="-?inf', text)
    missing = values.count("")
    assert len(found.suggested) == (0 if missing == 0 else min(10, missing))


def test_page_tells_counts(two_groups, write: Write):
    text = report_page(look(write("t.csv", two_groups.csv())), [("table", "t")]).decode()
    assert "16 of 16 missing labels filled, learned from 8 given." in text
    assert "16 answered and 8 labeled rows" in text
    assert len(re.findall(r'<use [^>]*class="given', text)) == 8
    assert len(re.findall(r'<use [^>]*class="filled', text)) == 16
    assert len(re.findall(r'<g class="next"', text)) == 10
    assert re.search(r"a</bdi></td><td class=\"n\"><bdi>4</bdi></td><td class=\"n\"><bdi>8</bdi>", text)


def test_same_seed_same_bytes(two_groups, write: Write):
    path = write("t.csv", two_groups.csv())
    first, again = (report_page(look(path), []) for _ in range(2))
    assert first == again
