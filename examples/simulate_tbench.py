# %% [markdown]
# # What a kernel change does to a benchmark
# One machine, three kernels, one benchmark, simulated as a closed loop: an idle state that wakes
# slower delays a reply, which lengthens the peer's idle period, which changes the next decision.

# %%
import numpy as np

import tickless

res = tickless.simulate(
    "8x-SKYLAKE-UMA",
    ["4.18-vanilla", "4.18-teo-v3", "4.18-teo-v5"],
    "tbench",
    cases=[1, 2, 4],
    repeats=5,
    duration_s=0.05,
)

# %% The table that people post
print(res.compare("4.18-vanilla").table())

# %% Why: which idle states were chosen, and how often too deep or too shallow
states = res.attrs["axes"]["idle_usage"][1]
usage = res["idle_usage"].mean(axis=2)
share = 100 * usage / usage.sum(axis=2, keepdims=True)
print("idle entries with 1 client, percent")
print(f"{'':14}" + "".join(f"{s:>8}" for s in states) + "   above   below")
for k, kernel in enumerate(res.kernels):
    wrong = [res[f"idle_{x}"][k, 0].mean(axis=0).sum() for x in ("above", "below")]
    row = [*share[k, 0], *(100 * w / usage[k, 0].sum() for w in wrong)]
    print(f"{kernel:14}" + "".join(f"{v:8.1f}" for v in row))

# %% What it costs
for name in ("wakeups_per_op", "latency_p50_us", "power_w", "energy_per_op_uj"):
    print(f"{name:18}", np.round(res[name][:, 0].mean(axis=1), 2), res.units[name])
