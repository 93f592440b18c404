"""`vsa upload`: publish a trained network on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vsacli.cli.completers import complete_checkpoints
from vsacli.cli.console import Fact, progress_shown, show_facts
from vsacli.cli.options import Quiet
from vsacli.errors import UsageError

EPILOG = """\b
Examples:
  vsa upload runs/mine ORG/NAME --dry-run
  vsa upload runs/mine ORG/NAME --private --license mit
  vsa upload runs/mine ORG/NAME --to folder
"""


def upload(
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT",
            show_default=False,
            help="What to publish: the folder of a run, or a checkpoint by its name.",
            autocompletion=complete_checkpoints,
        ),
    ],
    repo: Annotated[
        str,
        typer.Argument(
            metavar="REPO", show_default=False, help="The repository, ORG/NAME; created if it does not exist."
        ),
    ],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private, if it is new.")] = False,
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="Licence of the weights, such as apache-2.0. Default: the card's."
        ),
    ] = None,
    message: Annotated[str | None, typer.Option(metavar="TEXT", help="Commit message.")] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", show_default=False, help="Default: HF_TOKEN, or that of `hf auth login`."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FOLDER", help="Write the repository's files to this folder, and publish nothing."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and show what would be published.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Publish a trained network on the Hugging Face Hub.

    The checkpoint is checked first. Three files are published: the weights, their configuration without the paths
    of this machine, and the card with the metadata by which the Hub finds it. The address of the commit is printed.
    """
    from vsacli.checkpoints.hub.cache import parse_ref
    from vsacli.checkpoints.hub.card import hub_folder
    from vsacli.checkpoints.hub.upload import publish
    from vsacli.checkpoints.resolve import load_checkpoint

    if "@" in repo:
        raise UsageError(f"{repo}: a revision cannot be chosen; give ORG/NAME, and its branch main is written")
    if to is not None and dry_run:
        raise UsageError("--to already publishes nothing; leave out --dry-run")
    repo = parse_ref(repo).repo
    loaded = load_checkpoint(checkpoint)
    folder = hub_folder(loaded, repo, license=license_)
    facts: list[Fact] = [("checkpoint", f"{loaded.name}, {folder.kind}")]
    facts += [("file", f"{name}, {len(data):,} bytes") for name, data in folder.files.items()]
    if b"\nlicense:" not in folder.files["README.md"]:
        facts.append(
            ("note", "the card names no licence; give one with --license ID, so that others know what they may do")
        )
    if to is not None:
        folder.write(to)
        facts.append(("written to", str(to)))
        print(to)
    elif dry_run:
        facts.append(("would publish", f"these files to {repo}{', private if it is new' if private else ''}"))
    else:
        with progress_shown(quiet) as progress:
            done = publish(folder, repo, private=private, message=message, token=token, progress=progress)
        facts.append(("published", f"{repo}, commit {done.commit}"))
        facts.append(("use it", f"vsa download {repo}"))
        print(done.url)
    show_facts("vsa", facts, quiet)
