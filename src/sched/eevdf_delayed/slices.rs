//! The tree of waiting tasks, which looks after slices from the first task with one of its own on.
//!
//! Few queues ever see such a task, and keeping the extremes costs a good part of an insertion. A
//! queue that has seen one keeps them for good, so that nothing is ever done twice.

use crate::sched::entity::{Entities, TaskId};
use crate::sched::order::{ByDeadline, ByDeadlineWithSlices};
use crate::sched::tree::Tree;

/// Waiting tasks in the order of their deadlines.
#[derive(Debug)]
pub(super) enum Timeline {
    /// All slices have been equal so far.
    Equal(Tree<ByDeadline>),
    /// Some task has had a slice of its own.
    Own(Tree<ByDeadlineWithSlices>),
}

impl Default for Timeline {
    fn default() -> Self {
        Self::Equal(Tree::default())
    }
}

impl Timeline {
    /// From now on the extreme slices are known.
    pub fn look_after_slices(&mut self, tasks: &mut Entities) {
        if let Self::Equal(tree) = self {
            *self = Self::Own(std::mem::take(tree).remembering(tasks));
        }
    }

    /// Returns the shortest and the longest slice, ns, once they are looked after and not empty.
    pub fn slices(&self, tasks: &Entities) -> Option<(u32, u32)> {
        match self {
            Self::Equal(_) => None,
            Self::Own(tree) => {
                tree.summary(tasks).map(|(_, shortest, longest)| (shortest, longest))
            }
        }
    }

    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        match self {
            Self::Equal(tree) => tree.insert(tasks, id),
            Self::Own(tree) => tree.insert(tasks, id),
        }
    }

    #[inline]
    pub fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        match self {
            Self::Equal(tree) => tree.remove(tasks, id),
            Self::Own(tree) => tree.remove(tasks, id),
        }
    }

    /// Returns the first task by deadline whose virtual run time passes, given that a time passes
    /// if a later one does.
    #[inline]
    pub fn first_passing(&self, tasks: &Entities, passes: impl Fn(i64) -> bool) -> Option<TaskId> {
        match self {
            Self::Equal(tree) => tree.first_passing(tasks, passes),
            Self::Own(tree) => tree.first_passing(tasks, |(least, ..)| passes(least)),
        }
    }

    #[inline]
    pub fn leftmost(&self) -> Option<TaskId> {
        match self {
            Self::Equal(tree) => tree.leftmost(),
            Self::Own(tree) => tree.leftmost(),
        }
    }
}
