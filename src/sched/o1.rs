//! The O(1) scheduler of the 2.5 kernels.
//!
//! **What it believes about the world.** Finding the next task must not cost more when many run.
//! A task that sleeps much is interactive and should run at once when it wakes; a task that never
//! sleeps can wait, but not for ever.
//!
//! **What it measures.** Per task the *sleep average*, 0 to 2 s: sleeping adds, running subtracts.
//! Run time is sampled: whoever runs at a tick pays for the whole tick.
//!
//! **How it decides.**
//! 1. *Priority*: 120 + nice, improved by up to 5 or worsened by up to 5 as the sleep average is
//!    high or low, within 100 (best) to 139. It is computed anew at a wake-up, a fork, a nice
//!    change and when a slice ends, not in between.
//! 2. *Pick*: two arrays of lists, one list per priority, each array with a bitmap of its occupied
//!    lists. The head of the first occupied list of the *active* array runs. When that array is
//!    empty the two change places: constant time however many wait.
//! 3. *Tick*: the running task pays one tick of sleep average and of its slice. A slice lasts
//!    10 ms (nice 19) to 300 ms (nice -20), linear in the static priority.
//! 4. *End of slice*: a new slice, and to the tail of a list of the *expired* array. A task whose
//!    bonus makes it interactive (at least 2 at nice 0, more at high nice values, less at low ones)
//!    goes to the tail of its *active* list instead, unless the first to expire has waited for 2 s
//!    times the number of runnable tasks.
//! 5. *Wake-up*: sleep average grows by the time slept; the task joins its active list with what
//!    is left of its slice, and preempts if its priority is strictly better than the runner's.
//! 6. *Fork*: parent and child share what is left of the parent's slice; the child starts with
//!    95 % of the parent's sleep average.
//! 7. *Yield*: to the tail of the expired list.
//!
//! **What it ignores.** How long a task has waited in the active array: interactive tasks that
//! together keep the CPU busy starve the others there, only expired ones are looked after. What a
//! task consumes between two ticks. Shares: a heavier task gets a longer turn, no more.
//!
//! **Source.** Linux 2.5.51 to 2.5.58, `kernel/sched.c`: constants, slices, bonus, starvation rule.
//! Yield and nice changes are from general knowledge of that series.
//!
//! **How this model differs.** No golden rows exist, laws are tested instead. The 100 real-time
//! lists are left out. Sleep counts in ns where the kernel counts the ticks passed. There is no
//! exit, so a child that dies early does not return its slice to the parent. A fork asks for
//! preemption like a wake-up. A task forked on an idle CPU starts with a full slice and no sleep
//! average. SCHED_BATCH and SCHED_IDLE did not exist and are refused.

use super::entity::{Class, Entities, NIL, TaskId};
use super::runqueue::{Common, Enqueue, Observed, Policy, Resched, Runqueue, Settings, Sleep};
use super::timeline::On;

/// Static priority of nice 0; the 100 numbers below the nice range are real-time.
const PRIO_NICE_0: i32 = 120;
/// Best and worst priority of normal tasks.
const BEST_PRIO: i32 = 100;
const WORST_PRIO: i32 = 139;
/// Nice levels, hence lists per array.
const LEVELS: usize = (WORST_PRIO - BEST_PRIO + 1) as usize;

/// Slices of nice 19 and nice -20, ms (`MIN_TIMESLICE`, `MAX_TIMESLICE`).
const SHORTEST_SLICE_MS: i64 = 10;
const LONGEST_SLICE_MS: i64 = 300;
/// Sleep beyond this does not count, ns (`MAX_SLEEP_AVG`).
const MAX_SLEEP_AVG: i64 = 2_000_000_000;
/// Width of the bonus in priorities: a quarter of the nice range (`PRIO_BONUS_RATIO` 25 %).
const BONUS_RANGE: i64 = LEVELS as i64 * 25 / 100;
/// Bonus that makes a task of nice 0 interactive (`INTERACTIVE_DELTA`).
const INTERACTIVE_BONUS: i32 = 2;
/// Wait of the first expired task, per runnable task, that ends the favour, ns
/// (`STARVATION_LIMIT`).
const STARVATION_LIMIT: i64 = 2_000_000_000;
/// Share of the parent's sleep average a child starts with, percent (`CHILD_PENALTY`).
const CHILD_SHARE_PCT: i64 = 95;

/// No virtual time, no deadlines, no hints, no slice timer.
const BLANK_COLUMNS: &[&str] = &[
    "nr_queued",
    "min_vruntime",
    "zero_vruntime",
    "arg_vruntime",
    "arg_deadline",
    "arg_vlag",
    "avg_vruntime",
    "sum_key_weight",
    "sum_weight",
    "next_vruntime",
    "next_deadline",
    "next_buddy",
    "last_buddy",
    "skip_buddy",
    "arg_delayed",
    "was_delayed",
    "arg_slice",
    "curr_protect",
    "hrtick_at",
];

/// The O(1) scheduler.
pub(super) const O1: Policy = Policy {
    name: "o1",
    aliases: &[],
    summary: "O(1) scheduler of Linux 2.5: priority arrays, timeslices, interactivity bonus",
    source: "Linux 2.5.51 to 2.5.58, kernel/sched.c",
    features: &[],
    fixed_off: &[],
    tunables: &[],
    classes: &[Class::Normal],
    custom_slices: false,
    blank_columns: BLANK_COLUMNS,
    build: |settings| Box::new(O1Queue::new(settings)),
    drive: &On(O1Queue::new),
};

/// What the O(1) scheduler keeps per task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interactivity {
    /// Credit for sleeping, ns, 0 to 2 s.
    pub sleep_avg: i64,
    /// When it last went to sleep, ns.
    pub slept_since: i64,
    /// Ticks left of the slice.
    pub slice: u32,
    /// Priority now, 100 (best) to 139.
    pub prio: u8,
    /// Which of the two arrays holds it.
    array: u8,
}

/// Returns the slice of a nice value in ticks, at a tick rate of `hz`.
pub fn timeslice(nice: i8, hz: i64) -> u32 {
    let (shortest, longest) = (SHORTEST_SLICE_MS * hz / 1000, LONGEST_SLICE_MS * hz / 1000);
    let better_than_worst = i64::from(WORST_PRIO - static_prio(nice));
    (shortest + (longest - shortest) * better_than_worst / (LEVELS as i64 - 1)) as u32
}

/// Returns the priority of a nice value without any bonus.
pub fn static_prio(nice: i8) -> i32 {
    PRIO_NICE_0 + i32::from(nice)
}

/// Returns the bonus of a sleep average in ns: -5 for none to 5 for the full 2 s.
pub fn bonus(sleep_avg: i64) -> i32 {
    (BONUS_RANGE * sleep_avg / MAX_SLEEP_AVG - BONUS_RANGE / 2) as i32
}

/// Returns the priority of a task: nice improved by the bonus.
pub fn effective_prio(nice: i8, sleep_avg: i64) -> i32 {
    (static_prio(nice) - bonus(sleep_avg)).clamp(BEST_PRIO, WORST_PRIO)
}

/// Returns true if a task of this nice value and priority counts as interactive.
pub fn is_interactive(nice: i8, prio: i32) -> bool {
    let scaled = i32::from(nice) * BONUS_RANGE as i32 / LEVELS as i32;
    prio <= static_prio(nice) - (scaled + INTERACTIVE_BONUS)
}

/// Lists of tasks by priority, linked through the entities; the head's predecessor is the tail.
#[derive(Debug)]
struct PriorityArray {
    /// Bit i is set when the list of priority 100 + i is occupied.
    occupied: u64,
    head: [u32; LEVELS],
}

const BEFORE: usize = 0;
const AFTER: usize = 1;

impl PriorityArray {
    const EMPTY: Self = Self { occupied: 0, head: [NIL; LEVELS] };

    fn first(&self) -> Option<TaskId> {
        let level = self.occupied.trailing_zeros() as usize;
        self.head.get(level).map(|&head| TaskId::of_link(head))
    }

    fn append(&mut self, tasks: &mut Entities, id: TaskId, prio: u8) {
        let level = usize::from(prio) - BEST_PRIO as usize;
        let head = self.head[level];
        if head == NIL {
            self.head[level] = id.link();
            self.occupied |= 1 << level;
            tasks[id].child = [id.link(); 2];
            return;
        }
        let tail = tasks.nodes()[head as usize].child[BEFORE];
        tasks[id].child = [tail, head];
        tasks.nodes_mut()[tail as usize].child[AFTER] = id.link();
        tasks.nodes_mut()[head as usize].child[BEFORE] = id.link();
    }

    fn remove(&mut self, tasks: &mut Entities, id: TaskId, prio: u8) {
        let level = usize::from(prio) - BEST_PRIO as usize;
        let [before, after] = tasks[id].child;
        if after == id.link() {
            self.head[level] = NIL;
            self.occupied &= !(1 << level);
            return;
        }
        tasks.nodes_mut()[before as usize].child[AFTER] = after;
        tasks.nodes_mut()[after as usize].child[BEFORE] = before;
        if self.head[level] == id.link() {
            self.head[level] = after;
        }
    }
}

/// One CPU's queue under the O(1) scheduler. The running task stays in its list.
#[derive(Debug)]
pub struct O1Queue {
    common: Common,
    arrays: [PriorityArray; 2],
    /// Which array is the active one.
    active: u8,
    /// When the first task expired since the arrays last changed places, ns.
    expired_since: Option<i64>,
    /// Length of the tick, ns.
    tick: i64,
    /// Tick rate, Hz.
    hz: i64,
}

impl O1Queue {
    fn new(settings: &Settings) -> Self {
        Self {
            common: Common::default(),
            arrays: [PriorityArray::EMPTY; 2],
            active: 0,
            expired_since: None,
            tick: settings.tick,
            hz: 1_000_000_000 / settings.tick,
        }
    }

    /// Counts the CPU time of the running task up to `now`.
    fn charge(&self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.common.curr else { return };
        let ledger = tasks.ledger_mut(curr);
        ledger.sum_exec += (now - ledger.exec_start).max(0);
        ledger.exec_start = ledger.exec_start.max(now);
    }

    fn append(&mut self, tasks: &mut Entities, id: TaskId, array: u8) {
        let state = tasks.interactivity_mut(id);
        state.array = array;
        let prio = state.prio;
        self.arrays[usize::from(array)].append(tasks, id, prio);
    }

    fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        let Interactivity { prio, array, .. } = *tasks.interactivity(id);
        self.arrays[usize::from(array)].remove(tasks, id, prio);
    }

    fn expired(&self) -> u8 {
        1 - self.active
    }

    fn expire(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.expired_since.get_or_insert(now);
        self.append(tasks, id, self.expired());
    }

    fn expired_starve(&self, now: i64) -> bool {
        let limit = STARVATION_LIMIT * i64::from(self.common.nr) + self.tick;
        self.expired_since.is_some_and(|since| now - since >= limit)
    }

    /// Renews a used up slice and moves the task behind the others of its kind.
    fn end_slice(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.remove(tasks, id);
        refresh_prio(tasks, id);
        let nice = tasks[id].nice;
        let state = tasks.interactivity_mut(id);
        state.slice = timeslice(nice, self.hz);
        let prio = i32::from(state.prio);
        if is_interactive(nice, prio) && !self.expired_starve(now) {
            self.append(tasks, id, self.active);
        } else {
            self.expire(tasks, id, now);
        }
        self.common.ask(Resched::Now);
    }

    /// Gives a new task its slice and sleep average, both taken from the running one.
    fn share_with_child(&mut self, tasks: &mut Entities, child: TaskId, now: i64) {
        let Some(parent) = self.common.competing(tasks) else {
            tasks.interactivity_mut(child).slice = timeslice(tasks[child].nice, self.hz);
            return;
        };
        let elder = tasks.interactivity_mut(parent);
        let (slice, sleep_avg) = (elder.slice, elder.sleep_avg);
        elder.slice = slice / 2;
        let young = tasks.interactivity_mut(child);
        young.slice = slice.div_ceil(2);
        young.sleep_avg = sleep_avg * CHILD_SHARE_PCT / 100;
        if slice / 2 == 0 {
            self.end_slice(tasks, parent, now);
        }
    }
}

fn refresh_prio(tasks: &mut Entities, id: TaskId) {
    let nice = tasks[id].nice;
    let state = tasks.interactivity_mut(id);
    state.prio = effective_prio(nice, state.sleep_avg) as u8;
}

impl Runqueue for O1Queue {
    fn common(&self) -> &Common {
        &self.common
    }

    fn enqueue(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        self.charge(tasks, now);
        match how {
            Enqueue::Fork => self.share_with_child(tasks, id, now),
            Enqueue::Wake { .. } => {
                let state = tasks.interactivity_mut(id);
                let slept = (now - state.slept_since).clamp(0, MAX_SLEEP_AVG);
                state.sleep_avg = (state.sleep_avg + slept).min(MAX_SLEEP_AVG);
            }
            Enqueue::Migrate => {}
        }
        if how != Enqueue::Migrate {
            refresh_prio(tasks, id);
        }
        self.common.count_in(tasks, id);
        self.append(tasks, id, self.active);
    }

    fn wakeup_preempt(&mut self, tasks: &mut Entities, id: TaskId, _: Enqueue, _: i64) {
        let better = |c| tasks.interactivity(id).prio < tasks.interactivity(c).prio;
        if self.common.competing(tasks).is_none_or(better) {
            self.common.ask(Resched::Now);
        }
    }

    fn block(&mut self, tasks: &mut Entities, _: Sleep, now: i64) {
        self.charge(tasks, now);
        if let Some(curr) = self.common.competing(tasks) {
            self.remove(tasks, curr);
            self.common.count_out(tasks, curr);
            tasks.interactivity_mut(curr).slept_since = now;
        }
    }

    fn yield_now(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
        if let Some(curr) = self.common.competing(tasks) {
            self.remove(tasks, curr);
            self.expire(tasks, curr, now);
        }
    }

    fn tick(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
        let Some(curr) = self.common.competing(tasks) else { return };
        let state = tasks.interactivity_mut(curr);
        if state.array != self.active {
            // It expired already and only waits to be switched out.
            self.common.ask(Resched::Now);
            return;
        }
        state.sleep_avg = (state.sleep_avg - self.tick).max(0);
        state.slice = state.slice.saturating_sub(1);
        if state.slice == 0 {
            self.end_slice(tasks, curr, now);
        }
    }

    fn slice_timer_expired(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
        self.common.ask(Resched::Now);
    }

    fn pick_next(&mut self, tasks: &mut Entities, now: i64) -> Option<TaskId> {
        self.charge(tasks, now);
        self.common.resched = Resched::No;
        if self.arrays[usize::from(self.active)].occupied == 0 {
            self.active = self.expired();
            self.expired_since = None;
        }
        let choice = self.arrays[usize::from(self.active)].first();
        if choice != self.common.curr {
            self.common.curr = choice;
            if let Some(id) = choice {
                let ledger = tasks.ledger_mut(id);
                ledger.exec_start = now;
                ledger.prev_sum_exec = ledger.sum_exec;
            }
        }
        choice
    }

    fn leave(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.charge(tasks, now);
        self.remove(tasks, id);
        self.common.count_out(tasks, id);
    }

    fn set_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64) {
        self.charge(tasks, now);
        if !tasks[id].on_rq {
            tasks[id].set_nice(nice);
            return;
        }
        self.remove(tasks, id);
        tasks[id].set_nice(nice);
        refresh_prio(tasks, id);
        let array = tasks.interactivity(id).array;
        self.append(tasks, id, array);
        if self.common.curr == Some(id) {
            self.common.ask(Resched::Now);
        } else {
            self.wakeup_preempt(tasks, id, Enqueue::Migrate, now);
        }
    }

    fn set_slice(&mut self, _: &mut Entities, _: TaskId, _: i64, _: i64) {}

    /// A task is shown as eligible while it is in the active array.
    fn observe(&self, tasks: &Entities, id: Option<TaskId>) -> Observed {
        let queued = id.filter(|&id| tasks[id].on_rq);
        Observed {
            eligible: queued.map(|id| tasks.interactivity(id).array == self.active),
            ..Observed::default()
        }
    }
}
