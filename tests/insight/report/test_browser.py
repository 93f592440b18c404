"""The page in a browser, where there is one: it renders, shows the row under the pointer, and runs nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.insight.report.test_page import HOSTILE, hostile_facts
from vsacli.insight.report.page import page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")


def dump(path: Path, folder: Path) -> tuple[str, str]:
    """The document after its scripts have run, and what the browser logged."""
    assert BROWSER is not None
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={folder}",
    ]
    try:
        done = subprocess.run(
            [BROWSER, *options, "--virtual-time-budget=2000", "--dump-dom", path.as_uri()],
            capture_output=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the browser does not answer on this machine")
    if done.returncode:
        pytest.skip(f"the browser does not start on this machine (exit code {done.returncode})")
    return done.stdout.decode(), done.stderr.decode()


def test_nothing_is_refused_and_nothing_hostile_runs(tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text(page(hostile_facts()), encoding="utf-8")
    document, log = dump(path, tmp_path / "profile")
    assert "CONSOLE" not in log  # neither an error of the script nor a refusal of the policy
    assert "<img" not in document
    assert document.count("<script") == 2


def test_pointing_at_a_row_shows_it(tmp_path: Path):
    probe = """<script>
      const at = (i) => document.querySelector(`[data-i="${i}"]`).dispatchEvent(
        new PointerEvent("pointermove", {bubbles: true, clientX: 5000, clientY: 5000}));
      at(3);
      const hover = document.getElementById("hover"), box = hover.getBoundingClientRect();
      document.body.dataset.seen = [hover.hidden, box.right <= innerWidth, box.bottom <= innerHeight].join();
      </script></body>"""
    text = re.sub(r"<meta http-equiv[^>]*>", "", page(hostile_facts())).replace("</body>", probe)
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    document, _ = dump(path, tmp_path / "profile")
    assert 'data-seen="false,true,true"' in document
    hover = document[document.index('<div id="hover"') :]
    shown = hover[: hover.index("</div></div>")]
    assert HOSTILE[3].replace("<", "&lt;").replace(">", "&gt;") in shown
    assert "<strong>" in shown
