"""`vsa label --report`: one HTML page that shows what was filled, how certain that is, and what to label next.

Study --facts--> plain numbers and text --svg, page--> one file
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsacli.insight.study import Study


def report_page(study: Study, summary: Sequence[tuple[str, str]]) -> bytes:
    """The page of a study, UTF-8; `summary` is the account of the run, a pair a line."""
    from vsacli.insight.report.facts import facts_of
    from vsacli.insight.report.page import page

    return page(facts_of(study, summary)).encode()
