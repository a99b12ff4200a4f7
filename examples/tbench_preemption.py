# %% [markdown]
# Why does tbench on busy CPUs lose a tenth from CFS to EEVDF?
# n client/server pairs share one CPU. On CFS the woken server preempts its client, which stays
# runnable and finds the reply when it goes on. On EEVDF the client usually runs on to its receive,
# finds nothing and blocks: one block and one wake-up more per round trip.
#
#     client:  work ── send ──► tail ── receive (blocks only if no reply is there)
#     server:  receive ── work ── send (wakes the client only if it sleeps) ── tail

# %%
from tickless import timeline

# Path lengths in ns, means of a traced 6.12 kernel, the same in every row. The server's turn of
# 17,000 ns is its work, the tail after its send, and the block.
CLIENT, SERVER, TAIL = 17_600, 11_700, 3_500
COSTS = {"wake_ns": 1_900, "block_ns": 1_800}
START, END = 400_000_000, 1_400_000_000  # traced kernels, too, were looked at after 0.4 s

KERNELS = {"6.1": "cfs-uncapped", "6.12": "eevdf-6.12", "7.2": "eevdf-7.2"}
CASES = [(kernel, {}) for kernel in KERNELS] + [
    (kernel, {feature: on})
    for kernel in ("6.12", "7.2")
    for feature, on in (("DELAY_ZERO", False), ("NEXT_BUDDY", True), ("DELAY_DEQUEUE", False))
]
PAIRS = (1, 2, 4, 8)
# Share of round trips in which the client blocked on real kernels of these versions, one CPU,
# instruction-counting emulator; not measured for 4 and 8 pairs, nor without DELAY_DEQUEUE.
MEASURED = {
    ("6.1", ""): (0.00, 0.00),
    ("6.12", ""): (0.09, 0.91),
    ("7.2", ""): (0.99, 0.97),
    ("6.12", "DELAY_ZERO off"): (0.08, 0.69),
    ("7.2", "DELAY_ZERO off"): (0.04, 0.74),
    ("6.12", "NEXT_BUDDY on"): (0.08, 0.91),
    ("7.2", "NEXT_BUDDY on"): (1.00, 0.98),
}


# %%
def run(policy, pairs, features, until_ns, rows=False):
    programs = []
    for i in range(pairs):
        client, server = 2 * i, 2 * i + 1
        ask = [("run", CLIENT), ("send-sync", server), ("run", TAIL), ("receive",)]
        answer = [("receive",), ("run", SERVER), ("send-sync", client), ("run", TAIL)]
        programs += [(0, ask), (0, answer)]
    setup = {"policy": policy, "features": features, "ncpus": 1, "hz": 250, "costs": COSTS}
    return timeline([0] * 2 * pairs, programs=programs, until_ns=until_ns, rows=rows, **setup)


def blocking(policy, pairs, features):
    """Return blocks of the clients per round trip, and round trips per second."""
    before, after = (run(policy, pairs, features, t).totals[::2] for t in (START, END))
    trips = (after["rounds"] - before["rounds"]).sum()
    blocks = (after["blocks"] - before["blocks"]).sum()
    return blocks / trips, trips / (END - START) * 1e9


# %% The table: computed share, (measured share), and round trips per second against 6.1.
if __name__ == "__main__":
    fastest = [blocking(KERNELS["6.1"], n, {})[1] for n in PAIRS]
    print("client blocks per round trip (m: measured), round trips against 6.1 from that alone\n")
    heads = (f"{n} pair{'s' if n > 1 else ''}" for n in PAIRS)
    print((f"{'kernel':<23}" + "".join(f"{head:<23}" for head in heads)).rstrip())
    misses = []
    for kernel, features in CASES:
        name = "".join(f"{f} {'on' if on else 'off'}" for f, on in features.items())
        cells = ""
        for j, n in enumerate(PAIRS):
            share, rate = blocking(KERNELS[kernel], n, features)
            known = MEASURED.get((kernel, name), ())[j : j + 1]
            measured = f"(m {known[0]:.2f})" if known else ""
            misses += [f"{kernel} {name}, {n} pairs" for m in known if abs(share - m) > 0.1]
            cells += f"{share:5.2f} {measured:<8}{100 * (rate / fastest[j] - 1):+6.1f} %"
        print(f"{kernel:<5}{name:<18}{cells}")
    n = sum(map(len, MEASURED.values()))
    print(f"\n{n - len(misses)} of {n} measured shares within 0.1", *misses, sep="\n  ")
