"""`vsa label --ask N`: questions on the terminal, a line each way, so that it works anywhere, also over ssh.

All that is shown goes to standard error; standard output is for the table.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.console import printable, progress_shown, say
from vsacli.errors import DataError, UsageError

if TYPE_CHECKING:
    from vsacli.asking.answers_file import AnswersFile
    from vsacli.asking.session import Asking, Question
    from vsacli.labeling.job import LabelOptions
    from vsacli.tables.table import Table, WritableTable

WIDEST = 80
SHOWN_CLASSES = 30
HELP = (
    "Enter takes the guess; a number or the first letters choose a class; a new word makes a new class. s skips the "
    "row, u takes the last answer back, q stops and fills in the rest. =WORD is a label whatever WORD is."
)

Ask = Annotated[
    int | None,
    typer.Option(
        "--ask",
        metavar="N",
        min=1,
        show_default=False,
        help="On a terminal: ask you for the labels of the N rows whose labels tell most, then fill in the others. No "
        "label is needed before. Answers are kept at once, beside the output; the same command continues.",
    ),
]


def check_ask(file: str, *, folder: bool) -> None:
    """Refuse to ask where nobody can answer.

    Raises
    ------
    UsageError
    """
    if folder:
        raise UsageError("--ask is for one file; give one part of the folder as FILE")
    if file == "-":
        raise UsageError("--ask reads answers from the terminal, and the table is standard input; give it as a file")
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--ask needs a terminal for its questions; elsewhere use --suggest-to FILE and --labeled FILE")


def ask_person(
    table: WritableTable, options: LabelOptions, sources: list[Table], n: int, path: str
) -> tuple[WritableTable, list[Table]]:
    """Ask for labels; the table with them, and the labels of other tables that are not of its rows.

    Parameters
    ----------
    table, options, sources
        As for `label_table`.
    n : int
        How many labels to ask for.
    path : str
        The file in which answers are kept.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; the answers are kept.
    VsaError
    """
    from vsacli.asking.answers_file import AnswersFile
    from vsacli.asking.session import Asking
    from vsacli.labeling.answers import note_on_added
    from vsacli.labeling.rows_to_label import RowsToLabel

    others: Table | None = None
    added = options.target not in table.columns
    with progress_shown() as progress:
        if sources:
            from vsacli.labeling.given_back import give_back

            returned = give_back(table, sources, options)
            table, others = returned.table, returned.others
            table.notes.extend(returned.notes)
        column = table.find(options.target) if options.target in table.columns else None
        form = RowsToLabel.of(table, column, options.target, classes=options.task != "regression")
        answers = AnswersFile(path, table, form)
        asking = Asking(table, options, others=others, answers=answers.earlier, progress=progress)
        answers.expect(asking.rows)
    if answers.earlier:
        say(f"vsa: {_count(len(answers.earlier), 'answer')} of an earlier run in {path}")
    if answers.strangers:
        say(f"vsa: {_count(answers.strangers, 'answer')} in {path} of rows that the table does not have any more")
    say(_wrapped(HELP))
    try:
        given = _ask(asking, answers, n, table.decimal)
    except KeyboardInterrupt:
        say("")
        if asking.answers:
            say(f"vsa: {_count(len(asking.answers), 'answer')} kept in {path}; the same command continues")
        raise
    labeled = asking.labeled_table()
    if added and options.target in labeled.columns:
        table.notes.append(note_on_added(table.name, options.target))
    if every := {*answers.earlier, *asking.answers}:  # earlier ones may stand in the table by now
        were = "label was" if len(every) == 1 else "labels were"
        table.notes.append(f"{len(every):,} {were} given by hand, {given:,} of them now; kept in {path}")
    return labeled, [] if others is None else [others]


def _ask(asking: Asking, answers: AnswersFile, n: int, decimal: str) -> int:
    """Ask until there are n more answers, the person stops, or no row is left; the number of answers given."""
    from vsacli.asking.typed import understand

    given, unknown, shown = 0, "", True
    question = _next(asking)
    while question is not None and given < n:
        if shown:
            say(_spelled(question, asking, given, n))
        line = _read_line(question)
        if line is None:
            break
        typed = understand(line, question.classes, question.guess, numbers=question.numbers, decimal=decimal)
        shown = True
        if typed.wish == "new" and typed.text != unknown:
            unknown, shown = typed.text, False
            say(_wrapped(f"{typed.text!r} would be a new class: type it again, or another label"))
            continue
        unknown = ""
        if typed.wish == "unclear":
            say(_wrapped(typed.text))
            shown = False
            continue
        if typed.wish == "quit":
            break
        if typed.wish == "undo":
            taken = asking.undo()
            if taken is None:
                say("nothing to take back in this run")
                shown = False
                continue
            if taken[1] is not None:
                answers.take_back()
                given -= 1
        elif typed.wish == "skip":
            asking.skip()
        else:
            try:
                asking.check(typed.text)
                answers.add(question.row, typed.text, question.guess or "", question.certainty)
            except DataError as error:
                say(_wrapped(f"this cannot be a label here: {error}"))
                shown = False
                continue
            asking.answer(typed.text)
            given += 1
            say(f"  -> {printable(typed.text)}")
        question = _next(asking) if given < n else None
    if question is None and given < n:
        say("no row is left to ask about")
    return given


def _next(asking: Asking) -> Question | None:
    if asking.stale and asking.answers:
        say("reading the answers ...")
    return asking.question()


def _read_line(question: Question) -> str | None:
    """What is typed; None at the end of the input (Ctrl-D)."""
    prompt = f"[{printable(question.guess)}] > " if question.guess is not None else "> "
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        say("")
        return None
    return line


def _spelled(question: Question, asking: Asking, given: int, n: int) -> str:
    """A question in lines of at most the width of the terminal, and no more than `WIDEST`."""
    width = _width()
    row = f"row {question.row + 1:,}"
    lines = ["", row + f"question {given + 1} of {n}".rjust(width - len(row))]
    cells = [(printable(name), printable(cell)) for name, cell in question.cells]
    wide = min(max((len(name) for name, _ in cells), default=0), width // 3)
    lines += [f"  {_cut(name, wide):{wide}}  {_cut(cell, width - wide - 4)}" for name, cell in cells]
    target = printable(asking.target)
    if question.guess is None:
        lines.append(f"{target}?")
    else:
        sure = f"± {question.certainty}" if question.numbers else f"confidence {_short(question.certainty)}"
        lines.append(_cut(f"{target}? perhaps {printable(question.guess)} ({sure})", width))
    if question.classes:
        lines.append(_classes(question.classes))
    return "\n".join(lines)


def _short(certainty: str) -> str:
    """A confidence with two decimals, and its own decimal mark."""
    short = f"{float(certainty.replace(',', '.')):.2f}"
    return short.replace(".", ",") if "," in certainty else short


def _classes(classes: list[str]) -> str:
    from vsacli.asking.typed import numbered

    with_numbers = numbered(classes)
    names = [printable(name) for name in classes[:SHOWN_CLASSES]]
    told = [f"{i} {name}" if with_numbers else name for i, name in enumerate(names, start=1)]
    if len(classes) > SHOWN_CLASSES:
        told.append(f"and {len(classes) - SHOWN_CLASSES} more")
    # Spaces within an entry must not be where a line breaks.
    text = "   ".join(entry.replace(" ", "\u00a0") for entry in told)
    return _wrapped(text, "  ").replace("\u00a0", " ")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        printable(text) if not indent else text, _width(), initial_indent=indent, subsequent_indent=indent
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _width() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = WIDEST
    return max(min(columns or WIDEST, WIDEST), 20)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
