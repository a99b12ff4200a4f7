//! Single programs and a disk: sqlite, fio in four configurations, xfs_repair.
//!
//! Cheap models: who waits for whom and how often, with round prices. Buffered reads end in the page
//! cache except for one request per read-ahead window; buffered writes go to the page cache until the
//! writer is throttled to the speed of the device. What is ignored: the page cache as such (hit rates
//! are numbers here), the file system, the scheduler of the block layer. Source: the MMTests
//! configurations of 2018.

use super::dbench::{LOG_COSTS, fsync, log};
use super::exchange::solid;
use super::{
    Amount, At, Better, Case, Channel, Device, Mean, Measure, Op, Parameter, Parameters, Plan,
    Report, Spread, Task, WorkloadEntry,
};
use crate::error::Result;
use crate::machine::Machine;

const REPORT: Report = Report {
    metric: "throughput",
    unit: "transactions/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "mmtests",
    row: "test",
    prefix: "",
    measure: Measure::Rate { counter: "transactions", scale: 1.0 },
};

const SQLITE_COSTS: &[Parameter] = &[
    Parameter::us("insert", 30.0, "parse, plan and write of a row", "guess"),
    LOG_COSTS[1],
    LOG_COSTS[2],
    LOG_COSTS[3],
    LOG_COSTS[4],
];

/// sqlite inserts.
pub(super) const SQLITE: WorkloadEntry = WorkloadEntry {
    name: "sqlite",
    aliases: &["sqlite-insert"],
    summary: "one task that inserts rows, each in a transaction of its own with one chain of fsync",
    essay: "task --fsync--> log worker --> device --> log worker --> task, for every row; all CPUs are idle \
            while the device works.",
    report: REPORT,
    more: &[],
    pattern: None,
    parameters: SQLITE_COSTS,
    cases: |_| vec![Case::new("Trans", 1)],
    plan: |_, _, p| {
        let mut plan = Plan { warmup: 20_000_000, window: 1_000_000_000, ..Plan::default() };
        let done = plan.counter("transactions");
        let queue = log(&mut plan, p)?;
        let mut ops = vec![p.run("insert")?];
        ops.extend(fsync(p, queue)?);
        ops.push(Op::Count(done));
        let program = plan.program("sqlite", solid(ops));
        let own = plan.channel(Channel { sync: false, ..Channel::connection() });
        plan.task(Task { program, ..Task::default() }, &[own]);
        Ok(plan)
    },
};

const fn fio(threads: f64, miss: f64, writer: f64) -> [Parameter; 6] {
    [
        Parameter::count("readers", threads, 1.0, "reading tasks", "MMTests configuration"),
        Parameter::us(
            "read",
            0.9,
            "one read from the page cache, besides the copy",
            "1 us for 4 KB",
        ),
        Parameter::us("copy_kb", 0.08, "copy of one KB", "12.5 GB/s"),
        Parameter {
            name: "miss",
            default: miss,
            unit: "1",
            summary: "reads that need the device",
            source: "one read-ahead window of 128 KB per request, or a cached file (guess)",
            least: 0.0,
            most: 1.0,
        },
        Parameter::count(
            "writer",
            writer,
            0.0,
            "writes between two waits of the writing task; 0: no writer",
            "throttled by the device's 500 MB/s (guess): 4 KB every 8 us",
        ),
        Parameter::us(
            "device",
            200.0,
            "mean service time of the device",
            "50 to 300 us, guess for SSDs",
        ),
    ]
}

const RANDREAD: &[Parameter] = &fio(1.0, 0.001, 25.0);
const SEQREAD_4K: &[Parameter] = &fio(4.0, 1.0 / 32.0, 0.0);
const SEQREAD_32K: &[Parameter] = &fio(4.0, 0.25, 0.0);

/// Random reads of a cached file beside random writes.
pub(super) const FIO_RANDRW: WorkloadEntry = WorkloadEntry {
    name: "fio-randread-randwrite",
    aliases: &["fio-randread", "fio-randread-async-randwrite"],
    summary: "fio: random reads from the page cache beside a writer that the device slows down",
    essay: "reader: page-cache hits of a microsecond, now and then a request. Writer: page cache until it is \
            throttled. No messages.",
    report: Report {
        unit: "MB/s",
        measure: Measure::Volume { counter: "reads", scale: 1e-6 },
        ..REPORT
    },
    parameters: RANDREAD,
    cases: |_| vec![Case::new("read", 4096)],
    plan: fio_plan,
    ..SQLITE
};

/// The same with sequential writes, which the device takes twice as fast.
pub(super) const FIO_SEQWRITE: WorkloadEntry = WorkloadEntry {
    name: "fio-randread-seqwrite",
    aliases: &["fio-randread-async-seqwrite"],
    summary: "fio: random reads from the page cache beside a sequential writer",
    parameters: &fio(1.0, 0.001, 50.0),
    ..FIO_RANDRW
};

/// Four sequential readers, 4 KB at a time.
pub(super) const FIO_SEQREAD_4K: WorkloadEntry = WorkloadEntry {
    name: "fio-seqread-4k",
    aliases: &["fio-seqread-doublemem-4k-4t"],
    summary: "fio: four sequential readers, 4 KB at a time, bound by the device",
    essay: "Each reader waits for the device once per read-ahead window of 128 KB.",
    parameters: SEQREAD_4K,
    ..FIO_RANDRW
};

/// Four sequential readers, 32 KB at a time.
pub(super) const FIO_SEQREAD_32K: WorkloadEntry = WorkloadEntry {
    name: "fio-seqread-32k",
    aliases: &["fio-seqread-doublemem-32k-4t", "fio-seq"],
    summary: "fio: four sequential readers, 32 KB at a time, bound by the device",
    parameters: SEQREAD_32K,
    cases: |_| vec![Case::new("read", 32_768)],
    ..FIO_SEQREAD_4K
};

fn fio_plan(_: &Machine, case: &Case, p: &Parameters) -> Result<Plan> {
    let mut plan = Plan { warmup: 20_000_000, window: 500_000_000, ..Plan::default() };
    let reads = plan.counter("reads");
    let service = Amount::ns(p.ns("device")?.max(1)).spread(Spread::LogNormal(500));
    plan.devices.push(Device { service, parallel: 32 });
    let copy = p.ns("copy_kb")? as f64 * f64::from(case.count("bytes", 1 << 30)?) / 1024.0;
    let work = p.amount("read")?;
    let read = Op::Kernel(Amount { base: work.base + copy as i64, ..work });
    let permille = (p.get("miss")? * 1000.0).round() as u16;
    let reader = [
        read,
        Op::Run(Amount::ns(200)),
        Op::Count(reads),
        Op::Unless { permille, skip: 1 },
        Op::Io(At::Number(0)),
    ];
    let reader = plan.program("reader", solid(reader));
    for group in 0..p.number("readers")?.min(100_000) {
        plan.task(Task { program: reader, group, ..Task::default() }, &[]);
    }
    let batch = p.number("writer")?;
    if batch > 0 {
        let write =
            [Op::Repeat(batch), read, Op::Run(Amount::ns(200)), Op::Next, Op::Io(At::Number(0))];
        let writer = plan.program("writer", solid(write));
        plan.task(Task { program: writer, ..Task::default() }, &[]);
    }
    Ok(plan)
}

/// Chunks of the file system (guess): the time scales with it, comparisons do not.
const CHUNKS: f64 = 20_000.0;

const REPAIR_COSTS: &[Parameter] = &[
    Parameter::count("threads", 4.0, 1.0, "threads that check", "MMTests configuration"),
    Parameter::us("chunk", 400.0, "check of one chunk of inodes", "guess"),
    Parameter::us(
        "device",
        150.0,
        "mean service time of the device",
        "50 to 300 us, guess for SSDs",
    ),
];

/// xfs_repair.
pub(super) const XFSREPAIR: WorkloadEntry = WorkloadEntry {
    name: "xfsrepair",
    aliases: &["xfs_repair"],
    summary: "four checking threads, each with a thread that reads ahead for it",
    essay: "read-ahead thread --chunk--> checking thread, four times. The read-ahead thread waits for the \
            device, then for room.",
    report: Report {
        metric: "time",
        unit: "s",
        better: Better::Lower,
        mean: Mean::Arithmetic,
        measure: Measure::PerOp { counter: "chunks", scale: CHUNKS * 1e-9 },
        ..REPORT
    },
    parameters: REPAIR_COSTS,
    cases: |_| vec![Case::new("xfsrepair", 1)],
    plan: repair,
    ..SQLITE
};

fn repair(_: &Machine, _: &Case, p: &Parameters) -> Result<Plan> {
    let mut plan = Plan { warmup: 20_000_000, window: 1_000_000_000, ..Plan::default() };
    let chunks = plan.counter("chunks");
    let service = Amount::ns(p.ns("device")?.max(1)).spread(Spread::LogNormal(500));
    plan.devices.push(Device { service, parallel: 32 });
    let queue = At::Handle(0);
    let ahead =
        [Op::Io(At::Number(0)), Op::Kernel(Amount::ns(5000)), Op::Send { to: queue, reply: None }];
    let check = [Op::Receive(queue), p.run("chunk")?, Op::Count(chunks)];
    let programs = [plan.program("read-ahead", ahead), plan.program("check", solid(check))];
    for group in 0..p.number("threads")?.min(100_000) {
        let queue = plan.channel(Channel { capacity: 8, sync: false, ..Channel::connection() });
        for program in programs {
            plan.task(Task { program, group, ..Task::default() }, &[queue]);
        }
    }
    Ok(plan)
}
