# %% [markdown]
# Is the patched kernel slower, and would five runs have shown it?
# UDP throughput of two kernels, five runs each, as a benchmark script would collect it.

# %%
import pandas as pd

from tickless import Results

RUNS = {
    ("6.12.0-stock", "64"): [362.3, 358.1, 365.0, 360.7, 361.9],
    ("6.12.0-stock", "1024"): [5405.9, 5491.2, 5370.4, 5433.0, 5388.8],
    ("6.12.0-stock", "16384"): [44415.0, 45340.7, 43900.2, 44120.9, 44811.3],
    ("6.12.0-teo", "64"): [341.4, 339.2, 343.8, 336.0, 340.1],
    ("6.12.0-teo", "1024"): [5350.2, 5441.7, 5369.9, 5480.0, 5310.5],
    ("6.12.0-teo", "16384"): [46188.9, 46253.8, 45616.6, 47100.2, 45900.3],
}
frame = pd.DataFrame(
    [(kernel, size, v) for (kernel, size), runs in RUNS.items() for v in runs],
    columns=["kernel", "case", "value"],
)
results = Results.from_frame(frame, benchmark="netperf-udp", unit="Mbit/s", better="higher")

# %% [markdown]
# The table kernel people post; the asterisk is Welch's test, and the notes say what five runs could
# not have shown.

# %%
comparison = results.compare("6.12.0-stock")
print(comparison)

# %% [markdown]
# The same with an exact rank test and false discoveries controlled over the table, as benchstat
# would show it.

# %%
ranks = results.compare("6.12.0-stock", rule="mann-whitney", correction="fdr_bh")
print(ranks.table("benchstat"))

# %% [markdown]
# And in one line.

# %%
print(comparison.table("summary"))
