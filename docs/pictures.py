"""Write the pictures that the README and the manual show, from the data that ships."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import tickless
from tickless.cli._timeline_spec import read_spec

HERE = Path(__file__).parent / "_static"
EXAMPLES = Path(__file__).parents[1] / "examples"
FEW = [
    "menu-4.18.20",
    "menu-6.12",
    "menu-7.2",
    "teo-5.1",
    "teo-6.1",
    "teo-6.12",
    "teo-7.2",
    "ladder",
]


def replay() -> None:
    """Draw the example trace through eight governors."""
    periods = tickless.read_trace(tickless.example_trace(), time_unit="ns").idle_periods()
    result = tickless.replay(periods, FEW, machine="8x-SKYLAKE-UMA", recorded="menu-6.12")
    result.plot().savefig(HERE / "replay.png", dpi=100, metadata={"Software": None})


def timeline() -> None:
    """Draw the example run queue under EEVDF of Linux 7.2."""
    spec = read_spec(EXAMPLES / "desktop.toml")
    t = tickless.timeline(policy=spec.policy, **spec.arguments)
    _save(t.plot(0, 80_000_000, names=spec.names), "timeline")


def tbench() -> None:
    """Draw one client/server pair on two kernels, and the blocking share by kernel and pairs."""
    example = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "tbench_preemption.py")))
    names = ["client 0", "server 0", "client 1", "server 1"]
    for kernel in ("6.1", "7.2"):
        t = example.run(example.KERNELS[kernel], 2, {}, example.START + 1_000_000, rows=True)
        picture = t.plot(example.START, example.START + 300_000, names=names)
        _save(picture, f"tbench_{kernel.replace('.', '_')}")
    _save(_shares(example), "tbench_preemption")


LINES = (
    ("6.1", {}, "#000000", "-", "o"),
    ("6.12", {}, "#0072b2", "-", "s"),
    ("7.2", {}, "#d55e00", "-", "^"),
    ("6.12", {"DELAY_ZERO": False}, "#0072b2", (0, (4, 2)), "s"),
    ("7.2", {"DELAY_ZERO": False}, "#d55e00", (0, (4, 2)), "^"),
)
"""Kernel, feature, colour, dashes and marker of each line."""


def _shares(example: SimpleNamespace) -> Figure:
    figure, ax = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
    for kernel, features, colour, dashes, marker in LINES:
        shares = [example.blocking(example.KERNELS[kernel], n, features)[0] for n in example.PAIRS]
        name = "".join(f"{f} {'on' if on else 'off'}" for f, on in features.items())
        style = {"color": colour, "marker": marker, "markersize": 7}
        label = f"{kernel} {name}".strip()
        ax.plot(example.PAIRS, shares, ls=dashes, mfc="white", label=label, **style)
        measured = example.MEASURED[kernel, name]
        ax.plot(example.PAIRS[: len(measured)], measured, ls="", **style)
    ax.plot([], [], "o", color="#555555", label="filled: measured on real kernels")
    ax.set_xscale("log", base=2)
    ax.set_xticks(example.PAIRS, [str(n) for n in example.PAIRS])
    ax.set_ylim(-0.05, 1.05)
    ax.set_xlabel("client/server pairs on one CPU")
    ax.set_ylabel("client blocks per round trip")
    ax.set_title("How the client leaves the CPU", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", lw=0.4)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _save(figure: Figure, name: str) -> None:
    figure.savefig(HERE / f"{name}.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    replay()
    timeline()
    tbench()
