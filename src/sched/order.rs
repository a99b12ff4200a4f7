//! Virtual times in order, and the orders in which tasks wait.

use std::fmt::Debug;

use super::entity::Entity;

/// Returns true if virtual time `a` is before `b`, in wrapped comparison.
#[inline]
pub fn before(a: i64, b: i64) -> bool {
    a.wrapping_sub(b) < 0
}

/// Returns the earlier of two virtual times.
#[inline]
pub fn earlier(a: i64, b: i64) -> i64 {
    if before(b, a) { b } else { a }
}

/// What waiting tasks are sorted by and what is known about a set of them.
pub trait Order: Debug {
    /// What a task contributes, and a set of tasks together.
    type Part: Copy + Default + Debug;
    /// Key of the task.
    fn key(e: &Entity) -> i64;
    /// What the task contributes.
    fn part(e: &Entity) -> Self::Part;
    /// Joins two sets; what is in both counts once.
    fn join(a: Self::Part, b: Self::Part) -> Self::Part;
}

/// Sorted by virtual run time, nothing known about sets: CFS.
#[derive(Debug)]
pub enum ByVruntime {}

impl Order for ByVruntime {
    type Part = ();
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.vruntime
    }
    fn part(_: &Entity) {}
    fn join((): (), (): ()) {}
}

/// Sorted by deadline, with the least virtual run time of a set: EEVDF from 6.6 on.
#[derive(Debug)]
pub enum ByDeadline {}

impl Order for ByDeadline {
    type Part = i64;
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.deadline
    }
    #[inline]
    fn part(e: &Entity) -> i64 {
        e.vruntime
    }
    #[inline]
    fn join(a: i64, b: i64) -> i64 {
        earlier(a, b)
    }
}
