"""The errors that `vsacli` raises: each says what is wrong, where, and what to do about it.

The library raises them; only `vsacli.cli` prints them. The exit code a command ends with is
part of the class, so that a shell script can tell a mistyped option from a damaged file.
"""

from __future__ import annotations


class VsaError(Exception):
    """Base of all errors that a user can meet. One line of text, no trailing full stop needed."""

    exit_code = 1


class UsageError(VsaError, ValueError):
    """An option or argument that cannot be right: unknown column, impossible combination."""

    exit_code = 2


class DataError(VsaError, ValueError):
    """The contents of a file (or array) that cannot be used: ragged row, no labels, bad bytes."""


class NoLabelError(DataError):
    """A label column in which no row has a label."""


class InputError(VsaError, OSError):
    """An input that cannot be read at all: absent, a folder, unreadable, truncated."""


class OutputError(VsaError, OSError):
    """An output that cannot be written."""


class CheckpointError(VsaError):
    """A checkpoint that is absent, damaged, of another version, or of the wrong task kind."""


class ResourceError(VsaError):
    """Memory, disk or device is not enough; the message names the size that would fit."""


class TrainingError(VsaError):
    """Meta-training cannot continue (no usable task, a loss that stays NaN)."""
