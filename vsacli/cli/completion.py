"""Completion of command lines in bash, zsh and fish: `vsa completion SHELL` prints the script for a shell.

The shell calls `vsa` with ``_VSA_COMPLETE=complete_SHELL`` and, in ``COMP_WORDS``, the command line up to the cursor
as typed. One candidate a line comes back (for zsh and fish with its help after a tab); none means names of files.
Names of columns come from people's files: no script hands a candidate to `eval`.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from vsacli.cli.options import ShellChoice

_BASH = r"""# vsa: completion for bash. In ~/.bashrc: eval "$(vsa completion bash)"
_vsa_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(_VSA_COMPLETE=complete_bash COMP_WORDS="${COMP_LINE:0:COMP_POINT}" \
        COMP_WORDBREAKS="$COMP_WORDBREAKS" command "$1" 2>/dev/null)
}
complete -o bashdefault -o default -F _vsa_completion vsa
"""

_ZSH = r"""#compdef vsa
# vsa: completion for zsh. In ~/.zshrc, after compinit: eval "$(vsa completion zsh)"
_vsa_completion() {
    local -a values shown
    local line
    while IFS= read -r line; do
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done < <(_VSA_COMPLETE=complete_zsh COMP_WORDS="${(j: :)words[1,CURRENT-1]} ${QIPREFIX}${PREFIX}" \
        command "${words[1]}" 2>/dev/null)
    [[ $QIPREFIX == --*=* ]] && values=("${values[@]#--*=}")  # --target="... : the quoted part alone is replaced
    if (( ${#values} )); then
        compadd -l -d shown -a values
    else
        _files
    fi
}
compdef _vsa_completion vsa
"""

_FISH = r"""# vsa: completion for fish. Put it there: vsa completion fish > ~/.config/fish/completions/vsa.fish
function __vsa_completion
    set -l line (commandline -cp | string collect)
    set -l found (_VSA_COMPLETE=complete_fish COMP_WORDS=$line command vsa 2>/dev/null)
    if set -q found[1]
        string join -- \n $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command vsa --no-files --keep-order --arguments '(__vsa_completion)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(
    shell: Annotated[ShellChoice, typer.Argument(metavar="SHELL", show_default=False, help="bash, zsh or fish.")],
) -> None:
    """Print the script with which a shell completes commands, options, columns and checkpoints.

    In ~/.bashrc: eval "$(vsa completion bash)"

    In ~/.zshrc, after compinit: eval "$(vsa completion zsh)"

    Once, for fish: vsa completion fish > ~/.config/fish/completions/vsa.fish
    """
    print(SCRIPTS[shell.value], end="")


@dataclass
class Word:
    """A word of a command line: its value, the quote that is still open in it, and where that began."""

    value: str = ""
    quote: str = ""
    quote_at: int = 0  # in `value`
    breaks_at: int = 0  # in `value`: after the last unquoted character at which bash takes words apart


def split_line(line: str, breaks: str = "") -> list[Word]:
    """The words of a line that may be incomplete; the last one is being typed and may be empty."""
    words = [Word()]
    quote, fresh, i = "", True, 0
    while i < len(line):
        c, word = line[i], words[-1]
        i += 1
        if quote:
            if c == quote:
                quote = word.quote = ""
                continue
            if c == "\\" and quote == '"' and line[i : i + 1] in tuple('"\\$`'):
                c, i = line[i], i + 1
        elif c in " \t\n":
            if not fresh:
                words.append(Word())
            fresh = True
            continue
        elif c in "'\"":
            quote = word.quote = c
            word.quote_at, fresh = len(word.value), False
            continue
        elif c == "\\":
            c, i = line[i : i + 1], i + 1
        elif c in breaks:
            word.breaks_at = len(word.value) + 1
        word.value += c
        fresh = False
    return words


def candidates(group: Any, words: list[str], current: str) -> list[tuple[str, str]]:
    """What may replace `current` after `words` (the first one is `vsa`): each with its help."""
    context = group.make_context("vsa", [], resilient_parsing=True)
    place = next((i for i, word in enumerate(words[1:], 1) if not word.startswith("-")), None)
    if place is None:
        commands = [(name, summary) for name, (_, _, summary) in group.registered.items()]
        return _starting(commands + _option_names(group, context, words), current)
    command = group.get_command(context, words[place])
    if command is None:
        return []
    args = words[place + 1 :]
    if args and args[-1].startswith("-"):
        args.pop()  # it waits for its value, and parsing would end there
    context = command.make_context(words[place], args, parent=context, resilient_parsing=True)
    takes_value = {
        name: param
        for param in command.get_params(context)
        if param.param_type_name == "option" and not param.is_flag
        for name in param.opts
    }
    option, equals, typed = current.partition("=")
    if equals and option in takes_value:
        values = takes_value[option].shell_complete(context, typed)
        return [(f"{option}={item.value}", item.help or "") for item in values]
    if words[-1] in takes_value:
        return [(item.value, item.help or "") for item in takes_value[words[-1]].shell_complete(context, current)]
    if current.startswith("-") and current != "-":
        return _starting(_option_names(command, context, words), current)
    arguments = [p for p in command.get_params(context) if p.param_type_name == "argument"]
    return [(item.value, item.help or "") for p in arguments for item in p.shell_complete(context, current)]


def _option_names(command: Any, context: Any, words: list[str]) -> list[tuple[str, str]]:
    """The options of a command that may still be given."""
    options = [p for p in command.get_params(context) if p.param_type_name == "option"]
    return [
        (max(p.opts, key=len), p.help or "") for p in options if p.multiple or not any(name in words for name in p.opts)
    ]


def _starting(entries: list[tuple[str, str]], start: str) -> list[tuple[str, str]]:
    return [entry for entry in entries if entry[0].startswith(start)]


def spell(shell: str, value: str, help_text: str, current: Word) -> str | None:
    """A candidate as the script of `shell` expects it; None if it cannot be typed there."""
    if not value.isprintable():
        return None
    if shell != "bash":
        return f"{value}\t{' '.join(help_text.split())}" if help_text else value
    if current.quote:  # bash replaces what stands after the quote, or after the break
        rest = value[current.quote_at :]
        if current.quote == "'":
            return None if "'" in rest else rest
        return re.sub(r'(["\\$`])', r"\\\1", rest)
    return re.sub(r"([^\w@%+=:,./~-])|^~", r"\\\g<0>", value[current.breaks_at :])


def answer(group: Any, instruction: str) -> None:
    """Print the candidates for the line in ``COMP_WORDS``; prints none if anything goes wrong."""
    shell = instruction.partition("_")[2]
    breaks = os.environ.get("COMP_WORDBREAKS", "") if shell == "bash" else ""
    try:
        *before, current = split_line(os.environ.get("COMP_WORDS", ""), breaks)
        found = candidates(group, [word.value for word in before], current.value)
    except BaseException:  # the line is half typed and the file may be anything: then there are no candidates
        return
    lines = [spell(shell, value, help_text, current) for value, help_text in found]
    sys.stdout.buffer.write(b"".join(os.fsencode(line) + b"\n" for line in lines if line is not None))
    sys.stdout.buffer.flush()
