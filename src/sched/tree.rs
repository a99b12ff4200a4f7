//! The timeline tree: a red-black tree inside the arena.
//!
//! The August 2023 pick walks this tree and its answer depends on the shape, so the balancing is
//! the classic one and nothing else: a new node is red; a red uncle is recoloured and the problem
//! moves up two levels; otherwise an inner child is rotated outward and the grandparent rotated.
//! Removal splices a node with fewer than two children; otherwise the in-order successor is
//! relinked in the victim's place and takes its colour; the four textbook repairs follow. An equal
//! key goes to the right.
//!
//! An [`Order`] says what the key is and what each node remembers about its subtree. The links
//! live in the entities, so nothing is allocated, and a task is in at most one tree.

use std::marker::PhantomData;

use super::entity::{Entities, Entity, NIL, TaskId};

/// Left and right as an index into `child`.
const LEFT: usize = 0;
const RIGHT: usize = 1;

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
}

/// Sorted by deadline, with the least virtual run time and the extreme slices of the subtree:
/// EEVDF from 6.6 on.
#[derive(Debug)]
pub enum ByDeadline {}

impl Order for ByDeadline {
    type Summary = (i64, u32, u32);
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
}

/// Root and leftmost node of a tree whose links live in the arena.
#[derive(Debug)]
pub struct Tree<O> {
    root: u32,
    leftmost: u32,
    order: PhantomData<fn() -> O>,
}

impl<O> Default for Tree<O> {
    fn default() -> Self {
        Self { root: NIL, leftmost: NIL, order: PhantomData }
    }
}

#[inline]
fn some(link: u32) -> Option<TaskId> {
    if link == NIL { None } else { Some(TaskId(link)) }
}

impl<O: Order> Tree<O> {
    /// Returns the root.
    #[inline]
    pub fn root(&self) -> Option<TaskId> {
        some(self.root)
    }

    /// Returns the entity with the smallest key, the oldest among equals.
    #[inline]
    pub fn leftmost(&self) -> Option<TaskId> {
        some(self.leftmost)
    }

    /// Returns the left child.
    #[inline]
    pub fn left(tasks: &Entities, id: TaskId) -> Option<TaskId> {
        some(tasks[id].child[LEFT])
    }

    /// Returns the right child.
    #[inline]
    pub fn right(tasks: &Entities, id: TaskId) -> Option<TaskId> {
        some(tasks[id].child[RIGHT])
    }

    /// Returns what the whole tree remembers.
    #[inline]
    pub fn summary(&self, tasks: &Entities) -> Option<O::Summary> {
        self.root().map(|r| O::stored(&tasks[r]))
    }

    /// Returns the next entity in order.
    pub fn successor(tasks: &Entities, id: TaskId) -> Option<TaskId> {
        let right = tasks[id].child[RIGHT];
        if right != NIL {
            return some(Self::extreme(tasks, right, LEFT));
        }
        let (mut below, mut above) = (id.0, tasks[id].parent);
        while above != NIL && tasks.at(above).child[RIGHT] == below {
            (below, above) = (above, tasks.at(above).parent);
        }
        some(above)
    }

    /// Calls `visit` for every entity in order.
    pub fn for_each(&self, tasks: &Entities, mut visit: impl FnMut(TaskId)) {
        let mut at = self.leftmost();
        while let Some(id) = at {
            visit(id);
            at = Self::successor(tasks, id);
        }
    }

    fn extreme(tasks: &Entities, mut from: u32, side: usize) -> u32 {
        while tasks.at(from).child[side] != NIL {
            from = tasks.at(from).child[side];
        }
        from
    }

    /// Inserts an entity that is in no tree; an equal key stays to its left.
    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let (key, own) = (O::key(&tasks[id]), O::own(&tasks[id]));
        let (mut parent, mut at, mut side, mut first) = (NIL, self.root, LEFT, true);
        while at != NIL {
            let node = tasks.at_mut(at);
            O::store(node, O::join(O::stored(node), own));
            side = usize::from(!before(key, O::key(node)));
            first &= side == LEFT;
            (parent, at) = (at, node.child[side]);
        }
        let node = &mut tasks[id];
        node.child = [NIL; 2];
        node.parent = parent;
        node.red = true;
        O::store(node, own);
        if first {
            self.leftmost = id.0;
        }
        if parent == NIL {
            self.root = id.0;
            tasks[id].red = false;
        } else {
            let parent = tasks.at_mut(parent);
            parent.child[side] = id.0;
            if parent.red {
                self.repair_red(tasks, id.0);
            }
        }
    }

    /// Repairs a red node below a red parent.
    fn repair_red(&mut self, tasks: &mut Entities, mut node: u32) {
        loop {
            let parent = tasks.at(node).parent;
            if parent == NIL {
                tasks.at_mut(node).red = false;
                return;
            }
            if !tasks.at(parent).red {
                return;
            }
            // A red node is never the root, so the grandparent exists.
            let grand = tasks.at(parent).parent;
            let side = usize::from(tasks.at(grand).child[RIGHT] == parent);
            let uncle = tasks.at(grand).child[1 - side];
            if uncle != NIL && tasks.at(uncle).red {
                tasks.at_mut(parent).red = false;
                tasks.at_mut(uncle).red = false;
                tasks.at_mut(grand).red = true;
                node = grand;
                continue;
            }
            let top = if tasks.at(parent).child[1 - side] == node {
                self.rotate(tasks, parent, side);
                node
            } else {
                parent
            };
            self.rotate(tasks, grand, 1 - side);
            tasks.at_mut(top).red = false;
            tasks.at_mut(grand).red = true;
            return;
        }
    }

    /// Moves `down` towards `side`; its other child takes its place.
    fn rotate(&mut self, tasks: &mut Entities, down: u32, side: usize) {
        let up = tasks.at(down).child[1 - side];
        let inner = tasks.at(up).child[side];
        let parent = tasks.at(down).parent;
        self.replace_child(tasks, parent, down, up);
        tasks.at_mut(up).parent = parent;
        tasks.at_mut(up).child[side] = down;
        let whole = O::stored(tasks.at(down));
        O::store(tasks.at_mut(up), whole);
        let node = tasks.at_mut(down);
        node.parent = up;
        node.child[1 - side] = inner;
        if inner != NIL {
            tasks.at_mut(inner).parent = down;
        }
        Self::recompute(tasks, down);
    }

    #[inline]
    fn replace_child(&mut self, tasks: &mut Entities, parent: u32, old: u32, new: u32) {
        if parent == NIL {
            self.root = new;
        } else {
            let child = &mut tasks.at_mut(parent).child;
            child[usize::from(child[RIGHT] == old)] = new;
        }
    }

    /// Recomputes what a node remembers from its children; returns true if it changed.
    #[inline]
    fn recompute(tasks: &mut Entities, node: u32) -> bool {
        let e = tasks.at(node);
        let mut summary = O::own(e);
        for child in e.child {
            if child != NIL {
                summary = O::join(summary, O::stored(tasks.at(child)));
            }
        }
        let changed = summary != O::stored(tasks.at(node));
        O::store(tasks.at_mut(node), summary);
        changed
    }

    /// Recomputes from `node` upward until nothing changes or `end` is reached.
    #[inline]
    fn propagate(tasks: &mut Entities, mut node: u32, end: u32) {
        if size_of::<O::Summary>() == 0 {
            return;
        }
        while node != end && Self::recompute(tasks, node) {
            node = tasks.at(node).parent;
        }
    }

    /// Removes an entity that is in this tree.
    #[inline]
    pub fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        let Entity { child: [left, right], parent, red, .. } = tasks[id];
        if self.leftmost == id.0 {
            // No left child, so the right one is at most a single red leaf.
            self.leftmost = if right == NIL { parent } else { right };
        }
        if left != NIL && right != NIL {
            self.remove_inner(tasks, id.0);
            return;
        }
        let only = if left == NIL { right } else { left };
        self.replace_child(tasks, parent, id.0, only);
        Self::propagate(tasks, parent, NIL);
        if only != NIL {
            let only = tasks.at_mut(only);
            only.parent = parent;
            only.red = false;
        } else if !red && parent != NIL {
            self.repair_black(tasks, parent);
        }
    }

    /// Removes a node with two children: its successor takes its place and colour.
    fn remove_inner(&mut self, tasks: &mut Entities, victim: u32) {
        let Entity { child: [left, right], parent, red, .. } = *tasks.at(victim);
        let heir = Self::extreme(tasks, right, LEFT);
        let Entity { child: [_, orphan], parent: heir_parent, red: heir_red, .. } = *tasks.at(heir);
        let hole = if heir == right { heir } else { heir_parent };
        if heir != right {
            tasks.at_mut(heir_parent).child[LEFT] = orphan;
            if orphan != NIL {
                tasks.at_mut(orphan).parent = heir_parent;
            }
            tasks.at_mut(heir).child[RIGHT] = right;
            tasks.at_mut(right).parent = heir;
        }
        let node = tasks.at_mut(heir);
        node.child[LEFT] = left;
        node.parent = parent;
        node.red = red;
        tasks.at_mut(left).parent = heir;
        self.replace_child(tasks, parent, victim, heir);
        let whole = O::stored(tasks.at(victim));
        O::store(tasks.at_mut(heir), whole);
        if hole != heir {
            Self::propagate(tasks, hole, heir);
        }
        Self::propagate(tasks, heir, NIL);
        if orphan != NIL {
            tasks.at_mut(orphan).red = false;
        } else if !heir_red {
            self.repair_black(tasks, hole);
        }
    }

    /// Repairs a missing black node: the empty place below `parent` is one black short.
    fn repair_black(&mut self, tasks: &mut Entities, mut parent: u32) {
        let is_red = |tasks: &Entities, link: u32| link != NIL && tasks.at(link).red;
        let mut node = NIL;
        loop {
            // Both places are empty only if the short one was a black leaf with a sibling, which
            // then is not empty: the side is never ambiguous.
            let side = usize::from(tasks.at(parent).child[RIGHT] == node);
            let mut sibling = tasks.at(parent).child[1 - side];
            if tasks.at(sibling).red {
                tasks.at_mut(sibling).red = false;
                tasks.at_mut(parent).red = true;
                self.rotate(tasks, parent, side);
                sibling = tasks.at(parent).child[1 - side];
            }
            let nephews = tasks.at(sibling).child;
            if !is_red(tasks, nephews[0]) && !is_red(tasks, nephews[1]) {
                tasks.at_mut(sibling).red = true;
                node = parent;
                if tasks.at(node).red {
                    tasks.at_mut(node).red = false;
                    return;
                }
                parent = tasks.at(node).parent;
                if parent == NIL {
                    return;
                }
                continue;
            }
            if !is_red(tasks, nephews[1 - side]) {
                tasks.at_mut(nephews[side]).red = false;
                tasks.at_mut(sibling).red = true;
                self.rotate(tasks, sibling, 1 - side);
                sibling = tasks.at(parent).child[1 - side];
            }
            let far = tasks.at(sibling).child[1 - side];
            tasks.at_mut(sibling).red = tasks.at(parent).red;
            tasks.at_mut(parent).red = false;
            tasks.at_mut(far).red = false;
            self.rotate(tasks, parent, side);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity::TaskSpec;
    use super::*;

    type Deadlines = Tree<ByVruntimeWithDeadline>;

    /// Checks colours, black heights, links and summaries; returns the black height.
    fn check(tasks: &Entities, link: u32, parent: u32) -> usize {
        if link == NIL {
            return 1;
        }
        let e = tasks.at(link);
        assert_eq!(e.parent, parent);
        let [l, r] = e.child;
        if e.red {
            assert!([l, r].iter().all(|&c| c == NIL || !tasks.at(c).red), "red below red");
        }
        let least = [l, r]
            .iter()
            .filter(|&&c| c != NIL)
            .fold(e.deadline, |least, &c| earlier(least, tasks.at(c).least));
        assert_eq!(e.least, least);
        let heights = (check(tasks, l, link), check(tasks, r, link));
        assert_eq!(heights.0, heights.1);
        heights.0 + usize::from(!e.red)
    }

    /// A small generator, so that the sequence is the same everywhere.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    #[test]
    fn stays_balanced_and_sorted_under_random_insertions_and_removals() {
        let mut tasks = Entities::new(&vec![TaskSpec::default(); 200]);
        let (mut tree, mut rng) = (Deadlines::default(), 1);
        let mut inside = [false; 200];
        for _ in 0..5000 {
            let id = TaskId((next(&mut rng) % 200) as u32);
            if inside[id.0 as usize] {
                tree.remove(&mut tasks, id);
            } else {
                // Around the wrap, with many equal keys.
                tasks[id].vruntime = i64::MAX.wrapping_add((next(&mut rng) % 64) as i64 - 32);
                tasks[id].deadline = (next(&mut rng) % 1000) as i64;
                tree.insert(&mut tasks, id);
            }
            inside[id.0 as usize] ^= true;
            check(&tasks, tree.root, NIL);
            assert!(tree.root == NIL || !tasks.at(tree.root).red);
            let mut seen = vec![];
            tree.for_each(&tasks, |id| seen.push(id));
            assert_eq!(seen.len(), inside.iter().filter(|&&i| i).count());
            assert!(seen.windows(2).all(|w| !before(tasks[w[1]].vruntime, tasks[w[0]].vruntime)));
        }
    }

    #[test]
    fn equal_keys_keep_their_order_of_arrival() {
        let mut tasks = Entities::new(&[TaskSpec::default(); 9]);
        let mut tree = Tree::<ByVruntime>::default();
        for i in [4, 2, 7, 0, 8, 1] {
            tree.insert(&mut tasks, TaskId(i));
        }
        let mut seen = vec![];
        tree.for_each(&tasks, |id| seen.push(id.0));
        assert_eq!(seen, [4, 2, 7, 0, 8, 1]);
    }
}
