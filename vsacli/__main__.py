"""The command `vsa`, also as `python -m vsacli`."""

from __future__ import annotations

import signal
import sys


def run() -> int:
    """Run the command line of this process and return the exit code, whenever a signal comes."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    mask = None
    if hasattr(signal, "pthread_sigmask"):  # before anything else is loaded: until there are handlers, they wait
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in names])
    from vsacli.support.signals import INTERRUPTED, TERMINATED, Terminated, held, signals_unwind

    try:
        with signals_unwind():
            with held():
                if mask is not None:
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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
