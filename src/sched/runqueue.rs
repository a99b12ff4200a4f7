//! What a scheduling policy is: a run queue that is told what happens and says who runs.
//!
//! A run queue holds numbers of tasks, never the tasks: those lie in one [`Entities`] arena that
//! all run queues of a run share and that is handed to every call. `now` never goes back. Every
//! call leaves the queue consistent; what it may ask for is a reschedule ([`Common::resched`]),
//! which whoever owns the CPU carries out by calling [`Runqueue::pick_next`] when the kernel would.

use super::entity::{Class, Entities, TaskId};
use super::features::{Feature, Features};
use super::timeline::Drive;
use super::tunables::{Tunable, Tunables, factor};
use crate::catalogue::{self, Named};
use crate::error::{Error, Result};

/// Virtual time of a fresh run queue, -2^20 (Linux `init_cfs_rq`).
pub const FIRST_VRUNTIME: i64 = -(1 << 20);

/// Why a task becomes runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// It is new (Linux `ENQUEUE_INITIAL`, `WF_FORK`).
    Fork,
    /// It was woken; `sync` if the waker is about to sleep (Linux `WF_SYNC`).
    Wake {
        /// The waker announced that it is about to sleep.
        sync: bool,
    },
    /// It comes from another CPU (Linux `ENQUEUE_MIGRATED`).
    Migrate,
}

/// How a running task goes to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sleep {
    /// An ordinary wait; the task may stay queued until its lag is paid.
    Normal,
    /// Stopped, traced or dying: leaves at once (Linux `DEQUEUE_SPECIAL`).
    Special,
}

/// A wish to reschedule, in rising urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Resched {
    /// None.
    #[default]
    No,
    /// At the next return to user mode or tick (Linux `TIF_NEED_RESCHED_LAZY`).
    Lazy,
    /// As soon as possible (Linux `TIF_NEED_RESCHED`).
    Now,
}

/// What every run queue keeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct Common {
    /// The task in the running slot; after a block it stays there until the pick.
    pub curr: Option<TaskId>,
    /// Tasks counted in the queue: running, queued and delayed.
    pub nr: u32,
    /// SCHED_IDLE tasks among them.
    pub nr_idle: u32,
    /// Reschedule asked for and not yet carried out.
    pub resched: Resched,
    /// Expiry of the slice timer, ns; `None` if it is not armed.
    pub slice_timer: Option<i64>,
}

impl Common {
    /// Asks for a reschedule, keeping a more urgent wish.
    #[inline]
    pub fn ask(&mut self, how: Resched) {
        self.resched = self.resched.max(how);
    }

    /// Counts a task in.
    #[inline]
    pub fn count_in(&mut self, tasks: &mut Entities, id: TaskId) {
        let e = &mut tasks[id];
        e.on_rq = true;
        self.nr += 1;
        self.nr_idle += u32::from(e.is_idle());
    }

    /// Counts a task out.
    #[inline]
    pub fn count_out(&mut self, tasks: &mut Entities, id: TaskId) {
        let e = &mut tasks[id];
        e.on_rq = false;
        self.nr -= 1;
        self.nr_idle -= u32::from(e.is_idle());
    }

    /// Returns the running task if it is still runnable.
    #[inline]
    pub fn competing(&self, tasks: &Entities) -> Option<TaskId> {
        self.curr.filter(|&c| tasks[c].on_rq)
    }
}

/// What can be seen of a run queue between two events; virtual times in virtual ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Observed {
    /// Reference of virtual time: `min_vruntime`, or `zero_vruntime` of later versions.
    pub reference: i64,
    /// Weighted average of the competitors' virtual run times; 0 under CFS.
    pub avg_vruntime: i64,
    /// Sum of (vruntime - reference) * weight over the tree; 0 under CFS.
    pub sum_key_weight: i64,
    /// Sum of the weights in the tree; under CFS of the whole queue.
    pub sum_weight: i64,
    /// Whether the task asked about is eligible; `None` if not queued or CFS.
    pub eligible: Option<bool>,
    /// Hints: picked next, returned to last, skipped.
    pub buddies: [Option<TaskId>; 3],
    /// Protection of the running task: 1 if marked (6.12), its end in virtual ns (7.2), else 0.
    pub protect: i64,
}

/// A scheduling policy on one CPU.
pub trait Runqueue: Send {
    /// Returns the running task, the counts, the pending reschedule and the slice timer.
    fn common(&self) -> &Common;

    /// Makes a task runnable: a new one, a sleeping or delayed one, or one from another CPU.
    fn enqueue(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64);

    /// Asks for a reschedule if the task just made runnable should preempt the running one.
    fn wakeup_preempt(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64);

    /// Puts the running task to sleep; it stays in the running slot until the pick.
    fn block(&mut self, tasks: &mut Entities, how: Sleep, now: i64);

    /// Lets the running task step back (Linux `sched_yield`).
    fn yield_now(&mut self, tasks: &mut Entities, now: i64);

    /// Handles the timer tick.
    fn tick(&mut self, tasks: &mut Entities, now: i64);

    /// Handles the expiry of the slice timer: charges and reschedules.
    fn slice_timer_expired(&mut self, tasks: &mut Entities, now: i64);

    /// Puts the running task back, picks the next and switches to it; `None` when idle.
    fn pick_next(&mut self, tasks: &mut Entities, now: i64) -> Option<TaskId>;

    /// Takes a queued, not running task out, to be enqueued on another CPU.
    fn leave(&mut self, tasks: &mut Entities, id: TaskId, now: i64);

    /// Lets go of a sleeping task that will be woken on another CPU (Linux `migrate_task_rq`).
    ///
    /// Policies that keep a sleeper's lag instead of its virtual time have nothing to do.
    fn sleeper_leaves(&mut self, _tasks: &mut Entities, _id: TaskId, _now: i64) {}

    /// Takes a sleeping task over that is about to be enqueued here.
    fn sleeper_arrives(&mut self, _tasks: &mut Entities, _id: TaskId, _now: i64) {}

    /// Changes the nice value of a running, queued, delayed or sleeping task.
    fn set_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64);

    /// Changes the slice of a task; 0 returns to the base slice.
    ///
    /// Policies without custom slices ignore it; [`Policy::custom_slices`] tells.
    fn set_slice(&mut self, tasks: &mut Entities, id: TaskId, slice: i64, now: i64);

    /// Returns what can be seen of the queue, with `id` as the task asked about.
    fn observe(&self, tasks: &Entities, id: Option<TaskId>) -> Observed;
}

/// How the August 2023 pick searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pick {
    /// The walk of that kernel, which can miss the earliest deadline.
    #[default]
    Walk,
    /// The earliest deadline among the eligible.
    Ideal,
}

/// Everything a run queue is built from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Switches.
    pub features: Features,
    /// Lengths of time.
    pub tunables: Tunables,
    /// Length of the tick, ns.
    pub tick: i64,
    /// Search of the August 2023 pick.
    pub pick: Pick,
    /// Virtual time at the start, virtual ns.
    pub first_vruntime: i64,
}

/// A catalogue entry: a scheduling policy of one kernel version.
#[derive(Debug)]
pub struct Policy {
    /// Registered name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// One line for lists.
    pub summary: &'static str,
    /// Public name and version of what is modelled.
    pub source: &'static str,
    /// Switches this version has, with their defaults.
    pub features: &'static [(Feature, bool)],
    /// Switches that may be named but not turned on here, with the reason.
    pub fixed_off: &'static [(Feature, &'static str)],
    /// Tunables this version has.
    pub tunables: &'static [Tunable],
    /// Scheduling classes this version has.
    pub classes: &'static [Class],
    /// Tasks may ask for a slice of their own.
    pub custom_slices: bool,
    /// Columns of a timeline that this version does not have.
    pub blank_columns: &'static [&'static str],
    /// Builds an empty run queue.
    pub build: fn(&Settings) -> Box<dyn Runqueue>,
    /// Its timeline.
    pub(super) drive: &'static dyn Drive,
}

impl Named for Policy {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
}

/// Tick rates the kernel can be built with, Hz (Linux `kernel/Kconfig.hz`).
pub const TICK_RATES: [i64; 4] = [100, 250, 300, 1000];

/// Most CPUs a kernel can be built for (Linux x86 `NR_CPUS_RANGE_END`).
pub const MAX_CPUS: i64 = 8192;

impl Policy {
    /// Returns the policy called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest names.
    pub fn find(name: &str) -> Result<&'static Policy> {
        catalogue::find("policy", super::POLICIES, name)
    }

    /// Returns the settings of this version on `ncpus` CPUs with a tick of `hz`, all defaults.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a CPU count or tick rate no kernel has.
    pub fn settings(&self, ncpus: i64, hz: i64) -> Result<Settings> {
        if !(1..=MAX_CPUS).contains(&ncpus) {
            return Err(Error::invalid("ncpus", format!("{ncpus} is outside 1 to {MAX_CPUS}")));
        }
        if !TICK_RATES.contains(&hz) {
            return Err(Error::invalid(
                "hz",
                format!("{hz} is not one of 100, 250, 300, 1000, the tick rates of the kernel"),
            ));
        }
        Ok(Settings {
            features: Features::defaults(self.features),
            tunables: Tunables::defaults(self.tunables, factor(ncpus as u32)),
            tick: 1_000_000_000 / hz,
            pick: Pick::Walk,
            first_vruntime: FIRST_VRUNTIME,
        })
    }

    /// Returns `settings` with switches changed by name.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a switch this version does not have, [`Error::InvalidParameter`]
    /// for one that cannot be turned on here.
    pub fn with_features<'a>(
        &self,
        mut settings: Settings,
        changes: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Settings> {
        settings.features = settings.features.change(self.features, changes)?;
        match self.fixed_off.iter().find(|(f, _)| settings.features.has(*f)) {
            Some((f, reason)) => {
                Err(Error::invalid(format!("features[{:?}]", f.name()), (*reason).to_owned()))
            }
            None => Ok(settings),
        }
    }
}
