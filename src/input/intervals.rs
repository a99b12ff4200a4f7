//! From idle events to idle intervals, CPU by CPU.
//!
//! An entry opens an interval, an exit closes it. What is not seen is not invented: an open end stays
//! open, an interval that spans a loss is set aside, an exit without an entry is only counted.

use super::columns::{EXIT, IdleEvents, LOSS};
use super::report::{Code, Tally};

/// End of an interval whose exit was not seen.
pub const OPEN: i64 = i64::MIN;

/// Idle intervals: one row each, sorted by start, then CPU.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Intervals {
    /// CPU.
    pub cpu: Vec<u16>,
    /// State entered.
    pub state: Vec<u8>,
    /// Entry, ns.
    pub start: Vec<i64>,
    /// Exit, ns; [`OPEN`] if it was not seen.
    pub end: Vec<i64>,
    /// Line number of the entry; saturates.
    pub line: Vec<u32>,
}

/// CPU, state, start, end, line of the entry.
type Row = (u16, u8, i64, i64, u32);

impl Intervals {
    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.cpu.len()
    }

    /// True without intervals.
    pub fn is_empty(&self) -> bool {
        self.cpu.is_empty()
    }

    fn push(&mut self, row: Row) {
        self.cpu.push(row.0);
        self.state.push(row.1);
        self.start.push(row.2);
        self.end.push(row.3);
        self.line.push(row.4);
    }

    fn row(&self, i: usize) -> Row {
        (self.cpu[i], self.state[i], self.start[i], self.end[i], self.line[i])
    }

    fn sort(&mut self) {
        let key = |s: &Self, i: usize| (s.start[i], s.cpu[i]);
        if (1..self.len()).all(|i| key(self, i - 1) <= key(self, i)) {
            return;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|&i| key(self, i as usize));
        let mut sorted = Self::default();
        for i in order {
            sorted.push(self.row(i as usize));
        }
        *self = sorted;
    }
}

/// The intervals of a trace and what was odd about them.
#[derive(Debug, Default, Clone)]
pub struct Idle {
    /// Intervals, open ones included.
    pub intervals: Intervals,
    /// Intervals that span a loss on their CPU.
    pub broken: Intervals,
    /// CPUs whose first idle event is an exit: idle before the trace began.
    pub head_unknown: u64,
    /// Later exits without an entry.
    pub exit_without_enter: u64,
    /// Exits whose entry fell into a loss.
    pub exit_after_loss: u64,
    /// Entries into idle while idle; the older interval ends there.
    pub reentered: u64,
    /// Intervals without an end.
    pub tail_open: u64,
    /// Intervals that end when they start.
    pub zero: u64,
}

/// What is known about a CPU while its events are walked through.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// Row of the open interval, plus 1.
    open: u32,
    /// A loss fell into the open interval, or lies between the last exit and now.
    loss: bool,
    seen: bool,
}

/// Builds the intervals; exits without entry are also noted in `tally`.
pub fn build(events: &IdleEvents, tally: &mut Tally) -> Idle {
    let mut idle = Idle::default();
    let mut cpus: Vec<Cpu> = Vec::new();
    // Row of an interval, true if it spans a loss.
    let mut spans_loss: Vec<u32> = Vec::new();
    for i in in_time_order(events) {
        let cpu = usize::from(events.cpu[i]);
        if cpu >= cpus.len() {
            cpus.resize(cpu + 1, Cpu::default());
        }
        let at = &mut cpus[cpu];
        let time = events.time[i];
        match events.state[i] {
            LOSS => {
                at.loss = true;
                at.seen = true;
                continue;
            }
            EXIT if at.open > 0 => idle.close(at, time, &mut spans_loss),
            EXIT if at.loss => idle.exit_after_loss += 1,
            EXIT if !at.seen => idle.head_unknown += 1,
            EXIT => {
                idle.exit_without_enter += 1;
                let line = u64::from(events.line[i]);
                tally.note(Code::IdleExitWithoutEnter, line, Some(events.cpu[i]));
            }
            state => {
                if at.open > 0 {
                    if at.loss {
                        spans_loss.push(at.open - 1); // its exit may be among the lost events
                    } else {
                        idle.reentered += 1;
                        idle.close(at, time, &mut spans_loss);
                    }
                }
                idle.intervals.push((events.cpu[i], state, time, OPEN, events.line[i]));
                at.open = idle.intervals.len() as u32;
            }
        }
        at.loss = false;
        at.seen = true;
    }
    let still_open = cpus.iter().filter(|c| c.open > 0 && c.loss);
    spans_loss.extend(still_open.map(|c| c.open - 1));
    idle.set_broken_aside(spans_loss);
    idle.intervals.sort();
    idle.broken.sort();
    idle.tail_open = idle.intervals.end.iter().filter(|&&e| e == OPEN).count() as u64;
    idle.zero = (0..idle.intervals.len())
        .filter(|&i| idle.intervals.end[i] == idle.intervals.start[i])
        .count() as u64;
    idle
}

impl Idle {
    fn close(&mut self, cpu: &mut Cpu, time: i64, spans_loss: &mut Vec<u32>) {
        let row = cpu.open - 1;
        self.intervals.end[row as usize] = time;
        if cpu.loss {
            spans_loss.push(row);
        }
        cpu.open = 0;
    }

    fn set_broken_aside(&mut self, mut rows: Vec<u32>) {
        if rows.is_empty() {
            return;
        }
        rows.sort_unstable();
        let mut kept = Intervals::default();
        for i in 0..self.intervals.len() {
            let row = self.intervals.row(i);
            if rows.binary_search(&(i as u32)).is_ok() {
                self.broken.push(row);
            } else {
                kept.push(row);
            }
        }
        self.intervals = kept;
    }
}

/// Rows in file order if time never goes back on a CPU, else in the order of time.
fn in_time_order(events: &IdleEvents) -> Box<dyn Iterator<Item = usize>> {
    let n = events.len();
    let mut last: Vec<i64> = Vec::new();
    let ordered = (0..n).all(|i| {
        let cpu = usize::from(events.cpu[i]);
        if cpu >= last.len() {
            last.resize(cpu + 1, i64::MIN);
        }
        let fine = events.time[i] >= last[cpu];
        last[cpu] = events.time[i];
        fine
    });
    if ordered {
        return Box::new(0..n);
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&i| events.time[i as usize]);
    Box::new(order.into_iter().map(|i| i as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(rows: &[(i64, u16, u8)]) -> IdleEvents {
        let mut e = IdleEvents::default();
        for (i, &(time, cpu, state)) in rows.iter().enumerate() {
            e.push(time, cpu, state, i as u32 + 1);
        }
        e
    }

    fn rows(i: &Intervals) -> Vec<(u16, u8, i64, i64)> {
        (0..i.len()).map(|n| (i.cpu[n], i.state[n], i.start[n], i.end[n])).collect()
    }

    #[test]
    fn an_entry_while_idle_ends_the_older_interval() {
        let mut tally = Tally::default();
        let idle = build(&events(&[(1, 0, 2), (5, 0, 1), (9, 0, EXIT)]), &mut tally);
        assert_eq!(rows(&idle.intervals), [(0, 2, 1, 5), (0, 1, 5, 9)]);
        assert_eq!(idle.reentered, 1);
    }

    #[test]
    fn a_loss_breaks_the_interval_it_falls_into_and_no_other() {
        let mut tally = Tally::default();
        let list = [
            (1, 0, 2),
            (1, 1, 3),
            (1, 0, LOSS),
            (5, 0, EXIT),
            (6, 1, EXIT),
            (7, 0, 1),
            (9, 0, EXIT),
        ];
        let idle = build(&events(&list), &mut tally);
        assert_eq!(rows(&idle.intervals), [(1, 3, 1, 6), (0, 1, 7, 9)]);
        assert_eq!(rows(&idle.broken), [(0, 2, 1, 5)]);
    }

    #[test]
    fn an_entry_behind_a_loss_does_not_end_the_interval_before_it() {
        let mut tally = Tally::default();
        let idle = build(&events(&[(1, 0, 2), (1, 0, LOSS), (5, 0, 1), (9, 0, EXIT)]), &mut tally);
        assert_eq!(rows(&idle.intervals), [(0, 1, 5, 9)]);
        assert_eq!(rows(&idle.broken), [(0, 2, 1, OPEN)]);
        assert_eq!((idle.reentered, idle.tail_open), (0, 0));
    }

    #[test]
    fn exits_without_entry_are_counted_by_what_explains_them() {
        let mut tally = Tally::default();
        let list = [(1, 0, EXIT), (2, 0, EXIT), (3, 0, LOSS), (4, 0, EXIT), (5, 1, EXIT)];
        let idle = build(&events(&list), &mut tally);
        assert_eq!((idle.head_unknown, idle.exit_without_enter, idle.exit_after_loss), (2, 1, 1));
        assert_eq!(tally.first_refused().unwrap().0.line, 2);
    }

    #[test]
    fn events_out_of_order_are_sorted_per_cpu_and_open_ends_stay_open() {
        let mut tally = Tally::default();
        let idle = build(
            &events(&[(11, 6, EXIT), (9, 6, 1), (50, 6, 0), (10, 0, 2), (70, 6, EXIT)]),
            &mut tally,
        );
        assert_eq!(rows(&idle.intervals), [(6, 1, 9, 11), (0, 2, 10, OPEN), (6, 0, 50, 70)]);
        assert_eq!(idle.tail_open, 1);
    }
}
