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

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use super::entity::{Entities, Entity, NIL, TaskId};
use super::order::{Order, before};

/// Left and right as an index into `child`.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// Root and extreme nodes of a tree whose links live in the arena.
#[derive(Debug)]
pub struct Tree<O> {
    root: u32,
    leftmost: u32,
    /// A task that has run is usually put back at the right end, which needs no descent.
    rightmost: u32,
    order: PhantomData<fn() -> O>,
}

impl<O> Default for Tree<O> {
    fn default() -> Self {
        Self { root: NIL, leftmost: NIL, rightmost: NIL, order: PhantomData }
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
        let id = id.link();
        let nodes = tasks.nodes();
        let right = at(nodes, id).child[RIGHT];
        if right != NIL {
            return some(extreme(nodes, right, LEFT));
        }
        let (mut below, mut above) = (id, at(nodes, id).parent);
        while above != NIL && at(nodes, above).child[RIGHT] == below {
            (below, above) = (above, at(nodes, above).parent);
        }
        some(above)
    }

    /// Returns the first entity in order whose contribution passes; a set of entities must pass if
    /// one of them does.
    #[inline]
    pub fn first_passing(
        &self,
        tasks: &Entities,
        passes: impl Fn(O::Summary) -> bool,
    ) -> Option<TaskId> {
        let nodes = tasks.nodes();
        let mut link = self.root;
        while link != NIL {
            let node = at(nodes, link);
            let [left, right] = node.child;
            let in_left = (left != NIL) & passes(O::stored(at(nodes, left)));
            if !in_left & passes(O::own(node)) {
                break;
            }
            link = select_unpredictable(in_left, left, right);
        }
        some(link)
    }

    /// Calls `visit` for every entity in order.
    pub fn for_each(&self, tasks: &Entities, mut visit: impl FnMut(TaskId)) {
        let mut next = self.leftmost();
        while let Some(id) = next {
            visit(id);
            next = Self::successor(tasks, id);
        }
    }

    /// Returns the same tree with what another order remembers; both must sort alike.
    pub fn remembering<P: Order>(self, tasks: &mut Entities) -> Tree<P> {
        let Self { root, leftmost, rightmost, .. } = self;
        Tree::<P>::recompute_all(tasks.nodes_mut(), root);
        Tree { root, leftmost, rightmost, order: PhantomData }
    }

    /// Recomputes what the nodes of a subtree remember.
    fn recompute_all(nodes: &mut [Entity], link: u32) {
        if link != NIL {
            for child in at(nodes, link).child {
                Self::recompute_all(nodes, child);
            }
            Self::recompute(nodes, link);
        }
    }

    /// Inserts an entity that is in no tree; an equal key stays to its left.
    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let id = id.link();
        let nodes = tasks.nodes_mut();
        let node = at_mut(nodes, id);
        let (key, own) = (O::key(node), O::own(node));
        node.child = [NIL; 2];
        O::store(node, own);
        let last = self.rightmost;
        if last != NIL && !before(key, O::key(at(nodes, last))) {
            Self::spread(nodes, last, own);
            self.rightmost = id;
            return self.link(nodes, id, last, RIGHT);
        }
        let (mut parent, mut link, mut side) = (NIL, self.root, LEFT);
        let mut first = true;
        while link != NIL {
            let node = at_mut(nodes, link);
            O::store(node, O::join(O::stored(node), own));
            side = usize::from(!before(key, O::key(node)));
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
    #[inline]
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
    fn spread(nodes: &mut [Entity], mut link: u32, own: O::Summary) {
        if size_of::<O::Summary>() == 0 {
            return;
        }
        while link != NIL {
            let node = at_mut(nodes, link);
            let joined = O::join(O::stored(node), own);
            if joined == O::stored(node) {
                return;
            }
            O::store(node, joined);
            link = node.parent;
        }
    }

    /// Repairs a red node below a red parent.
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
    #[inline]
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
        let whole = O::stored(at(nodes, grand));
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
        O::store(e, whole);
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
        let whole = O::stored(at(nodes, down));
        let node = at_mut(nodes, up);
        let inner = node.child[side];
        node.parent = parent;
        node.child[side] = down;
        O::store(node, whole);
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
        if size_of::<O::Summary>() == 0 {
            return;
        }
        let node = at(nodes, link);
        let ([left, right], own) = (node.child, O::own(node));
        // What is missing repeats the node itself, which changes nothing and saves two guesses.
        O::store(at_mut(nodes, NIL), own);
        let below = O::join(O::stored(at(nodes, left)), O::stored(at(nodes, right)));
        O::store(at_mut(nodes, link), O::join(own, below));
    }

    /// Takes a contribution out, upward from `link`, until it does not matter or `end` is reached.
    #[inline]
    fn withdraw(nodes: &mut [Entity], mut link: u32, end: u32, part: O::Summary) {
        if size_of::<O::Summary>() == 0 {
            return;
        }
        // Whether it matters to the first, smallest set is hard to guess, and to the next ones not.
        while link != end {
            let whole = O::stored(at(nodes, link));
            Self::recompute(nodes, link);
            if O::TIES && O::stored(at(nodes, link)) == whole {
                return;
            }
            link = at(nodes, link).parent;
            if !O::rests_on(O::stored(at(nodes, link)), part) {
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
        let (own, Entity { child: [left, right], parent, red, .. }) = (O::own(node), *node);
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
        let whole = O::stored(at(nodes, victim));
        let node = at_mut(nodes, heir);
        node.child[LEFT] = left;
        node.parent = parent;
        node.red = red;
        O::store(node, whole);
        at_mut(nodes, left).parent = heir;
        self.replace_child(nodes, parent, victim, heir);
        if hole != heir {
            Self::withdraw(nodes, hole, heir, O::own(at(nodes, heir)));
        }
        Self::withdraw(nodes, heir, NIL, O::own(at(nodes, victim)));
        if orphan != NIL {
            at_mut(nodes, orphan).red = false;
        } else if !heir_red {
            self.repair_black(nodes, hole);
        }
    }

    /// Repairs a missing black node: the empty place below `parent` is one black short.
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
    use super::super::order::{
        ByDeadline, ByDeadlineWithSlices, ByVruntime, ByVruntimeWithDeadline, earlier,
    };
    use super::*;

    type Deadlines = Tree<ByVruntimeWithDeadline>;

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
            if tree.root != NIL {
                assert_eq!(tree.leftmost, extreme(tasks.nodes(), tree.root, LEFT));
                assert_eq!(tree.rightmost, extreme(tasks.nodes(), tree.root, RIGHT));
            }
            assert!(tree.root == NIL || !at(tasks.nodes(), tree.root).red);
            let mut seen = vec![];
            tree.for_each(&tasks, |id| seen.push(id));
            assert_eq!(seen.len(), inside.iter().filter(|&&i| i).count());
            assert!(seen.windows(2).all(|w| !before(tasks[w[1]].vruntime, tasks[w[0]].vruntime)));
        }
    }

    #[test]
    fn another_order_remembers_what_was_there_before() {
        let mut tasks = Entities::new(&[TaskSpec::default(); 50]);
        let (mut tree, mut rng) = (Tree::<ByDeadline>::default(), 3);
        for i in 0..50 {
            let e = &mut tasks[TaskId(i)];
            e.deadline = (next(&mut rng) % 1000) as i64;
            e.slice = 1000 + (next(&mut rng) % 1000) as u32;
            tree.insert(&mut tasks, TaskId(i));
        }
        let mut tree = tree.remembering::<ByDeadlineWithSlices>(&mut tasks);
        for gone in 0..49 {
            let slices = (gone..50).map(|i| tasks[TaskId(i)].slice);
            let extremes = (slices.clone().min(), slices.max());
            let (_, shortest, longest) = tree.summary(&tasks).unwrap();
            assert_eq!((Some(shortest), Some(longest)), extremes);
            tree.remove(&mut tasks, TaskId(gone));
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
