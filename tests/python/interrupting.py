"""Ctrl-C in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time


def interrupt(code: str, after: float) -> tuple[str, str]:
    """Run code, interrupt it ``after`` s from its first line of output on, and return the rest.

    Returns what else it printed, and its errors. A child that goes on for 20 s more fails.
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(after)
            child.send_signal(signal.SIGINT)
            return child.communicate(timeout=20)
        finally:
            child.kill()
