//! The timeline tree: a red-black tree inside the arena.
//!
//! The August 2023 pick walks this tree and its answer depends on the shape, so the balancing is
//! the classic one and nothing else: a new node is red; a red uncle is recoloured and the problem
//! moves up two levels; otherwise an inner child is rotated outward and the grandparent rotated.
//! Removal splices a node with fewer than two children; otherwise the in-order successor is
//! relinked in the victim's place and takes its colour; the four textbook repairs follow. An equal
//! key goes to the right.
//!
//! The key is the virtual run time; each node knows the earliest deadline of its subtree. The links
//! live in the entities, so nothing is allocated, and a task is in at most one tree. Policies that
//! do not ask for the shape use [`Sorted`](super::Sorted), which is faster.

use std::hint::select_unpredictable;

use super::entity::{Entities, Entity, NIL, TaskId};
use super::order::{before, earlier};

/// Left and right as an index into `child`.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// Root and extreme nodes of a tree whose links live in the arena.
#[derive(Debug)]
pub struct Tree {
    root: u32,
    leftmost: u32,
    /// A task that has run is usually put back at the right end, which needs no descent.
    rightmost: u32,
}

impl Default for Tree {
    fn default() -> Self {
        Self { root: NIL, leftmost: NIL, rightmost: NIL }
    }
}

#[inline]
fn some(link: u32) -> Option<TaskId> {
    if link == NIL { None } else { Some(TaskId::of_link(link)) }
}

/// The entity a link leads to.
#[inline]
fn at(nodes: &[Entity], link: u32) -> &Entity {
    &nodes[link as usize]
}

#[inline]
fn at_mut(nodes: &mut [Entity], link: u32) -> &mut Entity {
    &mut nodes[link as usize]
}

#[inline]
fn is_red(nodes: &[Entity], link: u32) -> bool {
    at(nodes, link).red
}

/// Returns the side on which `child` hangs below `parent`.
#[inline]
fn side_of(nodes: &[Entity], parent: u32, child: u32) -> usize {
    usize::from(at(nodes, parent).child[RIGHT] == child)
}

fn extreme(nodes: &[Entity], mut from: u32, side: usize) -> u32 {
    while at(nodes, from).child[side] != NIL {
        from = at(nodes, from).child[side];
    }
    from
}

impl Tree {
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

    /// Inserts an entity that is in no tree; an equal key stays to its left.
    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let id = id.link();
        let nodes = tasks.nodes_mut();
        let node = at_mut(nodes, id);
        let (key, own) = (node.vruntime, node.deadline);
        node.child = [NIL; 2];
        node.least = own;
        let last = self.rightmost;
        if last != NIL && !before(key, at(nodes, last).vruntime) {
            Self::spread(nodes, last, own);
            self.rightmost = id;
            return self.link(nodes, id, last, RIGHT);
        }
        let (mut parent, mut link, mut side) = (NIL, self.root, LEFT);
        let mut first = true;
        while link != NIL {
            let node = at_mut(nodes, link);
            node.least = earlier(node.least, own);
            side = usize::from(!before(key, node.vruntime));
            first &= side == LEFT;
            (parent, link) = (link, node.child[side]);
        }
        self.leftmost = select_unpredictable(first, id, self.leftmost);
        if parent == NIL {
            (self.root, self.rightmost) = (id, id);
            let node = at_mut(nodes, id);
            node.parent = NIL;
            node.red = false;
            return;
        }
        self.link(nodes, id, parent, side);
    }

    /// Hangs a new node below its parent and restores the balance.
    #[inline(never)]
    fn link(&mut self, nodes: &mut [Entity], id: u32, parent: u32, side: usize) {
        let node = at_mut(nodes, id);
        node.parent = parent;
        node.red = true;
        let above = at_mut(nodes, parent);
        above.child[side] = id;
        if above.red {
            self.repair_red(nodes, id, parent);
        }
    }

    /// Adds a new node's own contribution upward; where nothing changes, nothing changes above.
    #[inline]
    fn spread(nodes: &mut [Entity], mut link: u32, own: i64) {
        while link != NIL {
            let node = at_mut(nodes, link);
            let joined = earlier(node.least, own);
            if joined == node.least {
                return;
            }
            node.least = joined;
            link = node.parent;
        }
    }

    /// Repairs a red node below a red parent.
    #[inline]
    fn repair_red(&mut self, nodes: &mut [Entity], mut node: u32, mut parent: u32) {
        loop {
            // A red node is never the root, so the grandparent exists.
            let grand = at(nodes, parent).parent;
            let side = side_of(nodes, grand, parent);
            let uncle = at(nodes, grand).child[1 - side];
            if is_red(nodes, uncle) {
                at_mut(nodes, parent).red = false;
                at_mut(nodes, uncle).red = false;
                node = grand;
                parent = at(nodes, node).parent;
                at_mut(nodes, node).red = parent != NIL;
                if !is_red(nodes, parent) {
                    return;
                }
                continue;
            }
            let top = self.restructure(nodes, grand, parent, node, side);
            at_mut(nodes, top).red = false;
            at_mut(nodes, grand).red = true;
            return;
        }
    }

    /// Rotates the middle one of `grand`, its child `parent` on `side` and that one's child `node`
    /// to the top, by one rotation or two, and returns it.
    ///
    /// Which of the two cases it is cannot be guessed, so that both take the same path: with one
    /// rotation, what a second would move is put where it is.
    #[inline(never)]
    fn restructure(
        &mut self,
        nodes: &mut [Entity],
        grand: u32,
        parent: u32,
        node: u32,
        side: usize,
    ) -> u32 {
        let other = 1 - side;
        let inner = at(nodes, parent).child[other] == node;
        let above = at(nodes, grand).parent;
        let whole = at(nodes, grand).least;
        let on_side = at(nodes, node).child[side];
        let on_other = at(nodes, node).child[other];
        let beside = at(nodes, parent).child[other];
        let top = select_unpredictable(inner, node, parent);
        let outer = select_unpredictable(inner, parent, node);
        let to_outer = select_unpredictable(inner, on_side, on_other);
        let to_grand = select_unpredictable(inner, on_other, beside);
        self.replace_child(nodes, above, grand, top);
        at_mut(nodes, to_outer).parent = outer;
        at_mut(nodes, to_grand).parent = grand;
        let e = at_mut(nodes, outer);
        e.child[other] = to_outer;
        e.parent = top;
        let e = at_mut(nodes, grand);
        e.child[side] = to_grand;
        e.parent = top;
        let e = at_mut(nodes, top);
        e.child[side] = outer;
        e.child[other] = grand;
        e.parent = above;
        e.least = whole;
        Self::recompute(nodes, outer);
        Self::recompute(nodes, grand);
        top
    }

    /// Moves `down` towards `side`; its other child takes its place.
    #[inline]
    fn rotate(&mut self, nodes: &mut [Entity], down: u32, side: usize) {
        let node = at(nodes, down);
        let (parent, up) = (node.parent, node.child[1 - side]);
        self.replace_child(nodes, parent, down, up);
        let whole = at(nodes, down).least;
        let node = at_mut(nodes, up);
        let inner = node.child[side];
        node.parent = parent;
        node.child[side] = down;
        node.least = whole;
        let node = at_mut(nodes, down);
        node.parent = up;
        node.child[1 - side] = inner;
        at_mut(nodes, inner).parent = down;
        Self::recompute(nodes, down);
    }

    #[inline]
    fn replace_child(&mut self, nodes: &mut [Entity], parent: u32, old: u32, new: u32) {
        // Above the root is the unused entity, where it does no harm.
        let child = &mut at_mut(nodes, parent).child;
        child[usize::from(child[RIGHT] == old)] = new;
        self.root = if parent == NIL { new } else { self.root };
    }

    /// Recomputes what a node remembers from its children.
    #[inline]
    fn recompute(nodes: &mut [Entity], link: u32) {
        let node = at(nodes, link);
        let ([left, right], own) = (node.child, node.deadline);
        // What is missing repeats the node itself, which changes nothing and saves two guesses.
        at_mut(nodes, NIL).least = own;
        let below = earlier(at(nodes, left).least, at(nodes, right).least);
        at_mut(nodes, link).least = earlier(own, below);
    }

    /// Takes a contribution out, upward from `link`, until it does not matter or `end` is reached.
    #[inline]
    fn withdraw(nodes: &mut [Entity], mut link: u32, end: u32, part: i64) {
        // Whether it matters to the first, smallest set is hard to guess, and to the next ones not.
        while link != end {
            Self::recompute(nodes, link);
            link = at(nodes, link).parent;
            if at(nodes, link).least != part {
                return;
            }
        }
    }

    /// Removes an entity that is in this tree.
    #[inline]
    pub fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        let id = id.link();
        let nodes = tasks.nodes_mut();
        let node = at(nodes, id);
        let (own, Entity { child: [left, right], parent, red, .. }) = (node.deadline, *node);
        if left != NIL && right != NIL {
            self.remove_inner(nodes, id);
            return;
        }
        // An extreme node has at most one child, and that is a single red leaf.
        let (first, last) = (self.leftmost == id, self.rightmost == id);
        let after = select_unpredictable(right == NIL, parent, right);
        let before = select_unpredictable(left == NIL, parent, left);
        self.leftmost = select_unpredictable(first, after, self.leftmost);
        self.rightmost = select_unpredictable(last, before, self.rightmost);
        let only = select_unpredictable(left == NIL, right, left);
        self.replace_child(nodes, parent, id, only);
        Self::withdraw(nodes, parent, NIL, own);
        let below = at_mut(nodes, only);
        below.parent = parent;
        below.red = false;
        if (only == NIL) & !red & (parent != NIL) {
            self.repair_black(nodes, parent);
        }
    }

    /// Removes a node with two children: its successor takes its place and colour.
    #[inline]
    fn remove_inner(&mut self, nodes: &mut [Entity], victim: u32) {
        let Entity { child: [left, right], parent, red, .. } = *at(nodes, victim);
        let heir = extreme(nodes, right, LEFT);
        let Entity { child: [_, orphan], parent: heir_parent, red: heir_red, .. } =
            *at(nodes, heir);
        let hole = if heir == right { heir } else { heir_parent };
        if heir != right {
            at_mut(nodes, heir_parent).child[LEFT] = orphan;
            at_mut(nodes, orphan).parent = heir_parent;
            at_mut(nodes, heir).child[RIGHT] = right;
            at_mut(nodes, right).parent = heir;
        }
        let whole = at(nodes, victim).least;
        let node = at_mut(nodes, heir);
        node.child[LEFT] = left;
        node.parent = parent;
        node.red = red;
        node.least = whole;
        at_mut(nodes, left).parent = heir;
        self.replace_child(nodes, parent, victim, heir);
        if hole != heir {
            Self::withdraw(nodes, hole, heir, at(nodes, heir).deadline);
        }
        Self::withdraw(nodes, heir, NIL, at(nodes, victim).deadline);
        if orphan != NIL {
            at_mut(nodes, orphan).red = false;
        } else if !heir_red {
            self.repair_black(nodes, hole);
        }
    }

    /// Repairs a missing black node: the empty place below `parent` is one black short.
    #[inline]
    fn repair_black(&mut self, nodes: &mut [Entity], mut parent: u32) {
        let mut short = NIL;
        loop {
            // The sibling of a place that is one black short is never empty, so that an empty
            // place is never confused with it.
            let side = side_of(nodes, parent, short);
            let mut sibling = at(nodes, parent).child[1 - side];
            if at(nodes, sibling).red {
                at_mut(nodes, sibling).red = false;
                at_mut(nodes, parent).red = true;
                self.rotate(nodes, parent, side);
                sibling = at(nodes, parent).child[1 - side];
            }
            let near = at(nodes, sibling).child[side];
            let far = at(nodes, sibling).child[1 - side];
            let far_red = is_red(nodes, far);
            if !(far_red | is_red(nodes, near)) {
                at_mut(nodes, sibling).red = true;
                short = parent;
                parent = at(nodes, short).parent;
                if at(nodes, short).red || parent == NIL {
                    at_mut(nodes, short).red = false;
                    return;
                }
                continue;
            }
            let nephew = select_unpredictable(far_red, far, near);
            let colour = at(nodes, parent).red;
            let top = self.restructure(nodes, parent, sibling, nephew, 1 - side);
            // The other one below is `parent`, the one here the sibling or the far nephew.
            at_mut(nodes, parent).red = false;
            let outer = at(nodes, top).child[1 - side];
            at_mut(nodes, outer).red = false;
            at_mut(nodes, top).red = colour;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity::TaskSpec;
    use super::*;

    /// Checks colours, black heights, links and summaries; returns the black height.
    fn check(tasks: &Entities, link: u32, parent: u32) -> usize {
        if link == NIL {
            return 1;
        }
        let e = at(tasks.nodes(), link);
        assert_eq!(e.parent, parent);
        let [l, r] = e.child;
        if e.red {
            assert!([l, r].iter().all(|&c| c == NIL || !at(tasks.nodes(), c).red), "red below red");
        }
        let least = [l, r]
            .iter()
            .filter(|&&c| c != NIL)
            .fold(e.deadline, |least, &c| earlier(least, at(tasks.nodes(), c).least));
        assert_eq!(e.least, least);
        let heights = (check(tasks, l, link), check(tasks, r, link));
        assert_eq!(heights.0, heights.1);
        heights.0 + usize::from(!e.red)
    }

    fn in_order(tasks: &Entities, link: u32, visit: &mut impl FnMut(TaskId)) {
        if let Some(id) = some(link) {
            let [left, right] = tasks[id].child;
            in_order(tasks, left, visit);
            visit(id);
            in_order(tasks, right, visit);
        }
    }

    /// A small generator, so that the sequence is the same everywhere.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    #[test]
    fn stays_balanced_and_sorted_under_random_insertions_and_removals() {
        let mut tasks = Entities::new(&vec![TaskSpec::default(); 200]);
        let (mut tree, mut rng) = (Tree::default(), 1);
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
            if tree.root != NIL {
                assert_eq!(tree.leftmost, extreme(tasks.nodes(), tree.root, LEFT));
                assert_eq!(tree.rightmost, extreme(tasks.nodes(), tree.root, RIGHT));
            }
            assert!(tree.root == NIL || !at(tasks.nodes(), tree.root).red);
            let mut seen = vec![];
            in_order(&tasks, tree.root, &mut |id| seen.push(id));
            assert_eq!(seen.len(), inside.iter().filter(|&&i| i).count());
            assert!(seen.windows(2).all(|w| !before(tasks[w[1]].vruntime, tasks[w[0]].vruntime)));
        }
    }

    #[test]
    fn equal_keys_keep_their_order_of_arrival() {
        let mut tasks = Entities::new(&[TaskSpec::default(); 9]);
        let mut tree = Tree::default();
        for i in [4, 2, 7, 0, 8, 1] {
            tree.insert(&mut tasks, TaskId(i));
        }
        let mut seen = vec![];
        in_order(&tasks, tree.root, &mut |id| seen.push(id.0));
        assert_eq!(seen, [4, 2, 7, 0, 8, 1]);
    }
}
