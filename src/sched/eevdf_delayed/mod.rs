//! EEVDF with delayed dequeue: Linux 6.12 and 7.2.
//!
//! **What it believes about the world.** As EEVDF before it (lag, eligibility, earliest deadline),
//! and: a task should not escape a debt by sleeping, nor lose its place by a short sleep; tasks may
//! ask for short slices to get low latency; the running task deserves protection, but only as long
//! as the shortest slice anyone waits with.
//!
//! **What it measures.** Virtual run times and deadlines; V, the weighted average of all virtual
//! run times, rounded down, kept as sums relative to a reference Z that follows V.
//!
//! **How it decides.**
//! 1. *Pick*: the tree is ordered by deadline; the first eligible task in that order runs, exactly.
//!    A lone task runs without a test. A next-hint that is eligible comes first (`PICK_BUDDY`). A
//!    running task under protection that is eligible stays.
//! 2. *Delayed dequeue*: a task that blocks while not eligible stays queued, counts in V, and leaves
//!    when the pick reaches it. If it is woken before, it is merely requeued. With `DELAY_ZERO` it
//!    keeps no positive lag. 6.12 looks at the lag without charging the running task first; 7.2
//!    charges first, and never lets the lag fall below the one at the block.
//! 3. *Protection*: 6.12 marks the task it switches in (stored lag = deadline); the mark can be
//!    cancelled. 7.2 protects an interval: until the shortest slice in the queue has been run, or
//!    to the deadline if that is the task's own; wake-ups shorten it.
//! 4. *Charge*: at the deadline the slice is renewed. A reschedule is requested then, and when the
//!    protection is gone (6.12: and the task not eligible), unless the task is alone.
//! 5. *Wake-up preemption*: 6.12 if the pick would return the woken task; a shorter slice first
//!    cancels the protection if it has the better claim. 7.2: a shorter slice picks without
//!    protection, a new task does not preempt otherwise, and a wakee that does not win shortens the
//!    protection.
//! 6. *Placement*: V minus the inflated lag; deadline one slice later, half a slice for new tasks;
//!    the distance to the deadline survives migration and attribute changes.
//! 7. *Slice timer* (7.2, `HRTICK`): fires when the running task's slice should be over.
//! 8. *Yield*: an eligible task skips to its deadline and gets a new one.
//!
//! **What it ignores.** How long a task slept; where.
//!
//! **Source.** Linux 6.12.117 and 7.2.13, `kernel/sched/fair.c` and `features.h`.
//!
//! **How this model differs.** One queue without task groups, bandwidth control or load tracking.
//! The rule that a synchronous wake-up may preempt after half a millisecond of uncharged run time
//! is void here, since the run time has just been charged. Should wrapped sums leave nobody
//! eligible, the earliest deadline is picked.

mod attributes;
mod blocking;
mod preemption;
mod queue;
mod slice_timer;
mod slices;
mod snapshot;

use super::entity::{Class, Entities, TaskId};
use super::features::{Feature, Features};
use super::record::EARLIER_COLUMNS;
use super::runqueue::{Common, Enqueue, Observed, Policy, Resched, Runqueue, Settings, Sleep};
use super::timeline::On;
use super::tunables::BASE_SLICE;

use queue::Queue;

/// Switches of 6.12 and 7.2 with common defaults; the slice timer differs.
const fn features(hrtick: bool) -> [(Feature, bool); 11] {
    [
        (Feature::PlaceLag, true),
        (Feature::PlaceDeadlineInitial, true),
        (Feature::PlaceRelDeadline, true),
        (Feature::RunToParity, true),
        (Feature::PreemptShort, true),
        (Feature::NextBuddy, false),
        (Feature::PickBuddy, true),
        (Feature::DelayDequeue, true),
        (Feature::DelayZero, true),
        (Feature::WakeupPreemption, true),
        (Feature::Hrtick, hrtick),
    ]
}

/// EEVDF of Linux 6.12.
pub(super) const EEVDF_6_12: Policy = Policy {
    name: "eevdf-6.12",
    aliases: &[],
    summary: "EEVDF of Linux 6.12: delayed dequeue, custom slices, short-slice preemption",
    source: "Linux 6.12.117, kernel/sched/fair.c",
    features: &features(false),
    fixed_off: &[(Feature::Hrtick, "the slice timer of 6.12 is off by default and not modelled")],
    tunables: &[BASE_SLICE],
    classes: Class::ALL,
    custom_slices: true,
    blank_columns: EARLIER_COLUMNS,
    build: |settings| Box::new(DelayedEevdf::<V6_12>::new(settings)),
    drive: &On(DelayedEevdf::<V6_12>::new),
};

/// EEVDF of Linux 7.2.
pub(super) const EEVDF_7_2: Policy = Policy {
    name: "eevdf-7.2",
    aliases: &["eevdf-latest"],
    summary: "EEVDF of Linux 7.2: protected intervals, precise slice timer, monotone delayed lag",
    source: "Linux 7.2.13, kernel/sched/fair.c",
    features: &features(true),
    fixed_off: &[],
    build: |settings| Box::new(DelayedEevdf::<V7_2>::new(settings)),
    drive: &On(DelayedEevdf::<V7_2>::new),
    ..EEVDF_6_12
};

/// Which kernel's rules apply where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V6_12,
    V7_2,
}

/// A kernel as a type: the rules that differ are chosen when the code is compiled.
pub(super) trait Kernel: std::fmt::Debug + Send {
    /// The version it is.
    const VERSION: Version;
}

/// Linux 6.12.
#[derive(Debug)]
pub(super) enum V6_12 {}

/// Linux 7.2.
#[derive(Debug)]
pub(super) enum V7_2 {}

impl Kernel for V6_12 {
    const VERSION: Version = Version::V6_12;
}

impl Kernel for V7_2 {
    const VERSION: Version = Version::V7_2;
}

/// One CPU's queue under EEVDF with delayed dequeue.
#[derive(Debug)]
pub struct DelayedEevdf<K> {
    features: Features,
    /// Base slice divided by the CPU-count factor, ns.
    normalized_slice: i64,
    queue: Queue<K>,
    next: Option<TaskId>,
}

impl<K: Kernel> DelayedEevdf<K> {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            features: settings.features,
            normalized_slice: settings.tunables.normalized(&BASE_SLICE),
            queue: Queue::new(settings),
            next: None,
        }
    }

    #[inline]
    fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    #[inline]
    fn is_7_2(&self) -> bool {
        K::VERSION >= Version::V7_2
    }

    #[inline]
    fn common_mut(&mut self) -> &mut Common {
        &mut self.queue.common
    }

    fn drop_hint(&mut self, id: TaskId) {
        if self.next == Some(id) {
            self.next = None;
        }
    }

    /// Charges the running task up to `now`.
    #[inline]
    fn charge(&mut self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.queue.common.curr else { return };
        let (e, ledger) = tasks.both_mut(curr);
        let delta = now.wrapping_sub(ledger.exec_start);
        if delta <= 0 {
            return;
        }
        ledger.exec_start = now;
        ledger.sum_exec += delta;
        e.vruntime = e.vruntime.wrapping_add(self.queue.vlen(e, delta));
        let over = self.queue.renew(tasks, curr);
        if self.queue.common.nr > 1 && (over || self.gives_way(tasks, curr)) {
            // 7.2 with the lazy preemption model; in 6.12 any wish stops the wake-up test.
            self.common_mut().ask(Resched::Lazy);
            self.drop_hint(curr);
        }
    }

    /// Puts the running task back, if it competes, and switches to another one.
    fn switch_to(&mut self, tasks: &mut Entities, choice: Option<TaskId>, now: i64) {
        if let Some(curr) = self.queue.common.competing(tasks) {
            self.queue.insert(tasks, curr);
        }
        self.common_mut().curr = None;
        let Some(id) = choice else {
            self.common_mut().slice_timer = None;
            return;
        };
        self.queue.remove(tasks, id);
        self.switch_in(tasks, id, now);
        self.protect(tasks, id);
        self.arm_timer(tasks, now);
    }

    /// Makes a task that is in no tree the running one.
    fn switch_in(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.drop_hint(id);
        let ledger = tasks.ledger_mut(id);
        ledger.exec_start = now;
        ledger.prev_sum_exec = ledger.sum_exec;
        self.common_mut().curr = Some(id);
    }
}

impl<K: Kernel> Runqueue for DelayedEevdf<K> {
    #[inline]
    fn common(&self) -> &Common {
        &self.queue.common
    }

    fn enqueue(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        if tasks[id].on_rq {
            self.requeue(tasks, id, now);
            return;
        }
        self.charge(tasks, now);
        self.queue.place(tasks, id, how == Enqueue::Fork);
        self.queue.count_in(tasks, id);
        self.queue.insert(tasks, id);
        if self.queue.common.slice_timer.is_none() {
            self.arm_timer(tasks, now);
        }
    }

    fn wakeup_preempt(&mut self, tasks: &mut Entities, id: TaskId, how: Enqueue, now: i64) {
        self.test_preemption(tasks, id, how, now);
    }

    fn block(&mut self, tasks: &mut Entities, how: Sleep, now: i64) {
        self.block_running(tasks, how, now);
    }

    fn yield_now(&mut self, tasks: &mut Entities, now: i64) {
        let Some(curr) = self.queue.common.curr else { return };
        if self.queue.common.nr == 1 {
            return;
        }
        self.drop_hint(curr);
        self.charge(tasks, now);
        if self.queue.is_eligible(tasks, curr) {
            tasks[curr].vruntime = tasks[curr].deadline;
            self.queue.renew(tasks, curr);
        }
    }

    fn tick(&mut self, tasks: &mut Entities, now: i64) {
        self.charge(tasks, now);
    }

    fn slice_timer_expired(&mut self, tasks: &mut Entities, now: i64) {
        self.common_mut().slice_timer = None;
        self.charge(tasks, now);
        self.common_mut().ask(Resched::Now);
    }

    fn pick_next(&mut self, tasks: &mut Entities, now: i64) -> Option<TaskId> {
        let choice = self.pick_dropping_delayed(tasks, true, now);
        self.common_mut().resched = Resched::No;
        if choice != self.queue.common.curr || choice.is_none() {
            self.switch_to(tasks, choice, now);
        }
        choice
    }

    fn leave(&mut self, tasks: &mut Entities, id: TaskId, now: i64) {
        self.take_out(tasks, id, now);
    }

    fn set_nice(&mut self, tasks: &mut Entities, id: TaskId, nice: i8, now: i64) {
        self.change_nice(tasks, id, nice, now);
    }

    fn set_slice(&mut self, tasks: &mut Entities, id: TaskId, slice: i64, now: i64) {
        self.change_slice(tasks, id, slice, now);
    }

    fn observe(&self, tasks: &Entities, id: Option<TaskId>) -> Observed {
        let queued = id.filter(|&id| tasks[id].on_rq);
        Observed {
            reference: self.queue.zero_vruntime,
            avg_vruntime: self.queue.avg_vruntime(tasks),
            sum_key_weight: self.queue.sum_key_weight,
            sum_weight: self.queue.sum_weight,
            eligible: queued.map(|id| self.queue.is_eligible(tasks, id)),
            buddies: [self.next, None, None],
            protect: self.queue.common.curr.map_or(0, |c| self.protection(tasks, c)),
        }
    }
}
