//! The pick: the walk of August 2023, and the earliest deadline it was meant to find.

use std::hint::select_unpredictable;

use super::Eevdf;
use super::virtual_time::Competitors;
use crate::sched::entity::{Entities, NIL, TaskId};
use crate::sched::features::Feature;
use crate::sched::order::before;
use crate::sched::runqueue::Pick;
use crate::sched::tree::Tree;

impl Eevdf {
    pub(super) fn is_protected(&self, tasks: &Entities, id: TaskId) -> bool {
        self.features.has(Feature::RunToParity) && tasks.ledger(id).vlag == tasks[id].deadline
    }

    /// Returns the choice of the pick, without hints.
    pub(in crate::sched) fn choose(&self, tasks: &Entities) -> Option<TaskId> {
        let all = self.competitors(tasks);
        let curr = self.common.competing(tasks).filter(|&c| self.is_eligible(all, &tasks[c]));
        if let Some(c) = curr
            && self.is_protected(tasks, c)
        {
            return curr;
        }
        let best = match self.pick {
            Pick::Walk => self.walk(tasks, all, curr.map(|c| tasks[c].deadline)),
            Pick::Ideal => self.earliest_eligible(tasks, all),
        };
        match (curr, best) {
            (Some(c), Some(b)) if before(tasks[c].deadline, tasks[b].deadline) => curr,
            (_, Some(_)) => best,
            (Some(_), None) => curr,
            (None, None) => self.tree.leftmost().or(self.common.competing(tasks)),
        }
    }

    /// The walk of the August 2023 kernel; only its end is a branch, since its way is hard to guess.
    ///
    /// It ends early where nothing below can be found any more that is better than the best so far,
    /// or as good as the running task's deadline `rival`.
    fn walk(&self, tasks: &Entities, all: Competitors, rival: Option<i64>) -> Option<TaskId> {
        let nodes = tasks.nodes();
        let (mut best, mut bounded) = (NIL, rival.is_some());
        // What a deadline must be before.
        let mut bound = rival.unwrap_or(0).wrapping_add(1);
        let mut link = self.tree.root().map_or(NIL, TaskId::link);
        while link != NIL {
            let e = &nodes[link as usize];
            if bounded & !before(e.least, bound) {
                break;
            }
            let [left, right] = e.child;
            let eligible = self.is_eligible(all, e);
            let better = eligible & (!bounded | before(e.deadline, bound));
            best = select_unpredictable(better, link, best);
            bound = select_unpredictable(better, e.deadline, bound);
            bounded |= better;
            if better & (e.deadline == e.least) {
                break;
            }
            let left_holds = (left != NIL) & (nodes[left as usize].least == e.least);
            link = select_unpredictable(!eligible | left_holds, left, right);
        }
        (best != NIL).then(|| TaskId::of_link(best))
    }

    /// The earliest deadline among the eligible, who are a prefix of the tree's order.
    fn earliest_eligible(&self, tasks: &Entities, all: Competitors) -> Option<TaskId> {
        // What is found: a node itself, or the whole subtree left of an eligible node.
        let mut best: Option<(i64, TaskId, bool)> = None;
        let mut at = self.tree.root();
        while let Some(id) = at {
            if !self.is_eligible(all, &tasks[id]) {
                at = Tree::left(tasks, id);
                continue;
            }
            let subtree = Tree::left(tasks, id).map(|l| (tasks[l].least, l, true));
            let itself = (tasks[id].deadline, id, false);
            for found in subtree.into_iter().chain([itself]) {
                if best.is_none_or(|b| before(found.0, b.0)) {
                    best = Some(found);
                }
            }
            at = Tree::right(tasks, id);
        }
        let (deadline, id, is_subtree) = best?;
        if is_subtree { Self::holder(tasks, id, deadline) } else { Some(id) }
    }

    /// Returns the first entity in order below `id` that has the subtree's earliest deadline.
    fn holder(tasks: &Entities, mut id: TaskId, deadline: i64) -> Option<TaskId> {
        loop {
            match Tree::left(tasks, id) {
                Some(left) if tasks[left].least == deadline => id = left,
                _ if tasks[id].deadline == deadline => return Some(id),
                _ => id = Tree::right(tasks, id)?,
            }
        }
    }
}
