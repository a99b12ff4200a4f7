//! Tasks as the scheduler sees them: one arena for all run queues, addressed by number.
//!
//! What the tree and the pick read of a task fills one cache line ([`Entity`]); what only charging
//! and placement need lies in a second array ([`Ledger`]), what only the O(1) scheduler needs in a
//! third. Nothing is allocated after construction.

use std::ops::{Index, IndexMut};

use super::o1::Interactivity;
use super::weights::{self, IDLE_WEIGHT, Weight};

/// "No entity" in links: the place of an unused entity in front of the tasks, so that what hangs
/// below a leaf can be read and written like everything else. It is never red.
pub(super) const NIL: u32 = 0;

/// Number of a task in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Returns the task a link leads to, which must not be [`NIL`].
    #[inline]
    pub(super) fn of_link(link: u32) -> Self {
        Self(link - 1)
    }

    /// Returns the link that leads to the task.
    #[inline]
    pub(super) fn link(self) -> u32 {
        self.0 + 1
    }

    #[inline]
    fn place(self) -> usize {
        self.0 as usize + 1
    }
}

/// Scheduling class of a task within the fair class (Linux `policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// SCHED_NORMAL.
    #[default]
    Normal,
    /// SCHED_BATCH: weighted like normal, never preempts at a wake-up.
    Batch,
    /// SCHED_IDLE: weight 3 whatever the nice value.
    Idle,
}

impl Class {
    /// Every class.
    pub const ALL: &[Class] = &[Class::Normal, Class::Batch, Class::Idle];
}

/// What the caller says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskSpec {
    /// Nice value, -20 (heavy) to 19 (light).
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Custom slice, ns; 0 means the base slice of the policy.
    pub slice: i64,
}

impl TaskSpec {
    /// Returns the weight the task has.
    pub fn weight(&self) -> Weight {
        match self.class {
            Class::Idle => IDLE_WEIGHT,
            Class::Normal | Class::Batch => weights::of_nice(self.nice),
        }
    }
}

/// The part of a task that trees and picks read: 64 bytes, one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Entity {
    /// Virtual run time, virtual ns; compared by the sign of the wrapped difference.
    pub vruntime: i64,
    /// Virtual deadline, virtual ns; 0 under CFS.
    pub deadline: i64,
    /// Earliest deadline of the subtree.
    pub(super) least: i64,
    /// Left and right subtree; under the O(1) scheduler the neighbours in a list.
    pub(super) child: [u32; 2],
    /// Parent in the tree.
    pub(super) parent: u32,
    /// Weight; 1024 for nice 0.
    pub weight: u32,
    /// Tabulated inverse of the weight.
    pub inverse: u32,
    /// Slice asked for or given, ns.
    pub slice: u32,
    /// Block and place in it, in a queue without a tree.
    pub(super) seat: (u32, u32),
    /// Colour in the tree.
    pub(super) red: bool,
    /// Scheduling class.
    pub class: Class,
    /// Nice value.
    pub nice: i8,
    /// Counted in the queue: running, queued or delayed (Linux `on_rq`).
    pub on_rq: bool,
    /// Blocked but still queued until its lag is paid (Linux `sched_delayed`).
    pub delayed: bool,
    /// The slice was asked for and is kept at renewals (Linux `custom_slice`).
    pub custom_slice: bool,
    /// `deadline` is relative to `vruntime` while off the queue (Linux `rel_deadline`).
    pub rel_deadline: bool,
}

/// What a task has consumed and is owed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ledger {
    /// When it was last charged, ns.
    pub exec_start: i64,
    /// CPU time consumed, ns.
    pub sum_exec: i64,
    /// `sum_exec` when it was last switched in, ns.
    pub prev_sum_exec: i64,
    /// Stored lag, virtual ns; doubles as the protection mark of some versions.
    pub vlag: i64,
    /// End of the protected interval, virtual ns (7.2).
    pub vprot: i64,
}

impl Entity {
    fn new(spec: &TaskSpec) -> Self {
        let w = spec.weight();
        Self {
            vruntime: 0,
            deadline: 0,
            least: 0,
            child: [NIL; 2],
            parent: NIL,
            weight: w.weight,
            inverse: w.inverse,
            slice: 0,
            seat: (0, 0),
            red: false,
            class: spec.class,
            nice: spec.nice,
            on_rq: false,
            delayed: false,
            custom_slice: false,
            rel_deadline: false,
        }
    }

    /// Returns true for a SCHED_IDLE task.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.class == Class::Idle
    }

    /// Returns the virtual length of `d` ns by the tabulated inverse.
    #[inline]
    pub fn vlen(&self, d: i64) -> i64 {
        weights::vlen(d, self.weight, self.inverse)
    }

    /// Takes the weight of `nice`, unless the class fixes the weight.
    pub(super) fn set_nice(&mut self, nice: i8) {
        let w = TaskSpec { nice, class: self.class, slice: 0 }.weight();
        self.nice = nice;
        self.weight = w.weight;
        self.inverse = w.inverse;
    }
}

/// All tasks of a run, shared by its run queues.
#[derive(Debug, Clone)]
pub struct Entities {
    /// The unused entity, then one per task.
    list: Vec<Entity>,
    ledgers: Vec<Ledger>,
    interactivities: Vec<Interactivity>,
}

impl Entities {
    /// Returns an arena with one new, not yet queued entity per task.
    pub fn new(tasks: &[TaskSpec]) -> Self {
        Self {
            list: [&TaskSpec::default()].into_iter().chain(tasks).map(Entity::new).collect(),
            ledgers: vec![Ledger::default(); tasks.len()],
            interactivities: vec![Interactivity::default(); tasks.len()],
        }
    }

    /// Gives the place of a task that has exited to a new one.
    pub fn renew(&mut self, id: TaskId, task: &TaskSpec) {
        let i = id.0 as usize;
        self[id] = Entity::new(task);
        self.ledgers[i] = Ledger::default();
        self.interactivities[i] = Interactivity::default();
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> usize {
        self.ledgers.len()
    }

    /// Returns true if there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.ledgers.is_empty()
    }

    /// Returns what the task has consumed and is owed.
    #[inline]
    pub fn ledger(&self, id: TaskId) -> &Ledger {
        &self.ledgers[id.0 as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub fn ledger_mut(&mut self, id: TaskId) -> &mut Ledger {
        &mut self.ledgers[id.0 as usize]
    }

    /// Both parts of a task, to be changed.
    #[inline]
    pub fn both_mut(&mut self, id: TaskId) -> (&mut Entity, &mut Ledger) {
        (&mut self.list[id.place()], &mut self.ledgers[id.0 as usize])
    }

    /// Returns what the O(1) scheduler keeps of the task.
    #[inline]
    pub fn interactivity(&self, id: TaskId) -> &Interactivity {
        &self.interactivities[id.0 as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn interactivity_mut(&mut self, id: TaskId) -> &mut Interactivity {
        &mut self.interactivities[id.0 as usize]
    }

    /// All entities as links count them: a slice, which the tree keeps in registers while it works.
    #[inline]
    pub(super) fn nodes(&self) -> &[Entity] {
        &self.list
    }

    #[inline]
    pub(super) fn nodes_mut(&mut self) -> &mut [Entity] {
        &mut self.list
    }
}

impl Index<TaskId> for Entities {
    type Output = Entity;
    #[inline]
    fn index(&self, id: TaskId) -> &Entity {
        &self.list[id.place()]
    }
}

impl IndexMut<TaskId> for Entities {
    #[inline]
    fn index_mut(&mut self, id: TaskId) -> &mut Entity {
        &mut self.list[id.place()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tree_reads_fits_one_cache_line() {
        assert_eq!(size_of::<Entity>(), 64);
    }
}
