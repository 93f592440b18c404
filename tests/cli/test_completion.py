"""Completion through the protocol that the shells' scripts speak, and through the shells themselves where installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.cli.completion import SCRIPTS, split_line

COMMAND = Path(sys.executable).parent / "vsa"
AWKWARD = ["a:b", "my col", "cost $(touch pwned)", r"x\$(touch pwned)", "it's", 'q"t', "`touch pwned`", "é", "~t"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plain table and one of awkward columns."""
    (tmp_path / "plain.csv").write_text("height,weight,class\n1,2,a\n")
    header = ",".join('"' + name.replace('"', '""') + '"' for name in AWKWARD)
    (tmp_path / "my file.csv").write_text(header + "\n" + ",".join("1" * len(AWKWARD)) + "\n")
    return tmp_path


def ask(folder: Path, shell: str, line: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [COMMAND],
        env={**os.environ, "_VSA_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_words_of_a_line():
    def values(line: str) -> list[str]:
        return [word.value for word in split_line(line)]

    assert values("") == [""]
    assert values("vsa  label ") == ["vsa", "label", ""]
    assert values(r"vsa my\ file 'a b") == ["vsa", "my file", "a b"]
    assert values(r'vsa "a \"b\" \c" ' + "''") == ["vsa", r'a "b" \c', ""]
    assert split_line("vsa --target=a:b", "=:")[-1].breaks_at == len("--target=a:")
    assert (split_line("vsa --x='a")[-1].quote, split_line("vsa --x='a")[-1].quote_at) == ("'", len("--x="))


@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_columns_of_the_file_on_the_line(folder: Path, shell: str):
    assert ask(folder, shell, "vsa label plain.csv --target ") == ["height", "weight", "class"]
    assert ask(folder, shell, "vsa label plain.csv -t w") == ["weight"]
    assert ask(folder, shell, "vsa eval plain.csv -t height --exclude ") == ["weight", "class"]
    assert ask(folder, shell, "vsa label - --labeled plain.csv -t c") == ["class"]


def test_values_behind_an_equals_sign(folder: Path):
    line = "vsa label plain.csv --target=w"
    assert ask(folder, "zsh", line) == ask(folder, "fish", line) == ["--target=weight"]
    assert ask(folder, "bash", line, COMP_WORDBREAKS=" \t\n\"'@><=;|&(:") == ["weight"]


def test_commands_options_and_choices(folder: Path):
    assert ask(folder, "bash", "vsa ")[:2] == ["label", "meta-train"]
    assert ask(folder, "fish", "vsa dow") == ["download\tFetch a trained network from the Hugging Face Hub."]
    assert ask(folder, "bash", "vsa label plain.csv --min") == ["--min-confidence"]
    assert "--target" not in ask(folder, "bash", "vsa label plain.csv -t class --")
    assert ask(folder, "zsh", "vsa label plain.csv --device ") == ["auto", "cpu", "cuda", "mps"]


def test_methods_presets_and_sources(folder: Path):
    assert ask(folder, "bash", "vsa eval plain.csv --methods gra") == ["graph"]
    assert ask(folder, "bash", "vsa eval plain.csv --methods vsa,forest,fo") == ["vsa,forest,forest-graph"]
    assert "all" in ask(folder, "bash", "vsa eval plain.csv --methods ")
    assert "vsa,all" not in ask(folder, "bash", "vsa eval plain.csv --methods vsa,")
    assert ask(folder, "fish", "vsa eval plain.csv --methods rid") == ["ridge\tridge regression"]
    assert ask(folder, "zsh", "vsa eval --suite=circle")[0].startswith("--suite=circle-spiral")
    for before in ("vsa meta-train ", "vsa meta-train -o run "):
        assert ask(folder, "bash", f"{before}--preset ") == ["default", "small", "paper"]
        assert ask(folder, "bash", f"{before}--synthetic ") == ["prior", "circle-spiral"]


def test_checkpoints_bundled_and_cached(folder: Path):
    commit = "0123456789" * 4
    repo = folder / "hub" / "models--lab--model"
    save_checkpoint(repo / "snapshots" / commit, tiny_model(), {}, "card")
    (repo / "refs").mkdir()
    for name in ("main", "v2"):
        (repo / "refs" / name).write_text(commit)
    found = ask(folder, "bash", "vsa label plain.csv --checkpoint ", HF_HUB_CACHE=str(folder / "hub"))
    assert found == ["classification", "regression", "lab/model", "lab/model@v2"]
    assert ask(folder, "bash", "vsa label x --checkpoint lab/model@", HF_HUB_CACHE=str(folder / "hub")) == [
        "lab/model@v2"
    ]


@pytest.mark.parametrize(
    "line",
    ["vsa label none.csv -t ", "vsa label . -t ", "vsa label - -t ", "vsa nothing ", "vsa label plain.csv -t class -o ",
     "vsa label 'plain", "vsa label plain.csv -t a -t b -t ", "vsa label plain.csv --encoding nonsense -t "],
)  # fmt: skip
def test_where_there_is_nothing_to_offer_nothing_is_said(folder: Path, line: str):
    assert ask(folder, "bash", line) == []


def test_no_library_that_takes_long(folder: Path):
    code = (
        "import os, sys; os.environ.update(_VSA_COMPLETE='complete_zsh', COMP_WORDS='vsa label plain.csv -t ')\n"
        "from vsacli.cli import main; main()\n"
        "print(sorted({'torch', 'pandas', 'numpy', 'pyarrow', 'sklearn', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "height\nweight\nclass\n[]\n"


def test_bash_itself(folder: Path):
    script = f"""
        PATH={COMMAND.parent}:$PATH
        eval "$(vsa completion bash)"
        COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
        try() {{ COMP_LINE=$1; COMP_POINT=${{#1}}; _vsa_completion vsa; printf '%s\\n' "${{COMPREPLY[@]}}"; }}
        try "vsa label my\\\\ file.csv -t "
        try "vsa label 'my file.csv' --target=\\"c"
        try "vsa label 'my file.csv' -t 'my"
    """
    lines = run(["bash", "--norc", "-c", script], folder)
    bare = [r"a:b", r"my\ col", r"cost\ \$\(touch\ pwned\)", r"x\\\$\(touch\ pwned\)", r"it\'s", r"q\"t"]
    assert lines == [*bare, r"\`touch\ pwned\`", "é", r"\~t", r"cost \$(touch pwned)", "my col"]
    assert not (folder / "pwned").exists()


def test_fish_itself(folder: Path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = "vsa completion fish | source; complete -C \"vsa label 'my file.csv' -t \"; complete -C 'vsa label pl'"
    assert run(["fish", "--no-config", "-c", script], folder) == [*AWKWARD, "plain.csv"]
    assert not (folder / "pwned").exists()


def test_zsh_itself(folder: Path):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    script = """
        autoload -U compinit; compinit -u -D; eval "$(vsa completion zsh)"
        compadd() { print -r -l -- "${values[@]}"; }
        _files() { print files; }
        try() { words=("$@"); CURRENT=$#; QIPREFIX= PREFIX=${words[CURRENT]}; _vsa_completion; }
        try vsa label 'my\\ file.csv' -t ''
        try vsa label pl
    """
    assert run(["zsh", "-f", "-c", script], folder) == [*AWKWARD, "files"]
    assert not (folder / "pwned").exists()


def run(command: list[str], folder: Path) -> list[str]:
    environment = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()
