# %% [markdown]
# What would other governors have chosen on this trace?
# The trace that ships was recorded on Linux 6.12 with menu; its machine had the seven idle states
# of 8x-SKYLAKE-UMA. Use `tickless.read_trace("your-trace.txt")` and your machine's table instead.

# %%
import tickless

trace = tickless.read_trace(tickless.example_trace(), time_unit="ns")
periods = trace.idle_periods()

# %% The governor that ran, its neighbours, and the older TEO revisions.
names = ["menu-6.12", "menu-4.18", "teo-5.1", "teo-6.1", "teo-6.12", "teo-7.2", "ladder"]
replay = tickless.replay(periods, names, machine="8x-SKYLAKE-UMA", recorded="menu-6.12")

# %% In Jupyter, leave out print().
print(replay.compare("menu-6.12"))
