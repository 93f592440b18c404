"""The command line: `vsa`. Parse, call, print; the work is done by the library.

To add a command, write `vsacli/cli/<name>.py` with one function whose parameters are its options, and
name it in `COMMANDS`. A command's module is imported only when that command runs (or its help is asked
for), and its heavy imports stay inside functions: `vsa --help` takes a twentieth of a second.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer
from typer.main import get_command

from vsacli._version import __version__
from vsacli.cli.console import on_terminal, printable, say
from vsacli.cli.registry import LazyGroup
from vsacli.cli.warnings import library_warnings_silenced
from vsacli.errors import InputError, VsaError
from vsacli.support.loading import careful_loading, drop_unusable_thread_count
from vsacli.support.out_of_memory import is_out_of_memory, nearly_out_of_memory
from vsacli.support.privacy import showing_values, values_shown
from vsacli.support.signals import INTERRUPTED, TERMINATED, Terminated, signals_unwind

EXIT_INTERNAL = 70  # sysexits.h: internal software error
EXIT_BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended
NO_MEMORY = "not enough memory: close other programs, raise a limit (ulimit -v), or give the table in smaller parts"


class Commands(LazyGroup):
    """The commands of `vsa`: name -> (module, function, one line of help)."""

    registered = {  # noqa: RUF012
        "label": ("vsacli.cli.label", "label", "Fill in the missing labels of a table."),
        "meta-train": ("vsacli.cli.meta_train", "meta_train", "Learn from many tables how to fill in labels."),
        "eval": ("vsacli.cli.eval", "evaluate", "Find out how good the labels are, on one table or over many."),
        "download": ("vsacli.cli.download", "download", "Fetch a trained network from the Hugging Face Hub."),
        "upload": ("vsacli.cli.upload", "upload", "Publish a trained network on the Hugging Face Hub."),
        "completion": ("vsacli.cli.completion", "completion", "Print the completion script of a shell."),
    }


app = typer.Typer(
    cls=Commands, add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["--help", "-h"]}
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"vsa {__version__}")
        raise typer.Exit


EPILOG = """\b
Environment:
  VSA_CHECKPOINT   default of --checkpoint
  VSA_DEVICE       default of --device
  VSA_SHOW_VALUES  1: messages may quote cells, even in a log; 0: not even on a terminal
  VSA_CACHE        where tables are kept as meta-train and eval --suite read them
  VSA_DEBUG        1: an error shows its traceback
  NO_COLOR         no colours on a terminal

\b
Exit status:
  0 done, 1 bad data or a file that cannot be read or written, 2 a wrong option, 70 a fault of vsa itself,
  130 interrupted, 141 the reader of a pipe went away, 143 terminated

`vsa COMMAND --help` explains a command.
"""


@app.callback(invoke_without_command=True, epilog=EPILOG)
def vsa(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit.", callback=_print_version),
) -> None:
    """Fill in the missing labels of a table from a handful of given ones."""
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())
        raise typer.Exit(2)
    try:
        os.getcwd()
    except FileNotFoundError:  # libraries end the process for it
        raise InputError("the working directory was removed: change to another one (cd), and run it again") from None


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (default: the process's own) and return the exit code.

    Every failure ends in one line on stderr; `VSA_DEBUG=1` adds the traceback. Cell values are shown on a terminal
    alone, unless `VSA_SHOW_VALUES` says otherwise.
    """
    if args is None and (instruction := os.environ.get("_VSA_COMPLETE")):
        from vsacli.cli.completion import answer

        answer(get_command(app), instruction)
        return 0
    argv = list(sys.argv[1:] if args is None else args)
    drop_unusable_thread_count()
    try:
        with signals_unwind(), library_warnings_silenced(), careful_loading(), showing_values(on_terminal()):
            with get_command(app).make_context("vsa", argv) as ctx:
                ctx.command.invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        return 0
    except typer.Exit as end:
        return end.exit_code
    except VsaError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_usage_message(error), error.exit_code)
    except BrokenPipeError:
        _discard_stdout()
        return EXIT_BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        say("vsa: interrupted")
        return INTERRUPTED
    except Terminated:
        say("vsa: terminated")
        return TERMINATED
    except OSError as error:
        if is_out_of_memory(error) or nearly_out_of_memory():
            return _fail(NO_MEMORY, 1)
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 1)
    except Exception as error:
        if is_out_of_memory(error) or nearly_out_of_memory():  # many libraries then fail with an error of their own
            return _fail(NO_MEMORY, 1)
        hint = "a fault of vsa itself: run it again with VSA_DEBUG=1 and report the traceback"
        with showing_values(on_terminal()):  # whose message may quote anything
            what = f"{type(error).__name__}: {error}" if values_shown() else type(error).__name__
        return _fail(f"unexpected {what}; {hint}", EXIT_INTERNAL)


def _fail(message: str, code: int) -> int:
    if os.environ.get("VSA_DEBUG", "0") not in ("", "0"):
        import traceback

        say(traceback.format_exc())
    say(f"vsa: error: {printable(' '.join(message.split()))}")
    return code


def _usage_message(error: typer.TyperException) -> str:
    ctx = getattr(error, "ctx", None)
    message = error.format_message().rstrip(". ").replace(": Value error, ", ": ")
    if "unexpected extra argument" in message and ctx is not None and ctx.info_name in ("label", "eval"):
        message += "; one table is read at a time: for file in *.csv; do vsa " + ctx.info_name + ' "$file" ...; done'
    if "unexpected extra argument" in message and ctx is not None and ctx.info_name == "meta-train":
        message += "; an option takes one value, so repeat it for more: --data A --data B"
    return f"{message}; see `{ctx.command_path if ctx else 'vsa'} --help`"


def _discard_stdout() -> None:
    """Point stdout at the null device, so that the interpreter's last flush does not fail."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):
        pass
