//! What a trace tells about each idle interval besides its length: what the governor was told and
//! chose, which timer came next, and whether the tick ran.

use super::columns::{Mark, Marks, Switches, Wakeups};
use super::intervals::Intervals;

/// No value.
pub const NONE: i64 = i64::MIN;
/// No recorded choice.
pub const NO_CHOICE: u8 = 255;

/// Columns beside [`Intervals`]; a column is empty when the trace has no events it could come from.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Episodes {
    /// Sleep length the governor was told between the last exit and the entry, ns, or [`NONE`].
    pub told: Vec<i64>,
    /// State the governor chose in that time, or [`NO_CHOICE`].
    pub chosen: Vec<u8>,
    /// Time from the entry to the next timer expiry on the CPU that is no tick, ns, or [`NONE`].
    pub next_timer: Vec<i64>,
    /// The first event inside the interval is a tick.
    pub got_tick: Vec<bool>,
    /// The tick was already stopped when the governor was asked.
    pub tick_stopped: Vec<bool>,
}

/// One step on the time line of a CPU.
#[derive(Clone, Copy)]
enum Step {
    /// The CPU enters the interval of this row.
    Enter(usize),
    /// A row of the marks.
    Mark(usize),
    /// Something wakes a task.
    Wakeup,
    /// The CPU leaves the idle loop for a task.
    Away,
}

#[derive(Clone, Copy)]
struct Cpu {
    told: i64,
    chosen: u8,
    stop_pending: bool,
    stopped: bool,
    /// Row of the interval whose first event is awaited.
    awaiting: Option<usize>,
}

const FRESH: Cpu =
    Cpu { told: NONE, chosen: NO_CHOICE, stop_pending: false, stopped: false, awaiting: None };

/// The tables of a trace, each in the order of time.
pub struct Timeline<'a> {
    /// Idle intervals, in the order of their start.
    pub intervals: &'a Intervals,
    /// Timers, interrupts, probes.
    pub marks: &'a Marks,
    /// Context switches.
    pub switches: &'a Switches,
    /// Wakeups and the waker's side of them.
    pub wakeups: [&'a Wakeups; 2],
}

/// Walks along the time line of every CPU at once.
pub fn build(t: &Timeline) -> Episodes {
    let mut episodes = Episodes::default();
    if t.marks.is_empty() {
        return episodes;
    }
    let n = t.intervals.len();
    let has = |kinds: &[Mark]| t.marks.kind.iter().any(|k| kinds.contains(k));
    let timers = has(&[Mark::Timer, Mark::Tick, Mark::LocalTimer]);
    episodes.told = vec![NONE; if has(&[Mark::Told]) { n } else { 0 }];
    episodes.chosen = vec![NO_CHOICE; if has(&[Mark::Chosen]) { n } else { 0 }];
    episodes.got_tick = vec![false; if timers { n } else { 0 }];
    episodes.tick_stopped = vec![false; if has(&[Mark::TickStop]) { n } else { 0 }];
    episodes.walk(t);
    if timers {
        episodes.next_timer = next_timers(t.intervals, t.marks, has(&[Mark::Timer]));
    }
    episodes
}

/// How far each table has been walked.
#[derive(Default)]
struct Cursor {
    interval: usize,
    mark: usize,
    switch: usize,
    wakeup: [usize; 2],
}

impl Cursor {
    /// The next step of all tables: (time, CPU, step).
    ///
    /// At equal times entries and marks go by their lines; a wakeup follows the interrupt that
    /// causes it, and leaving the idle loop comes last.
    fn next(&mut self, t: &Timeline) -> Option<(i64, u16, Step)> {
        while t.switches.prev_pid.get(self.switch).is_some_and(|&pid| pid != 0) {
            self.switch += 1;
        }
        let at = |times: &[i64], i: usize, line: u32, rank| times.get(i).map(|&t| (t, line, rank));
        let line = |lines: &[u32], i: usize| lines.get(i).copied().unwrap_or(0);
        let (i, m) = (self.interval, self.mark);
        let (_, _, rank) = [
            at(&t.intervals.start, i, line(&t.intervals.line, i), 0),
            at(&t.marks.time, m, line(&t.marks.line, m), 1),
            at(&t.wakeups[0].time, self.wakeup[0], u32::MAX, 2),
            at(&t.wakeups[1].time, self.wakeup[1], u32::MAX, 3),
            at(&t.switches.time, self.switch, u32::MAX, 4),
        ]
        .into_iter()
        .flatten()
        .min()?;
        let take = |cursor: &mut usize| {
            *cursor += 1;
            *cursor - 1
        };
        Some(match rank {
            0 => {
                let i = take(&mut self.interval);
                (t.intervals.start[i], t.intervals.cpu[i], Step::Enter(i))
            }
            1 => {
                let i = take(&mut self.mark);
                (t.marks.time[i], t.marks.cpu[i], Step::Mark(i))
            }
            2 | 3 => {
                let table = rank - 2;
                let i = take(&mut self.wakeup[table]);
                (t.wakeups[table].time[i], t.wakeups[table].cpu[i], Step::Wakeup)
            }
            _ => {
                let i = take(&mut self.switch);
                (t.switches.time[i], t.switches.cpu[i], Step::Away)
            }
        })
    }
}

impl Episodes {
    fn walk(&mut self, t: &Timeline) {
        let mut cpus: Vec<Cpu> = Vec::new();
        let mut cursor = Cursor::default();
        while let Some((time, cpu, step)) = cursor.next(t) {
            let i = usize::from(cpu);
            if i >= cpus.len() {
                cpus.resize(i + 1, FRESH);
            }
            self.step(&mut cpus[i], time, step, t);
        }
    }

    fn step(&mut self, cpu: &mut Cpu, time: i64, step: Step, t: &Timeline) {
        match step {
            Step::Away => *cpu = FRESH,
            Step::Wakeup => cpu.awaiting = None,
            Step::Enter(row) => self.enter(cpu, row),
            Step::Mark(i) => {
                let (kind, value) = (t.marks.kind[i], t.marks.value[i]);
                match kind {
                    Mark::Told => cpu.told = value,
                    // Out of range values were refused where the line was read.
                    Mark::Chosen => cpu.chosen = value as u8,
                    Mark::TickStop => cpu.stop_pending = value == 1,
                    Mark::TimerStart => {}
                    Mark::Tick | Mark::Timer | Mark::LocalTimer | Mark::Irq | Mark::Ipi => {
                        // The interrupt of a timer comes as two lines: wait for the one that names it.
                        let first = cpu.awaiting.take_if(|_| kind != Mark::LocalTimer);
                        self.first_event(first, kind, time, t.intervals);
                    }
                }
            }
        }
    }

    fn enter(&mut self, cpu: &mut Cpu, row: usize) {
        set(&mut self.told, row, cpu.told);
        set(&mut self.chosen, row, cpu.chosen);
        set(&mut self.tick_stopped, row, cpu.stopped);
        // A stop in front of this entry was decided for it: the next question finds the tick stopped.
        cpu.stopped |= cpu.stop_pending;
        *cpu = Cpu { stopped: cpu.stopped, awaiting: Some(row), ..FRESH };
    }

    fn first_event(&mut self, row: Option<usize>, kind: Mark, time: i64, intervals: &Intervals) {
        let Some(row) = row else { return };
        if time <= intervals.end[row] {
            set(&mut self.got_tick, row, kind == Mark::Tick);
        }
    }
}

fn set<T>(column: &mut [T], row: usize, value: T) {
    if let Some(cell) = column.get_mut(row) {
        *cell = value;
    }
}

/// Time from each entry to the next expiry of a timer on its CPU: hindsight.
///
/// `named`: the trace names timer functions, so that ticks can be told from the others; otherwise
/// any local timer interrupt counts.
fn next_timers(intervals: &Intervals, marks: &Marks, named: bool) -> Vec<i64> {
    let wanted = if named { Mark::Timer } else { Mark::LocalTimer };
    let mut next: Vec<i64> = Vec::new(); // per CPU
    let mut found = vec![NONE; intervals.len()];
    let mut m = marks.len();
    for i in (0..intervals.len()).rev() {
        while m > 0 && marks.time[m - 1] >= intervals.start[i] {
            m -= 1;
            if marks.kind[m] == wanted {
                let cpu = usize::from(marks.cpu[m]);
                if cpu >= next.len() {
                    next.resize(cpu + 1, NONE);
                }
                next[cpu] = marks.time[m];
            }
        }
        if let Some(&t) = next.get(usize::from(intervals.cpu[i]))
            && t != NONE
        {
            found[i] = t - intervals.start[i];
        }
    }
    found
}
