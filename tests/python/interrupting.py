"""Ctrl-C in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time


def interrupt(code: str, after: float, within: float = 10) -> tuple[str, str, float]:
    """Run code, interrupt it ``after`` s from its first line of output on, and return the rest.

    Returns what else it printed, its errors, and when it was interrupted (`time.monotonic`). A
    child that goes on for ``within`` s more fails.
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(after)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, said = child.communicate(timeout=within)
            return out, said, sent
        finally:
            child.kill()
