"""Write the pictures that the README and the manual show, from the data that ships."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import tickless  # noqa: E402

HERE = Path(__file__).parent / "_static"
FEW = ["menu-4.18.20", "menu-6.12", "menu-7.2", "teo-5.1", "teo-6.1", "teo-6.12", "teo-7.2", "ladder"]


def replay() -> None:
    """Draw the example trace through eight governors."""
    periods = tickless.read_trace(tickless.example_trace(), time_unit="ns").idle_periods()
    result = tickless.replay(periods, FEW, machine="8x-SKYLAKE-UMA", recorded="menu-6.12")
    result.plot().savefig(HERE / "replay.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    replay()
