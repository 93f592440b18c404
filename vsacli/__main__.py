"""The command `vsa`, also as `python -m vsacli`."""

from __future__ import annotations

import signal
import sys

from vsacli.support.signals import INTERRUPTED, TERMINATED, Terminated, held, signals_unwind


def run() -> int:
    """Run the command line of this process and return the exit code, whenever a signal comes."""
    try:
        with signals_unwind():
            with held():  # from the first moment on
                from vsacli.cli import main
            code = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: the exit code says how
        return code
    except KeyboardInterrupt:
        sys.stderr.write("vsa: interrupted\n")
        return INTERRUPTED
    except Terminated:
        sys.stderr.write("vsa: terminated\n")
        return TERMINATED


if __name__ == "__main__":
    sys.exit(run())
