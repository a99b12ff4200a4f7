//! Results of a timeline: one row per operation and totals per task.

use super::entity::{Entities, TaskId};
use super::operation::Operation;
use super::runqueue::Runqueue;

/// Names of a row's columns. Times in ns, virtual times in virtual ns, tasks by number (-1 none).
pub const COLUMNS: [&str; 29] = [
    "seq",
    "t_ns",
    "op",
    "arg",
    "valid",
    "prev",
    "resched",
    "next",
    "nr_running",
    "nr_queued",
    "min_vruntime",
    "zero_vruntime",
    "arg_vruntime",
    "arg_deadline",
    "arg_vlag",
    "arg_eligible",
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

/// Columns that policies before delayed dequeue do not have.
pub const LATER_COLUMNS: &[&str] = &[
    "nr_queued",
    "zero_vruntime",
    "arg_delayed",
    "was_delayed",
    "arg_slice",
    "curr_protect",
    "hrtick_at",
];

/// Columns that policies with delayed dequeue no longer have.
pub const EARLIER_COLUMNS: &[&str] = &["nr_running", "min_vruntime", "last_buddy", "skip_buddy"];

/// Names of the totals of one task.
pub const TOTALS: [&str; 12] = [
    "task",
    "exec_ns",
    "switch_ins",
    "wakeups",
    "wakeup_preempts",
    "wait_ns",
    "max_wait_ns",
    "delayed_blocks",
    "delayed_wakeups",
    "blocks",
    "preempted",
    "rounds",
];

/// What one task got and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// CPU time, ns.
    pub exec: i64,
    /// Times switched in from another task or idle.
    pub switch_ins: i64,
    /// Forks and wake-ups.
    pub wakeups: i64,
    /// Wake-ups that asked to preempt a busy CPU.
    pub wakeup_preempts: i64,
    /// Time from becoming ready to being switched in, ns.
    pub wait: i64,
    /// The longest of these, ns.
    pub max_wait: i64,
    /// Blocks after which, the pick included, the task was still queued.
    pub delayed_blocks: i64,
    /// Wake-ups that found the task still queued.
    pub delayed_wakeups: i64,
    /// Times the task went to sleep.
    pub blocks: i64,
    /// Times it was switched out while runnable.
    pub preempted: i64,
    /// Times its program was carried out.
    pub rounds: i64,
}

impl Totals {
    /// Returns the values in the order of [`TOTALS`].
    pub fn values(&self, task: usize) -> [i64; TOTALS.len()] {
        [
            task as i64,
            self.exec,
            self.switch_ins,
            self.wakeups,
            self.wakeup_preempts,
            self.wait,
            self.max_wait,
            self.delayed_blocks,
            self.delayed_wakeups,
            self.blocks,
            self.preempted,
            self.rounds,
        ]
    }
}

/// Rows, one after the other, each as long as [`COLUMNS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    values: Vec<i64>,
}

/// One operation as it is being recorded: the state before the pick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Happened {
    pub t: i64,
    pub op: Operation,
    pub arg: i64,
    pub prev: Option<TaskId>,
    pub was_delayed: bool,
}

fn number(id: Option<TaskId>) -> i64 {
    id.map_or(-1, |id| i64::from(id.0))
}

/// Position of the columns that are known only after the pick.
const NEXT: usize = 7;
const NEXT_VRUNTIME: usize = 19;
const HRTICK_AT: usize = 28;

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / COLUMNS.len()
    }

    /// Returns true if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns row `i`.
    pub fn row(&self, i: usize) -> &[i64] {
        &self.values[i * COLUMNS.len()..][..COLUMNS.len()]
    }

    /// Returns all values, row by row.
    pub fn into_values(self) -> Vec<i64> {
        self.values
    }

    /// Records an operation that was ignored.
    pub(super) fn ignored(&mut self, t: i64, op: Operation, arg: i64) {
        let mut row = [0; COLUMNS.len()];
        row[..4].copy_from_slice(&[self.len() as i64, t, op as i64, arg]);
        self.values.extend_from_slice(&row);
    }

    /// Records an operation after it was carried out and before the pick.
    pub(super) fn carried_out(&mut self, rq: &dyn Runqueue, tasks: &Entities, h: Happened) {
        let task = u32::try_from(h.arg).ok().map(TaskId);
        let seen = rq.observe(tasks, task);
        let common = rq.common();
        let nr = i64::from(common.nr);
        let (vruntime, deadline, vlag, delayed, slice) = match task {
            Some(id) => {
                let e = &tasks[id];
                let vlag = tasks.ledger(id).vlag;
                (e.vruntime, e.deadline, vlag, i64::from(e.delayed), i64::from(e.slice))
            }
            None => (0, 0, 0, 0, 0),
        };
        let [next, last, skip] = seen.buddies.map(number);
        let asked = i64::from(common.resched != super::Resched::No);
        self.values.extend_from_slice(&[
            self.len() as i64,
            h.t,
            h.op as i64,
            h.arg,
            1,
            number(h.prev),
            asked,
            number(common.curr),
            nr,
            nr,
            seen.reference,
            seen.reference,
            vruntime,
            deadline,
            vlag,
            seen.eligible.map_or(-1, i64::from),
            seen.avg_vruntime,
            seen.sum_key_weight,
            seen.sum_weight,
            0,
            0,
            next,
            last,
            skip,
            delayed,
            i64::from(h.was_delayed),
            slice,
            seen.protect,
            0,
        ]);
    }

    /// Completes the last row after the pick.
    pub(super) fn picked(&mut self, rq: &dyn Runqueue, tasks: &Entities) {
        let from = self.values.len() - COLUMNS.len();
        let row = &mut self.values[from..];
        let next = rq.common().curr;
        row[NEXT] = number(next);
        if let Some(id) = next {
            row[NEXT_VRUNTIME] = tasks[id].vruntime;
            row[NEXT_VRUNTIME + 1] = tasks[id].deadline;
        }
        row[HRTICK_AT] = rq.common().slice_timer.unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_known_after_the_pick_are_where_the_names_say() {
        assert_eq!(COLUMNS[NEXT], "next");
        assert_eq!(COLUMNS[NEXT_VRUNTIME], "next_vruntime");
        assert_eq!(COLUMNS[NEXT_VRUNTIME + 1], "next_deadline");
        assert_eq!(COLUMNS[HRTICK_AT], "hrtick_at");
    }
}
