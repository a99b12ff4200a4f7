//! Slices of the waiting tasks: the shortest and the longest, at any time.
//!
//! Most queues never see a task with a slice of its own, and those that do see few different ones,
//! so that a sorted list of the different slices with their counts is short.

/// How many tasks wait with which slice.
#[derive(Debug, Default)]
pub(super) struct Slices {
    /// Tasks with a slice of their own: slice in ns and how many have it, sorted.
    own: Vec<(u32, u32)>,
    /// Tasks with the base slice.
    base: u32,
}

impl Slices {
    /// Counts a task in; `own` is its slice if it is not the base slice.
    #[inline]
    pub fn add(&mut self, own: Option<u32>) {
        let Some(slice) = own else {
            self.base += 1;
            return;
        };
        match self.own.binary_search_by_key(&slice, |&(slice, _)| slice) {
            Ok(at) => self.own[at].1 += 1,
            Err(at) => self.own.insert(at, (slice, 1)),
        }
    }

    /// Counts a task out that was counted in with the same slice.
    #[inline]
    pub fn take(&mut self, own: Option<u32>) {
        let Some(slice) = own else {
            self.base -= 1;
            return;
        };
        if let Ok(at) = self.own.binary_search_by_key(&slice, |&(slice, _)| slice) {
            self.own[at].1 -= 1;
            if self.own[at].1 == 0 {
                self.own.remove(at);
            }
        }
    }

    /// Returns the shortest and the longest slice, ns, if any task waits.
    pub fn extremes(&self, base_slice: u32) -> Option<(u32, u32)> {
        let base = (self.base > 0).then_some(base_slice);
        let shortest = self.own.first().map(|&(slice, _)| slice).into_iter().chain(base).min()?;
        let longest = self.own.last().map(|&(slice, _)| slice).into_iter().chain(base).max()?;
        Some((shortest, longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extremes_are_those_of_the_tasks_that_are_left() {
        let mut slices = Slices::default();
        assert_eq!(slices.extremes(700), None);
        slices.add(None);
        for slice in [300, 900, 300] {
            slices.add(Some(slice));
        }
        assert_eq!(slices.extremes(700), Some((300, 900)));
        slices.take(Some(900));
        slices.take(Some(300));
        assert_eq!(slices.extremes(700), Some((300, 700)));
        slices.take(Some(300));
        assert_eq!(slices.extremes(700), Some((700, 700)));
        slices.take(None);
        assert_eq!(slices.extremes(700), None);
    }
}
