"""Make docs/reference.md and docs/models.md from the code and the checkpoints; `--check` only compares them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))
os.environ["COLUMNS"] = "100"

from typer.main import get_command  # noqa: E402

from vsacli.checkpoints.folder import CARD_FILE  # noqa: E402
from vsacli.checkpoints.resolve import bundled_checkpoints  # noqa: E402
from vsacli.cli import Commands, app  # noqa: E402
from vsacli.cli.summary import RECORD  # noqa: E402

MADE = "<!-- Made by docs/reference.py from the code; change the code, then run it. -->"


def reference() -> str:
    """Every command with its options, and the fields of the JSON summary."""
    group = get_command(app)
    context = group.make_context("vsa", [], resilient_parsing=True)
    parts = [MADE, "# Command reference", _help(context.get_help())]
    for name in Commands.registered:
        command = group.get_command(context, name)  # pyright: ignore[reportAttributeAccessIssue]
        parts += [f"## vsa {name}", _help(command.get_help(type(context)(command, info_name=name, parent=context)))]
    rows = "\n".join(f"| `{field}` | {meaning} |" for field, meaning in RECORD.items())
    parts += [
        "## JSON summary",
        "`vsa label --json PATH` writes one JSON object. Later versions may add fields, and remove none.",
        f"| field | |\n| --- | --- |\n{rows}",
    ]
    return "\n\n".join(parts) + "\n"


def _help(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"```text\n{lines.strip()}\n```"


def models() -> str:
    """The cards of the bundled checkpoints."""
    parts = [MADE, "# Model cards", "The cards of the two networks that come with the package."]
    for folder in bundled_checkpoints().values():
        card = (folder / CARD_FILE).read_text(encoding="utf-8").strip()
        parts.append("\n".join("#" + line if line.startswith("#") else line for line in card.splitlines()))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    for name, text in (("reference.md", reference()), ("models.md", models())):
        page = DOCS / name
        if "--check" not in sys.argv:
            page.write_text(text, encoding="utf-8")
        elif not page.is_file() or page.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{name} is not what the code says: run python docs/reference.py")


if __name__ == "__main__":
    main()
