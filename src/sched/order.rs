//! Virtual times in order, and the orders a tree can have.

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

/// What a tree is sorted by and what its nodes remember about their subtrees.
pub trait Order {
    /// The remembered value.
    type Summary: Copy + PartialEq;
    /// Whether many entities contribute the same, so that taking one out often changes nothing.
    const TIES: bool = false;
    /// Key of the entity.
    fn key(e: &Entity) -> i64;
    /// What the entity itself contributes.
    fn own(e: &Entity) -> Self::Summary;
    /// What is remembered about the subtree below and including the entity.
    fn stored(e: &Entity) -> Self::Summary;
    /// Remembers it.
    fn store(e: &mut Entity, summary: Self::Summary);
    /// Joins two disjoint sets.
    fn join(a: Self::Summary, b: Self::Summary) -> Self::Summary;
    /// Whether taking an entity that contributed `part` out of a set may change `whole`.
    fn rests_on(whole: Self::Summary, part: Self::Summary) -> bool;
}

/// Sorted by virtual run time, nothing remembered: CFS.
#[derive(Debug)]
pub enum ByVruntime {}

impl Order for ByVruntime {
    type Summary = ();
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.vruntime
    }
    fn own(_: &Entity) {}
    fn stored(_: &Entity) {}
    fn store(_: &mut Entity, (): ()) {}
    fn join((): (), (): ()) {}
    #[inline]
    fn rests_on((): (), (): ()) -> bool {
        false
    }
}

/// Sorted by virtual run time, with the earliest deadline of the subtree: EEVDF of August 2023.
#[derive(Debug)]
pub enum ByVruntimeWithDeadline {}

impl Order for ByVruntimeWithDeadline {
    type Summary = i64;
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.vruntime
    }
    #[inline]
    fn own(e: &Entity) -> i64 {
        e.deadline
    }
    #[inline]
    fn stored(e: &Entity) -> i64 {
        e.least
    }
    #[inline]
    fn store(e: &mut Entity, least: i64) {
        e.least = least;
    }
    #[inline]
    fn join(a: i64, b: i64) -> i64 {
        earlier(a, b)
    }
    #[inline]
    fn rests_on(whole: i64, part: i64) -> bool {
        whole == part
    }
}

/// Sorted by deadline, with the least virtual run time of the subtree: EEVDF from 6.6 on while all
/// slices are equal.
#[derive(Debug)]
pub enum ByDeadline {}

impl Order for ByDeadline {
    type Summary = i64;
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.deadline
    }
    #[inline]
    fn own(e: &Entity) -> i64 {
        e.vruntime
    }
    #[inline]
    fn stored(e: &Entity) -> i64 {
        e.least
    }
    #[inline]
    fn store(e: &mut Entity, least: i64) {
        e.least = least;
    }
    #[inline]
    fn join(a: i64, b: i64) -> i64 {
        earlier(a, b)
    }
    #[inline]
    fn rests_on(whole: i64, part: i64) -> bool {
        whole == part
    }
}

/// Sorted by deadline, with the least virtual run time and the extreme slices of the subtree: EEVDF
/// once tasks have slices of their own.
#[derive(Debug)]
pub enum ByDeadlineWithSlices {}

impl Order for ByDeadlineWithSlices {
    type Summary = (i64, u32, u32);
    const TIES: bool = true;
    #[inline]
    fn key(e: &Entity) -> i64 {
        e.deadline
    }
    #[inline]
    fn own(e: &Entity) -> (i64, u32, u32) {
        (e.vruntime, e.slice, e.slice)
    }
    #[inline]
    fn stored(e: &Entity) -> (i64, u32, u32) {
        (e.least, e.shortest, e.longest)
    }
    #[inline]
    fn store(e: &mut Entity, (least, shortest, longest): (i64, u32, u32)) {
        e.least = least;
        e.shortest = shortest;
        e.longest = longest;
    }
    #[inline]
    fn join(a: (i64, u32, u32), b: (i64, u32, u32)) -> (i64, u32, u32) {
        (earlier(a.0, b.0), a.1.min(b.1), a.2.max(b.2))
    }
    #[inline]
    fn rests_on(whole: (i64, u32, u32), part: (i64, u32, u32)) -> bool {
        // Where all slices are equal, one less changes nothing.
        whole.0 == part.0 || (whole.1 != whole.2 && (whole.1 == part.1 || whole.2 == part.2))
    }
}
