# %% [markdown]
# # A workload of one's own
# A web server: each client asks one of the workers, which sometimes needs the disk.

# %%
import tickless

web = tickless.Workload.from_ops(
    {
        "client": [("run", 20), "stamp", ("send", "request", {"reply": "answer"}),
                   ("receive", "answer"), ("record", "wait"), ("count", "pages")],
        "worker": [("receive", "request"), ("run", 60, {"uniform": 0.2}),
                   ("chance", 0.05, [("io", "disk")]), ("send", "caller")],
    },
    tasks={"client": "2*case", "worker": 8},
    channels={"request": "all", "answer": "task"},
    devices={"disk": {"service": "80 us", "parallel": 4}},
    name="web", report="pages", cases=[2, 4, 8],
)  # fmt: skip

# %% Who sends to whom
print(web.describe(case=4))

# %% It runs like any other
res = tickless.simulate(
    "8x-SKYLAKE-UMA", ["6.1", "6.12"], web, repeats=3, duration_s=0.1, warmup_s=0.05
)
print(res.compare("6.1").table())
