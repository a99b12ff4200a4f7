//! Idle periods as columns: what was known when the CPU went idle, and what happened then.
//!
//! A column is one number for all periods or a slice with one value each, so that a default costs
//! no memory. [`Periods::new`] checks everything once; nothing after it can fail.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result};

/// A latency limit that forbids nothing: the kernel's default of 2,000,000,000 us.
pub const NO_LATENCY_LIMIT: i64 = 2_000_000_000_000;

/// One value per period, or one value for all of them.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a, T> {
    /// The same value in every period.
    Scalar(T),
    /// One value per period.
    Slice(&'a [T]),
}

impl<T: Copy> Column<'_, T> {
    fn len(&self) -> Option<usize> {
        match self {
            Column::Scalar(_) => None,
            Column::Slice(s) => Some(s.len()),
        }
    }

    fn get(&self, i: usize) -> T {
        match self {
            Column::Scalar(v) => *v,
            Column::Slice(s) => s[i],
        }
    }

    /// Calls `put(place in the block, value)` for every value of a slice; scalars are in the template.
    fn scatter(&self, at: impl Fn(usize) -> usize, n: usize, mut put: impl FnMut(usize, T)) {
        if let Column::Slice(s) = self {
            for k in 0..n {
                put(k, s[at(k)]);
            }
        }
    }
}

/// The columns of [`Periods`] before they are checked. Times in ns; flags are true when not zero.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// Time to the next timer with the tick ignored. May be negative.
    pub sleep_length: Column<'a, i64>,
    /// Time from entry to the wake event.
    pub wake: Column<'a, i64>,
    /// Time to the next programmed event, tick included. May be negative. None: the sleep length,
    /// at most one tick while the tick runs.
    pub delta_tick: Option<Column<'a, i64>>,
    /// Longest exit latency allowed.
    pub latency_limit: Column<'a, i64>,
    /// Clock time between the two clock readings of a governor beyond the residency.
    pub overhead: Column<'a, i64>,
    /// Tasks in I/O wait that last ran on this CPU.
    pub nr_iowait: Column<'a, u32>,
    /// Scheduler utilisation of the CPU, 0..1024.
    pub cpu_util: Column<'a, u32>,
    /// Run-queue weight as the load average sees it; 2048 is a load of 1.
    pub cpu_load: Column<'a, u32>,
    /// Bit i set: state i is disabled, in addition to what the table says.
    pub disabled: Column<'a, u16>,
    /// The tick is already stopped when the governor is asked.
    pub tick_stopped: Column<'a, u8>,
    /// The tick woke the CPU. None: it did if the CPU slept until the next programmed event and
    /// that event was not the timer itself.
    pub got_tick: Option<Column<'a, u8>>,
    /// The polling loop gave up; read only when a polling state was entered.
    pub poll_timeout: Column<'a, u8>,
    /// The driver refused the state.
    pub rejected: Column<'a, u8>,
    /// Number of the CPU; any number, in any order.
    pub cpu: Column<'a, u32>,
}

impl<'a> Columns<'a> {
    /// Two columns, and the default for everything else.
    pub fn new(sleep_length: Column<'a, i64>, wake: Column<'a, i64>) -> Self {
        Self {
            sleep_length,
            wake,
            delta_tick: None,
            latency_limit: Column::Scalar(NO_LATENCY_LIMIT),
            overhead: Column::Scalar(0),
            nr_iowait: Column::Scalar(0),
            cpu_util: Column::Scalar(0),
            cpu_load: Column::Scalar(0),
            disabled: Column::Scalar(0),
            tick_stopped: Column::Scalar(0),
            got_tick: None,
            poll_timeout: Column::Scalar(0),
            rejected: Column::Scalar(0),
            cpu: Column::Scalar(0),
        }
    }

    fn lengths(&self) -> [(&'static str, Option<usize>); 14] {
        [
            ("sleep_length_ns", self.sleep_length.len()),
            ("wake_ns", self.wake.len()),
            ("delta_tick_ns", self.delta_tick.and_then(|c| c.len())),
            ("latency_limit_ns", self.latency_limit.len()),
            ("overhead_ns", self.overhead.len()),
            ("nr_iowait", self.nr_iowait.len()),
            ("cpu_util", self.cpu_util.len()),
            ("cpu_load", self.cpu_load.len()),
            ("disabled", self.disabled.len()),
            ("tick_stopped", self.tick_stopped.len()),
            ("got_tick", self.got_tick.and_then(|c| c.len())),
            ("poll_timeout", self.poll_timeout.len()),
            ("rejected", self.rejected.len()),
            ("cpu", self.cpu.len()),
        ]
    }
}

/// One idle period with every default filled in. Fields as in [`Columns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // documented in `Columns`
pub struct Period {
    pub sleep_length: i64,
    pub wake: i64,
    pub delta_tick: i64,
    pub latency_limit: i64,
    pub overhead: i64,
    pub nr_iowait: u32,
    pub cpu_util: u32,
    pub cpu_load: u32,
    pub disabled: u16,
    pub tick_stopped: bool,
    pub got_tick: bool,
    pub poll_timeout: bool,
    pub rejected: bool,
}

/// Checked columns of idle periods.
#[derive(Debug, Clone, Copy)]
pub struct Periods<'a> {
    columns: Columns<'a>,
    len: usize,
}

impl<'a> Periods<'a> {
    /// Checks the columns; scalars alone make one period.
    ///
    /// # Errors
    /// [`Error::Shape`] for slices of unequal length, [`Error::InvalidParameter`] with the index for
    /// a negative time where none can be, and for more periods than 32 bits can number.
    pub fn new(columns: Columns<'a>) -> Result<Self> {
        let slices = columns.lengths();
        let len = slices.iter().find_map(|&(_, n)| n).unwrap_or(1);
        for (name, found) in slices {
            if let Some(found) = found.filter(|&n| n != len) {
                return Err(Error::Shape { name: name.into(), expected: len, found });
            }
        }
        if u32::try_from(len).is_err() {
            let reason = format!("{len} periods are too many for one call, split them");
            return Err(Error::invalid("sleep_length_ns", reason));
        }
        for (name, column) in [
            ("wake_ns", &columns.wake),
            ("latency_limit_ns", &columns.latency_limit),
            ("overhead_ns", &columns.overhead),
        ] {
            refuse_negative(name, column)?;
        }
        Ok(Self { columns, len })
    }

    /// Number of periods.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without a single period.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if the driver refused the state in period `i`.
    pub fn is_rejected(&self, i: usize) -> bool {
        self.columns.rejected.get(i) != 0
    }

    /// What all scalars say; the starting content of every block given to [`Periods::gather`].
    pub fn template(&self) -> Period {
        let c = &self.columns;
        fn of<T: Copy + Default>(column: &Column<'_, T>) -> T {
            match column {
                Column::Scalar(v) => *v,
                Column::Slice(_) => T::default(),
            }
        }
        Period {
            sleep_length: of(&c.sleep_length),
            wake: of(&c.wake),
            delta_tick: c.delta_tick.as_ref().map_or(0, of),
            latency_limit: of(&c.latency_limit),
            overhead: of(&c.overhead),
            nr_iowait: of(&c.nr_iowait),
            cpu_util: of(&c.cpu_util),
            cpu_load: of(&c.cpu_load),
            disabled: of(&c.disabled),
            tick_stopped: of(&c.tick_stopped) != 0,
            got_tick: c.got_tick.as_ref().map_or(0, of) != 0,
            poll_timeout: of(&c.poll_timeout) != 0,
            rejected: of(&c.rejected) != 0,
        }
    }

    /// Fills `block[k]` with period `at(k)`, defaults included.
    ///
    /// Column by column, so that the choice between scalar and slice is made once per block; `block`
    /// must have been filled with [`Periods::template`] once. `tick` is the length of a tick in ns:
    /// periods carry no phase, so the next tick is taken to be one tick away.
    pub fn gather(&self, at: impl Fn(usize) -> usize + Copy, tick: i64, block: &mut [Period]) {
        let (c, n) = (&self.columns, block.len());
        c.sleep_length.scatter(at, n, |k, v| block[k].sleep_length = v);
        c.wake.scatter(at, n, |k, v| block[k].wake = v);
        c.latency_limit.scatter(at, n, |k, v| block[k].latency_limit = v);
        c.overhead.scatter(at, n, |k, v| block[k].overhead = v);
        c.nr_iowait.scatter(at, n, |k, v| block[k].nr_iowait = v);
        c.cpu_util.scatter(at, n, |k, v| block[k].cpu_util = v);
        c.cpu_load.scatter(at, n, |k, v| block[k].cpu_load = v);
        c.disabled.scatter(at, n, |k, v| block[k].disabled = v);
        c.tick_stopped.scatter(at, n, |k, v| block[k].tick_stopped = v != 0);
        c.poll_timeout.scatter(at, n, |k, v| block[k].poll_timeout = v != 0);
        c.rejected.scatter(at, n, |k, v| block[k].rejected = v != 0);
        match c.delta_tick {
            Some(column) => column.scatter(at, n, |k, v| block[k].delta_tick = v),
            None => block.iter_mut().for_each(|p| {
                p.delta_tick =
                    if p.tick_stopped { p.sleep_length } else { p.sleep_length.min(tick) };
            }),
        }
        match c.got_tick {
            Some(column) => column.scatter(at, n, |k, v| block[k].got_tick = v != 0),
            None => block.iter_mut().for_each(|p| {
                p.got_tick = p.wake >= p.delta_tick && p.delta_tick < p.sleep_length;
            }),
        }
    }

    /// Sorts the periods by CPU, keeping their order within each.
    pub fn by_cpu(&self) -> CpuOrder {
        let Column::Slice(cpus) = self.columns.cpu else {
            return CpuOrder::one(self.columns.cpu.get(0), self.len);
        };
        let mut slots = Slots::default();
        let mut place: Vec<u32> = cpus.iter().map(|&cpu| slots.count(cpu)).collect();
        let Slots { numbers, counts, .. } = slots;
        if numbers.len() < 2 {
            return CpuOrder::one(numbers.first().copied().unwrap_or(0), self.len);
        }
        let mut ranges = Vec::with_capacity(counts.len());
        let mut next = 0;
        for count in counts {
            ranges.push(next..next + count);
            next += count;
        }
        let mut free: Vec<u32> = ranges.iter().map(|r| r.start as u32).collect();
        let mut index = vec![0; self.len];
        for (i, slot) in place.iter_mut().enumerate() {
            let free = &mut free[*slot as usize];
            *slot = *free;
            index[*free as usize] = i as u32;
            *free += 1;
        }
        CpuOrder { numbers, ranges, sorted: Some(Sorted { index, place }) }
    }
}

/// CPU numbers below this find their slot in a table, larger ones in a map.
const SMALL_CPU: usize = 1 << 16;

/// A slot for every CPU number, in order of first appearance.
#[derive(Default)]
struct Slots {
    numbers: Vec<u32>,
    counts: Vec<usize>,
    small: Vec<Option<u32>>,
    large: HashMap<u32, u32>,
}

impl Slots {
    /// Counts a period of `cpu` and returns the slot.
    #[inline]
    fn count(&mut self, cpu: u32) -> u32 {
        let slot = match self.small.get(cpu as usize) {
            Some(Some(slot)) => *slot,
            _ => self.find_or_add(cpu),
        };
        self.counts[slot as usize] += 1;
        slot
    }

    fn find_or_add(&mut self, cpu: u32) -> u32 {
        let new = self.numbers.len() as u32;
        let slot = if (cpu as usize) < SMALL_CPU {
            let size = self.small.len().max(cpu as usize + 1);
            self.small.resize(size, None);
            *self.small[cpu as usize].get_or_insert(new)
        } else {
            *self.large.entry(cpu).or_insert(new)
        };
        if slot == new {
            self.numbers.push(cpu);
            self.counts.push(0);
        }
        slot
    }
}

/// Periods sorted by CPU.
#[derive(Debug)]
pub struct CpuOrder {
    /// CPU numbers in order of first appearance.
    pub numbers: Vec<u32>,
    /// Where the periods of each CPU lie in the sorted order.
    pub ranges: Vec<Range<usize>>,
    /// The sorted order; None when it is that of the periods.
    pub sorted: Option<Sorted>,
}

/// An order and its inverse.
#[derive(Debug)]
pub struct Sorted {
    /// Index of the period at each place.
    pub index: Vec<u32>,
    /// Place of each period.
    pub place: Vec<u32>,
}

impl CpuOrder {
    fn one(number: u32, len: usize) -> Self {
        Self { numbers: vec![number], ranges: std::iter::once(0..len).collect(), sorted: None }
    }

    /// The index of the period at `place`.
    #[inline]
    pub fn index(&self, place: usize) -> usize {
        self.sorted.as_ref().map_or(place, |s| s.index[place] as usize)
    }
}

fn refuse_negative(name: &str, column: &Column<'_, i64>) -> Result<()> {
    let (index, value) = match column {
        Column::Scalar(v) if *v < 0 => (String::new(), *v),
        Column::Slice(s) => match s.iter().position(|&v| v < 0) {
            Some(i) => (format!("[{i}]"), s[i]),
            None => return Ok(()),
        },
        Column::Scalar(_) => return Ok(()),
    };
    Err(Error::invalid(format!("{name}{index}"), format!("{value} ns is negative")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns<'a>(sl: &'a [i64], wake: &'a [i64]) -> Columns<'a> {
        Columns::new(Column::Slice(sl), Column::Slice(wake))
    }

    fn gathered(periods: &Periods<'_>, tick: i64) -> Vec<Period> {
        let mut block = vec![periods.template(); periods.len()];
        periods.gather(|k| k, tick, &mut block);
        block
    }

    #[test]
    fn the_next_event_defaults_to_the_timer_but_at_most_one_tick_while_the_tick_runs() {
        let mut c = columns(&[9_000_000, 9_000_000, 1_000, -5], &[0; 4]);
        c.tick_stopped = Column::Slice(&[0, 1, 0, 0]);
        let block = gathered(&Periods::new(c).unwrap(), 4_000_000);
        let found: Vec<i64> = block.iter().map(|p| p.delta_tick).collect();
        assert_eq!(found, [4_000_000, 9_000_000, 1_000, -5]);
    }

    #[test]
    fn the_tick_is_taken_to_wake_only_when_it_comes_first_and_is_slept_to() {
        let c = columns(&[9_000_000, 9_000_000, 1_000], &[4_000_000, 3_999_999, 1_000]);
        let block = gathered(&Periods::new(c).unwrap(), 4_000_000);
        let found: Vec<bool> = block.iter().map(|p| p.got_tick).collect();
        assert_eq!(found, [true, false, false]);
    }

    #[test]
    fn unequal_lengths_name_the_column() {
        let mut c = columns(&[1, 2], &[1, 2]);
        c.nr_iowait = Column::Slice(&[0, 0, 0]);
        let error = Periods::new(c).unwrap_err();
        assert_eq!(error, Error::Shape { name: "nr_iowait".into(), expected: 2, found: 3 });
    }

    #[test]
    fn a_negative_wake_names_its_index_but_a_negative_sleep_length_is_fine() {
        let error = Periods::new(columns(&[-1, -1], &[5, -7])).unwrap_err();
        assert_eq!(error.to_string(), "wake_ns[1]: -7 ns is negative");
        assert!(Periods::new(columns(&[-1, i64::MIN], &[5, 7])).is_ok());
    }

    #[test]
    fn sparse_unsorted_cpus_keep_the_order_of_their_own_periods() {
        let mut c = columns(&[0; 5], &[0; 5]);
        c.cpu = Column::Slice(&[4_000_000_000, 7, 4_000_000_000, 0, 7]);
        let sorted = Periods::new(c).unwrap().by_cpu();
        assert_eq!(sorted.numbers, [4_000_000_000, 7, 0]);
        let periods: Vec<Vec<usize>> = sorted
            .ranges
            .iter()
            .map(|r| r.clone().map(|place| sorted.index(place)).collect())
            .collect();
        assert_eq!(periods, [vec![0, 2], vec![1, 4], vec![3]]);
    }
}
