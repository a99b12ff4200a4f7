//! Waiting tasks sorted by a key, in blocks: for policies whose choice depends on the order alone.
//!
//! A tree of single tasks costs a hard guess and a cache line at every level. Here up to [`BLOCK`]
//! tasks share a block: their keys lie side by side, so that counting the smaller ones finds the
//! place of a new one without a guess, and a row of bytes says which comes when, so that little
//! moves. Blocks are sorted as well, and what each contributes lies in one row, so that a search for
//! the first that passes leaves blocks out without touching them. An equal key goes behind. A queue
//! of a few tasks is one block; a block that runs full is halved, or continued by an empty one if
//! the new task comes last.
//!
//! The key of a waiting task and what it contributes must not change.

use std::hint::select_unpredictable;

use super::entity::{Entities, TaskId};
use super::order::{Order, before};

/// Tasks in a block.
const BLOCK: usize = 16;

/// Places in a block by rank, a byte each: a whole number shifts without a loop.
#[derive(Debug, Clone, Copy, Default)]
struct Ranks(u128);

/// A number of equal bytes.
#[inline]
fn bytes(byte: usize) -> u128 {
    let word = u128::from(byte as u64 * 0x0101_0101_0101_0101);
    word << 64 | word
}

/// Returns a number with the highest bit set in every byte that is zero in `number`.
#[inline]
fn zero_bytes(number: u128) -> u128 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let in_word = |word: u64| !(((word & LOW) + LOW) | word | LOW);
    u128::from(in_word((number >> 64) as u64)) << 64 | u128::from(in_word(number as u64))
}

impl Ranks {
    #[inline]
    fn place(self, rank: usize) -> usize {
        (self.0 >> (8 * rank)) as usize % BLOCK
    }

    /// Returns the first `len` places.
    #[inline]
    fn places(self, len: usize) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        (0..len).map(move |_| {
            let place = rest as usize % BLOCK;
            rest >>= 8;
            place
        })
    }

    /// Inserts a place at a rank.
    #[inline]
    fn insert(&mut self, rank: usize, place: usize) {
        let here = 0xff << (8 * rank);
        let below = (1u128 << (8 * rank)) - 1;
        self.0 = self.0 & below | bytes(place) & here | (self.0 & !below) << 8;
    }

    /// Returns the rank of a place that is there.
    #[inline]
    fn rank_of(self, place: usize) -> usize {
        zero_bytes(self.0 ^ bytes(place)).trailing_zeros() as usize / 8
    }

    /// Removes the place at a rank and gives its number to the last place.
    #[inline]
    fn remove(&mut self, rank: usize, place: usize, last: usize) {
        let below = (1u128 << (8 * rank)) - 1;
        let new = self.0 & below | (self.0 >> 8) & !below;
        let found = zero_bytes(new ^ bytes(last)) >> 7;
        let mask = (found << 8).wrapping_sub(found);
        self.0 = new ^ (bytes(place) ^ bytes(last)) & mask;
    }
}

/// Tasks whose keys are neighbours.
#[derive(Debug)]
struct Block<S> {
    len: usize,
    /// Tasks have left since their whole was summed up.
    stale: bool,
    /// Places of the columns below in the order of keys.
    ranks: Ranks,
    keys: [i64; BLOCK],
    parts: [S; BLOCK],
    ids: [TaskId; BLOCK],
}

/// Returns 1 if `key` comes before `other`, else 0, by the sign of the wrapped difference.
#[inline]
fn is_before(key: i64, other: i64) -> u64 {
    key.wrapping_sub(other) as u64 >> 63
}

impl<S: Copy + Default> Block<S> {
    fn new() -> Self {
        Self {
            len: 0,
            stale: false,
            ranks: Ranks(0),
            keys: [0; BLOCK],
            parts: [S::default(); BLOCK],
            ids: [TaskId(0); BLOCK],
        }
    }

    /// Returns how many keys a new one comes behind.
    #[inline]
    fn rank(&self, key: i64) -> usize {
        let after: u64 = self.keys[..self.len].iter().map(|&other| is_before(key, other)).sum();
        self.len - after as usize
    }

    /// Adds a task at a rank; the block is not full. Returns its place.
    #[inline]
    fn insert(&mut self, rank: usize, key: i64, part: S, id: TaskId) -> usize {
        let place = self.len;
        self.keys[place] = key;
        self.parts[place] = part;
        self.ids[place] = id;
        self.ranks.insert(rank, place);
        self.len += 1;
        place
    }

    /// Takes out what lies at a rank and place, where the last of the columns moves; returns that
    /// task.
    #[inline]
    fn remove(&mut self, rank: usize, place: usize) -> TaskId {
        self.ranks.remove(rank, place, self.len - 1);
        self.stale = true;
        self.len -= 1;
        let last = self.len;
        self.keys[place] = self.keys[last];
        self.parts[place] = self.parts[last];
        self.ids[place] = self.ids[last];
        self.ids[place]
    }

    /// Returns what its tasks contribute together, in lanes that do not wait for each other.
    fn sum_up<O: Order<Part = S>>(&mut self) -> S {
        self.stale = false;
        let mut lanes = [self.parts[0]; 4];
        for parts in self.parts[..self.len].chunks(4) {
            for (lane, &part) in lanes.iter_mut().zip(parts) {
                *lane = O::join(*lane, part);
            }
        }
        O::join(O::join(lanes[0], lanes[1]), O::join(lanes[2], lanes[3]))
    }

    /// Returns the first task in order whose part passes.
    #[inline]
    fn first_passing(&self, passes: impl Fn(S) -> bool) -> Option<TaskId> {
        let mut places = self.ranks.places(self.len);
        places.find(|&place| passes(self.parts[place])).map(|place| self.ids[place])
    }

    /// Returns the task at a rank.
    #[inline]
    fn at(&self, rank: usize) -> Option<TaskId> {
        (rank < self.len).then(|| self.ids[self.ranks.place(rank)])
    }
}

/// Waiting tasks in the order of their keys.
#[derive(Debug)]
pub struct Sorted<O: Order> {
    /// In no particular order; those in `free` are empty.
    blocks: Vec<Block<O::Part>>,
    free: Vec<u32>,
    /// The blocks in use, in order.
    rows: Vec<u32>,
    /// What the tasks of each of them contribute together, and perhaps tasks that have left;
    /// meaningless if it is empty.
    wholes: Vec<O::Part>,
    /// For each of them but the last the key that none in it and before it exceeds.
    limits: Vec<i64>,
    first: Option<TaskId>,
}

impl<O: Order> Default for Sorted<O> {
    fn default() -> Self {
        Self {
            blocks: vec![],
            free: vec![],
            rows: vec![],
            wholes: vec![],
            limits: vec![],
            first: None,
        }
    }
}

impl<O: Order> Sorted<O> {
    /// Returns the task with the smallest key, the oldest among equals.
    #[inline]
    pub fn first(&self) -> Option<TaskId> {
        self.first
    }

    /// Returns the task that follows the first.
    #[inline]
    pub fn second(&self) -> Option<TaskId> {
        let block = self.block(0)?;
        match block.at(1) {
            None => self.block(1)?.at(0),
            second => second,
        }
    }

    /// Returns the first task in order whose part passes; a whole must pass if one of its parts
    /// does, and joining a part with itself must not change it.
    #[inline]
    pub fn first_passing(
        &mut self,
        tasks: &Entities,
        passes: impl Fn(O::Part) -> bool,
    ) -> Option<TaskId> {
        // In a short queue one of the first is likely to pass, and wholes do not pay.
        if passes(O::part(&tasks[self.first?])) {
            return self.first;
        }
        let front = self.block(0)?.first_passing(&passes);
        if front.is_some() {
            return front;
        }
        for (&at, whole) in self.rows.iter().zip(&mut self.wholes).skip(1) {
            if passes(*whole) {
                let block = &mut self.blocks[at as usize];
                if block.stale {
                    *whole = block.sum_up::<O>();
                    if !passes(*whole) {
                        continue;
                    }
                }
                let found = block.first_passing(&passes);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Calls `visit` for every task in order.
    #[cfg(test)]
    fn for_each(&self, mut visit: impl FnMut(TaskId)) {
        for &at in &self.rows {
            let block = &self.blocks[at as usize];
            (0..block.len).filter_map(|rank| block.at(rank)).for_each(&mut visit);
        }
    }

    /// Inserts a task that does not wait here; equal keys stay in front of it.
    #[inline]
    pub fn insert(&mut self, tasks: &mut Entities, id: TaskId) {
        let (key, part) = (O::key(&tasks[id]), O::part(&tasks[id]));
        let mut row = self.row(key);
        if self.rows.get(row).is_none_or(|&at| self.blocks[at as usize].len == BLOCK) {
            row = self.make_room(tasks, row, key);
        }
        let at = self.rows[row];
        let block = &mut self.blocks[at as usize];
        let whole = &mut self.wholes[row];
        *whole = select_unpredictable(block.len == 0, part, O::join(*whole, part));
        let rank = block.rank(key);
        let place = block.insert(rank, key, part, id);
        tasks[id].seat = (at, place as u32);
        self.first = select_unpredictable((row == 0) & (rank == 0), Some(id), self.first);
    }

    /// Removes a task that waits here.
    #[inline]
    pub fn remove(&mut self, tasks: &mut Entities, id: TaskId) {
        let (at, place) = tasks[id].seat;
        let block = &mut self.blocks[at as usize];
        let is_first = self.first == Some(id);
        // Most that leave are the first, of which nothing need be looked up.
        let rank = if is_first { 0 } else { block.ranks.rank_of(place as usize) };
        let moved = block.remove(rank, place as usize);
        let empty = block.len == 0;
        tasks[moved].seat = (at, place);
        if empty && self.rows.len() > 1 {
            self.give_back(at);
        }
        if is_first {
            self.first = self.block(0).and_then(|block| block.at(0));
        }
    }

    #[inline]
    fn block(&self, row: usize) -> Option<&Block<O::Part>> {
        self.rows.get(row).map(|&at| &self.blocks[at as usize])
    }

    /// Returns the row a new key belongs to.
    #[inline]
    fn row(&self, key: i64) -> usize {
        self.limits.partition_point(|&limit| !before(key, limit))
    }

    /// Makes a full or missing row take one more and returns the row the key belongs to then.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, tasks: &mut Entities, row: usize, key: i64) -> usize {
        let new = self.take_block();
        let Some(&at) = self.rows.get(row) else {
            self.rows.push(new);
            self.wholes.push(O::Part::default());
            return row;
        };
        let is_last = row + 1 == self.rows.len();
        let full = std::mem::replace(&mut self.blocks[at as usize], Block::new());
        let kept = if is_last && full.rank(key) == BLOCK { BLOCK } else { BLOCK / 2 };
        for rank in 0..BLOCK {
            let (at, rank, from) =
                if rank < kept { (at, rank, 0) } else { (new, rank - kept, kept) };
            let old = full.ranks.place(rank + from);
            let id = full.ids[old];
            let block = &mut self.blocks[at as usize];
            let place = block.insert(rank, full.keys[old], full.parts[old], id);
            tasks[id].seat = (at, place as u32);
        }
        self.rows.insert(row + 1, new);
        self.limits.insert(row, full.keys[full.ranks.place(kept - 1)]);
        self.wholes.insert(row + 1, O::Part::default());
        for (row, at) in [(row, at), (row + 1, new)] {
            self.wholes[row] = self.blocks[at as usize].sum_up::<O>();
        }
        row + usize::from(!before(key, self.limits[row]))
    }

    /// Returns an empty block.
    fn take_block(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block::new());
            self.blocks.len() as u32 - 1
        })
    }

    /// Takes an empty block out of the order; the last one stays, since it will be filled again.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self, at: u32) {
        if let Some(row) = self.rows.iter().position(|&other| other == at) {
            self.free.push(self.rows.remove(row));
            self.wholes.remove(row);
            // Keys up to a lost limit now belong to the next row.
            self.limits.remove(row.min(self.limits.len() - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entity::TaskSpec;
    use super::super::order::ByDeadline;
    use super::*;

    const TASKS: u32 = 1000;

    /// What the queue should be: all tasks in order of arrival, sorted by a stable sort.
    fn expected(tasks: &Entities, arrived: &[TaskId]) -> Vec<TaskId> {
        let mut all = arrived.to_vec();
        all.sort_by(|&a, &b| tasks[a].deadline.wrapping_sub(tasks[b].deadline).cmp(&0));
        all
    }

    fn check(queue: &mut Sorted<ByDeadline>, tasks: &Entities, arrived: &[TaskId]) {
        let mut seen = vec![];
        queue.for_each(|id| seen.push(id));
        let expected = expected(tasks, arrived);
        assert_eq!(seen, expected);
        assert_eq!(queue.first(), expected.first().copied());
        assert_eq!(queue.second(), expected.get(1).copied());
        for (&at, &whole) in queue.rows.iter().zip(&queue.wholes) {
            let block = &queue.blocks[at as usize];
            assert!(queue.rows.len() == 1 || block.len > 0);
            let mut parts = block.ids[..block.len].iter().map(|&id| tasks[id].vruntime);
            assert!(parts.all(|part| !before(part, whole)));
        }
        let some = i64::MAX.wrapping_add(300);
        let passing = expected.iter().find(|&&id| !before(some, tasks[id].vruntime));
        assert_eq!(queue.first_passing(tasks, |v| !before(some, v)), passing.copied());
    }

    /// Inserts and removes tasks; `steps` are task numbers and deadlines.
    fn run(steps: &[(u32, i64)], often: usize) {
        let mut tasks = Entities::new(&vec![TaskSpec::default(); TASKS as usize]);
        let (mut queue, mut arrived) = (Sorted::<ByDeadline>::default(), Vec::<TaskId>::new());
        for (i, &(id, deadline)) in steps.iter().enumerate() {
            let id = TaskId(id % TASKS);
            if let Some(at) = arrived.iter().position(|&other| other == id) {
                arrived.remove(at);
                queue.remove(&mut tasks, id);
            } else {
                // Around the wrap.
                tasks[id].deadline = i64::MAX.wrapping_add(deadline);
                tasks[id].vruntime = i64::MAX.wrapping_add(deadline.wrapping_mul(77) % 1000);
                arrived.push(id);
                queue.insert(&mut tasks, id);
            }
            if i % often == 0 {
                check(&mut queue, &tasks, &arrived);
            }
        }
        check(&mut queue, &tasks, &arrived);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn a_few_tasks_are_kept_in_order(
            steps in prop::collection::vec((0u32..20, -8i64..8), 0..400),
        ) {
            run(&steps, 1);
        }

        #[test]
        fn many_tasks_are_kept_in_order(
            steps in prop::collection::vec((any::<u32>(), -3000i64..3000), 0..3000),
        ) {
            run(&steps, 100);
        }

        #[test]
        fn many_equal_keys_are_kept_in_order_of_arrival(
            steps in prop::collection::vec((any::<u32>(), -2i64..2), 0..3000),
        ) {
            run(&steps, 100);
        }
    }

    #[test]
    fn keys_that_only_rise_fill_the_blocks() {
        let mut tasks = Entities::new(&vec![TaskSpec::default(); TASKS as usize]);
        let mut queue = Sorted::<ByDeadline>::default();
        for i in 0..TASKS {
            tasks[TaskId(i)].deadline = i64::from(i);
            queue.insert(&mut tasks, TaskId(i));
        }
        assert_eq!(queue.rows.len(), TASKS.div_ceil(BLOCK as u32) as usize);
        for i in 0..TASKS {
            assert_eq!(queue.first(), Some(TaskId(i)));
            queue.remove(&mut tasks, TaskId(i));
        }
        assert_eq!((queue.first(), queue.rows.len()), (None, 1));
    }
}
