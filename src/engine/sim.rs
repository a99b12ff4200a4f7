//! The state of one run, how it is built, and the loop over its events.

use super::contention::{LoadLine, Server};
use super::cpu::{BACKGROUND, Cpu, FULL, Look, NONE};
use super::device::DeviceState;
use super::llc::{Llc, Place};
use super::metrics::{Count, Metrics};
use super::prices::Prices;
use super::record::Recorder;
use super::setup::Setup;
use super::slots::{NEVER, Slots};
use super::sync::{BarrierState, BoardState, LockState};
use super::task::{Queue, Task, Waits};
use crate::error::{Error, Result};
use crate::idle::Governor;
use crate::kernel::{Kernel, Placement, Preemption};
use crate::machine::{CpuClass, IdleTable, Machine, Topology};
use crate::rng::{Seed, Stream};
use crate::sched::{Class, Entities, Runqueue, TaskId, TaskSpec};
use crate::watch::Watch;
use crate::workload::{Op, Plan, TaskClass};

/// Events between two looks at the watch.
const LOOK: u64 = 4096;

/// Operations a task may carry out without any time passing, besides some for every other task,
/// since it may have something from each of them.
const PATIENCE: u32 = 100_000;

/// The same for every task.
const PATIENCE_EACH: u32 = 8;

/// Keys of the random streams of a run: one per kind of source.
const OF_RUN: u32 = 0;
const OF_TASK: u32 = 1;
const OF_CPU: u32 = 2;

/// One run.
pub struct Sim<'a> {
    /// The present, ns.
    pub now: i64,
    pub(super) slots: Slots,
    pub(super) machine: &'a Machine,
    pub(super) topology: &'a Topology,
    pub(super) kernel: &'a Kernel,
    pub(super) plan: &'a Plan,
    pub(super) lazy: bool,
    pub(super) voluntary: bool,
    pub(super) rules: Placement,
    pub(super) migration_cost: i64,
    pub(super) tick: i64,
    pub(super) prices: Prices,
    pub(super) cpus: Vec<Cpu>,
    pub(super) queues: Vec<Box<dyn Runqueue>>,
    pub(super) entities: Entities,
    pub(super) tasks: Vec<Task>,
    pub(super) spare: Vec<u32>,
    pub(super) place: Vec<Place>,
    pub(super) llcs: Vec<Llc>,
    pub(super) rates: Vec<u64>,
    pub(super) looks: Vec<Look>,
    pub(super) clock: super::clock::Clocks,
    pub(super) locks: Vec<Server>,
    pub(super) load_line: LoadLine,
    pub(super) channels: Vec<Queue>,
    pub(super) mutexes: Vec<LockState>,
    pub(super) lines: Vec<Server>,
    pub(super) barriers: Vec<BarrierState>,
    pub(super) boards: Vec<BoardState>,
    pub(super) devices: Vec<DeviceState>,
    /// All CPUs, as a domain.
    pub(super) everyone: Vec<u32>,
    /// The CPU of the task that a wake-up was begun for last.
    pub(super) last_target: usize,
    /// Runnable tasks that wait, on all CPUs.
    pub(super) waiting: u32,
    pub(super) affinities: Vec<Vec<bool>>,
    pub(super) layout_factor: u64,
    pub(super) noise: f64,
    pub(super) cpu_random: Vec<Stream>,
    pub(super) metrics: Metrics,
    pub(super) recorder: Option<Recorder>,
    /// Tasks that are running, runnable, or will wake by themselves.
    pub(super) lively: u32,
    /// Tasks that have not exited.
    pub(super) alive: u32,
    pub(super) starts: Vec<(i64, u32)>,
    pub(super) started: usize,
    /// Events so far.
    pub events: u64,
    /// Tasks that have begun so far.
    pub(super) births: u32,
    /// Laws that are watched while the run goes on, if anybody wants to know.
    pub(super) audit: Option<Box<super::audit::Audit>>,
    /// What broke the run.
    pub(super) broken: Option<Error>,
}

impl<'a> Sim<'a> {
    /// Builds a run: machine idle, tasks about to start.
    ///
    /// # Errors
    /// Whatever is wrong with kernel and machine together.
    pub fn new(setup: &Setup<'a>, seed: &Seed) -> Result<Self> {
        let (machine, kernel, plan) = (setup.machine, setup.kernel, setup.plan);
        let topology = &machine.topology;
        let ncpus = topology.ncpus();
        let settings = kernel.settings(ncpus as i64)?;
        let mut random = seed.child(&[OF_RUN]).stream();
        let ntasks = plan.tasks.len() + plan.spare as usize;
        let specs: Vec<TaskSpec> = (0..ntasks).map(|i| spec(plan, i)).collect();
        let tasks: Vec<Task> =
            (0..ntasks).map(|i| Task::new(seed.child(&[OF_TASK, i as u32]).stream())).collect();
        let prices = Prices::new(machine, kernel, &plan.paths);
        let tick = settings.tick;
        let phase = |stream: &mut Stream| {
            if setup.noise > 0.0 { (stream.next_u64() % tick as u64) as i64 } else { 0 }
        };
        let mut cpu_random: Vec<Stream> =
            (0..ncpus).map(|i| seed.child(&[OF_CPU, i as u32]).stream()).collect();
        let mut cpus = Vec::with_capacity(ncpus);
        for (c, stream) in cpu_random.iter_mut().enumerate() {
            let table = &machine.classes[machine.class_of(c as u32)].table;
            let governor = governor(setup, c as u32, table)?;
            let first = phase(stream) + tick * i64::from(setup.noise == 0.0);
            let mut cpu = Cpu::new(governor, first);
            if prices.costs.background_period > 0 {
                let share = i128::from(stream.next_u64() >> 32);
                let at = ((i128::from(prices.costs.background_period) * share) >> 32) as i64;
                let at = if setup.noise > 0.0 {
                    at
                } else {
                    prices.costs.background_period * (c as i64 + 1) / ncpus as i64
                };
                cpu.set_timer(at, BACKGROUND);
            }
            cpus.push(cpu);
        }
        let queues = (0..ncpus).map(|_| (kernel.policy.build)(&settings)).collect();
        let (place, llcs) = super::llc::build(topology)?;
        let layout_factor = if setup.noise > 0.0 {
            let sigma = LAYOUT_SIGMA * setup.noise;
            (FULL as f64 * (sigma * random.normal()).exp()).round() as u64
        } else {
            FULL
        };
        let nllcs = topology.nllcs();
        let mut sim = Self {
            now: 0,
            slots: Slots::new(ncpus + plan.devices.len()),
            machine,
            topology,
            kernel,
            plan,
            voluntary: kernel.preemption == Preemption::Voluntary,
            lazy: kernel.preemption == Preemption::Lazy,
            rules: kernel.placement(),
            migration_cost: kernel.migration_cost(),
            tick,
            prices,
            cpus,
            queues,
            entities: Entities::new(&specs),
            tasks,
            spare: (plan.tasks.len() as u32..ntasks as u32).rev().collect(),
            place,
            llcs,
            rates: vec![FULL; ncpus],
            looks: vec![Look::Active; ncpus],
            clock: super::clock::Clocks::new(machine),
            locks: (0..ncpus).map(|c| Server { free_at: 0, holder: c as u32 }).collect(),
            load_line: LoadLine { seen: vec![0; nllcs], ..LoadLine::default() },
            channels: plan.channels.iter().map(|_| Queue::default()).collect(),
            mutexes: plan.locks.iter().map(|_| LockState::default()).collect(),
            lines: vec![Server::default(); plan.lines as usize],
            barriers: plan.barriers.iter().map(|_| BarrierState::default()).collect(),
            boards: plan.boards.iter().map(|_| BoardState::default()).collect(),
            devices: plan.devices.iter().map(|_| DeviceState::default()).collect(),
            everyone: (0..ncpus as u32).collect(),
            last_target: 0,
            waiting: 0,
            affinities: affinities(plan, ncpus),
            layout_factor,
            noise: setup.noise,
            cpu_random,
            metrics: Metrics::new(plan.counters.len(), plan.latencies.len()),
            recorder: setup.record.then(Recorder::default),
            lively: 0,
            alive: plan.tasks.len() as u32,
            starts: Vec::new(),
            started: 0,
            events: 0,
            births: 0,
            audit: None,
            broken: None,
        };
        sim.power_on();
        Ok(sim)
    }

    /// Sets every CPU idle and plans the starts of the tasks.
    fn power_on(&mut self) {
        for c in 0..self.cpus.len() {
            self.rates[c] = self.rate(c);
            self.set_idle(c, true);
            let price = self.prices.costs.prepare_idle;
            let rate = self.rates[c];
            self.cpus[c].begin(super::cpu::Kind::Prepare, price, rate);
            self.rekey(c);
        }
        for (i, spec) in self.plan.tasks.iter().enumerate() {
            let id = TaskId(i as u32);
            let slice = spec.slice;
            self.queues[0].set_slice(&mut self.entities, id, slice, 0);
            let task = &mut self.tasks[i];
            task.program = spec.program;
            task.handles = (spec.handles, spec.handle_count);
            task.affinity = spec.affinity.unwrap_or(NONE);
            self.starts.push((spec.start, i as u32));
        }
        self.starts.sort_unstable();
        self.lively = self.plan.tasks.len() as u32;
    }

    /// Lets the run go on until `until`, or until it is over; the watch counts simulated ns.
    ///
    /// # Errors
    /// [`Error::Interrupted`], or [`Error::InvalidParameter`] when the workload is found to be in a
    /// deadlock or to go on without time passing.
    pub fn run_until(&mut self, until: i64, watch: &Watch) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let (mut events, mut seen) = (0, self.now);
        loop {
            let (t, slot) = self.slots.first();
            let start = self.starts.get(self.started).map_or(NEVER, |s| s.0);
            if t.min(start) >= until {
                break;
            }
            events += 1;
            if start <= t {
                self.now = self.now.max(start);
                let id = self.starts[self.started].1;
                self.started += 1;
                self.start(id);
            } else {
                // What became due while the CPU could not look is late, not in the past.
                self.now = self.now.max(t);
                if slot < self.cpus.len() {
                    self.fire(slot);
                } else {
                    self.device_done(slot - self.cpus.len());
                }
            }
            if let Some(audit) = self.audit.take() {
                let audit = self.look_over(audit);
                self.audit = Some(audit);
            }
            if self.alive == 0 {
                break;
            }
            if self.lively == 0 || self.broken.is_some() {
                return Err(self.broken.take().unwrap_or_else(|| self.deadlock()));
            }
            if events % LOOK == 0 {
                watch.advance((self.now - seen) as u64)?;
                seen = self.now;
            }
        }
        self.events += events;
        self.metrics.add(Count::Events, events as i64);
        if self.alive > 0 {
            self.now = until;
        }
        for c in 0..self.cpus.len() {
            self.settle(c);
        }
        watch.advance((self.now - seen) as u64)
    }

    /// True when every task has exited.
    pub fn is_over(&self) -> bool {
        self.alive == 0
    }

    /// Tells which CPU has to be looked at when.
    #[inline]
    pub(super) fn rekey(&mut self, c: usize) {
        self.slots.set(c, self.cpus[c].next_event());
    }

    /// Accounts for the time of a CPU up to now.
    #[inline]
    pub(super) fn settle(&mut self, c: usize) {
        self.cpus[c].settle(self.now, self.rates[c]);
    }

    /// Returns the class of a CPU.
    #[inline]
    pub(super) fn class(&self, c: usize) -> &'a CpuClass {
        &self.machine.classes[self.machine.class_of(c as u32)]
    }

    /// Says who waits for what.
    fn deadlock(&self) -> Error {
        let names = |t: &Task| {
            self.plan.programs.get(t.program as usize).map_or("task", |p| p.name.as_str())
        };
        let blocked: Vec<String> = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, t)| t.waits != Waits::Nothing)
            .take(8)
            .map(|(i, t)| {
                format!("task {i} ({}) waits for {}", names(t), t.waits.say(&self.plan.names))
            })
            .collect();
        Error::invalid(
            "workload",
            format!(
                "deadlock at {} ns: nobody runs and nothing will wake anybody; {}",
                self.now,
                blocked.join(", ")
            ),
        )
    }

    /// Says that a task answers a request that never came.
    #[cold]
    pub(super) fn uncalled(&mut self, id: u32) {
        let task = &self.tasks[id as usize];
        let name = &self.plan.programs[task.program as usize].name;
        self.broken = Some(Error::invalid(
            format!("workload.programs[{name}].ops[{}]", task.ip),
            format!("task {id} answers a caller, but no message it took asks for an answer"),
        ));
    }

    /// Returns how many operations a task may carry out without any time passing.
    pub(super) fn patience(&self) -> u32 {
        PATIENCE.saturating_add(PATIENCE_EACH.saturating_mul(self.tasks.len() as u32))
    }

    /// Says that a task goes on for ever without time passing.
    pub(super) fn endless(&mut self, id: u32) {
        let program = self.tasks[id as usize].program as usize;
        let name = &self.plan.programs[program].name;
        self.broken = Some(Error::invalid(
            format!("workload.programs[{name}]"),
            format!(
                "task {id} carried out {} operations without any time passing",
                self.patience()
            ),
        ));
    }
}

fn governor(setup: &Setup<'_>, cpu: u32, table: &IdleTable) -> Result<Option<Box<dyn Governor>>> {
    if table.len() <= 1 {
        return Ok(None);
    }
    let hz = setup.kernel.hz as u32;
    match (setup.governors, setup.kernel.governor) {
        (Some(make), _) => make.make(cpu, table, hz).map(Some),
        (None, Some(entry)) => Ok(Some(entry.build(table, hz))),
        (None, None) if setup.kernel.custom_governor => {
            Err(Error::invalid("governor", "the kernel has a custom governor, but none was given"))
        }
        (None, None) => Ok(None),
    }
}

/// Sigma of the per-run factor on all work at noise 1: one boot differs from the next by the layout
/// of code and data in caches. 0.4 % is the order of the CVs between runs that the published tables
/// show for CPU-bound rows (unixbench dhry2reg: 0.03 to 0.7 %).
const LAYOUT_SIGMA: f64 = 0.004;

fn spec(plan: &Plan, i: usize) -> TaskSpec {
    plan.tasks.get(i).map_or_else(TaskSpec::default, |t| TaskSpec {
        nice: t.nice,
        class: match t.class {
            TaskClass::Normal => Class::Normal,
            TaskClass::Batch => Class::Batch,
            TaskClass::Idle => Class::Idle,
        },
        slice: t.slice,
    })
}

fn affinities(plan: &Plan, ncpus: usize) -> Vec<Vec<bool>> {
    let set = |cpus: &Vec<u32>| {
        let mut allowed = vec![false; ncpus];
        cpus.iter().for_each(|&c| allowed[c as usize] = true);
        allowed
    };
    plan.affinities.iter().map(set).collect()
}

/// Returns true if the operation begins a stretch in user mode.
pub(super) fn is_user(op: &Op) -> bool {
    matches!(op, Op::Run(_) | Op::Spin(_) | Op::Memory(_) | Op::Touch(_))
}
