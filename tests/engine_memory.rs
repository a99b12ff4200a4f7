//! Memory of a run: under 1 KB for a task and 64 KB for a CPU.
#![allow(unsafe_code)] // counting what is allocated takes an allocator

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use support::{MS, Run, kernel, preset};
use tickless::machine::Machine;
use tickless::workload::{Amount, At, Channel, Op, Plan, Task};

/// The system's allocator with a count of what is in use.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most memory that a run needs at a time beyond what was there before, bytes.
fn memory(machine: &Machine, plan: &Plan) -> usize {
    let kernel = kernel("6.12");
    let run = Run::new(machine, &kernel, plan);
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    run.go();
    MOST.load(Relaxed) - before
}

/// Pairs that pass a message to and fro.
fn pairs(n: u32) -> Plan {
    let mut plan = Plan { warmup: 0, window: 20 * MS, ..Plan::default() };
    let (there, back) = (At::Handle(0), At::Handle(1));
    let work = Op::Run(Amount::ns(2000));
    let send = |to| Op::Send { to, reply: None };
    let client = plan.program("client", [work, send(there), Op::Receive(back)]);
    let server = plan.program("server", [Op::Receive(there), work, send(back)]);
    for group in 0..n {
        let handles = [0, 1].map(|_| plan.channel(Channel::connection()));
        for program in [client, server] {
            plan.task(Task { program, group, ..Task::default() }, &handles);
        }
    }
    plan
}

// One test, because there is one count: tests of a file run at the same time.
#[test]
fn a_task_takes_less_than_a_kilobyte_and_a_cpu_less_than_64() {
    let small = preset("8x-SKYLAKE-UMA");
    let (few, many) = (memory(&small, &pairs(1000)), memory(&small, &pairs(5000)));
    let task = (many - few) / 8000;
    assert!((64..1024).contains(&task), "{task} bytes for a task, its channel included");
    let big = preset("epyc-2x64-nps1");
    let (a, b) = (memory(&small, &pairs(100)), memory(&big, &pairs(100)));
    let cpu = (b - a) / (big.ncpus - small.ncpus) as usize;
    assert!((256..64 * 1024).contains(&cpu), "{cpu} bytes for a CPU");
}
