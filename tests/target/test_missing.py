"""Which labels are missing marks."""

from __future__ import annotations

import pytest

from vsacli.tables.blank_tokens import PANDAS_TOKENS
from vsacli.target.missing import missing_labels, normalize


def test_the_tokens_are_those_of_pandas() -> None:
    parsers = pytest.importorskip("pandas._libs.parsers")
    assert {*PANDAS_TOKENS, ""} == parsers.STR_NA_VALUES


def test_empty_and_every_token_are_missing() -> None:
    missing, notes = missing_labels(["yes", "", *sorted(PANDAS_TOKENS), "no"])
    assert missing == {"", *PANDAS_TOKENS}
    assert notes == []


def test_tokens_are_compared_exactly() -> None:
    missing, _ = missing_labels(["yes", "Na", "NONE", "NaN.", "no"])
    assert missing == set()


def test_without_defaults_only_the_empty_and_the_named_are_missing() -> None:
    assert missing_labels(["", "NA", "None", "?"], default_na=False)[0] == {""}
    assert missing_labels(["", "NA", "None", "?"], default_na=False, na=["?", " NA "])[0] == {"", "?", "NA"}


# labels (besides NA), options, whether NA is missing
NA = {
    "regions and empty cells": (["EU", "AS", ""], {}, False),
    "regions with longer codes": (["EMEA", "APAC", "LATAM", ""], {}, False),
    "regions and nulls": (["EU", "AS"], {"nulls": True}, False),
    "no empty cell: NA is how missing is written": (["EU", "AS"], {}, True),
    "another token beside it": (["EU", "AS", "", "null"], {}, True),
    "words": (["oui", "non", ""], {}, True),
    "one label is not a code": (["EU", "AS", "Other", ""], {}, True),
    "answers": (["YES", "NO", ""], {}, True),
    "numbers": (["1", "2", ""], {}, True),
    "one other label only": (["EU", ""], {}, True),
    "named by the user": (["EU", "AS", ""], {"na": ["NA"]}, True),
    "no defaults": (["oui", "non", ""], {"default_na": False}, False),
}


@pytest.mark.parametrize(("labels", "options", "is_missing"), NA.values(), ids=NA.keys())
def test_na_is_a_class_among_codes_only(labels: list[str], options: dict, is_missing: bool) -> None:
    missing, _ = missing_labels([*labels, "NA"], **options)
    assert ("NA" in missing) == is_missing


def test_doubtful_tokens_get_a_note() -> None:
    assert "'NA' is taken as a class" in missing_labels(["EU", "AS", "", "NA"])[1][0]
    assert "--no-default-na" in missing_labels(["Mild", "Severe", "", "None"])[1][0]
    assert missing_labels(["yes", "no", "None"])[1] == []
    assert missing_labels(["yes", "no", "None"], na=["None"])[1] == []


@pytest.mark.parametrize("cell", ["", " ", "\t", "\u00a0", "\u200b", "\ufeff", " \r\n\u3000"])
def test_white_space_alone_is_empty(cell: str) -> None:
    assert normalize(cell) == ""


def test_labels_are_compared_without_surrounding_space_and_composed() -> None:
    assert normalize(" cafe\u0301 \t") == "caf\u00e9"
    assert normalize("a  b") == "a  b"
