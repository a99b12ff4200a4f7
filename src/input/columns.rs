//! The columns that events are read into.

use super::names::Names;

/// State column of an idle exit.
pub const EXIT: u8 = 255;
/// State column of a loss: the tracer dropped events of this CPU here.
pub const LOSS: u8 = 254;
/// Deepest state number a `cpu_idle` line can hold; larger ones are damage.
pub const MAX_STATE: u64 = 253;

/// Line number as the tables keep it; saturates.
pub(super) fn short_line(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// Declares a table of equally long columns and how to append, reorder and reserve them.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Clone, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: Vec<$type>,)+ }

        impl $name {
            /// Number of rows.
            pub fn len(&self) -> usize {
                self.time.len()
            }

            /// True without rows.
            pub fn is_empty(&self) -> bool {
                self.time.is_empty()
            }

            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            pub(super) fn push(&mut self, $($field: $type),+) {
                $(self.$field.push($field);)+
            }

            pub(super) fn clear(&mut self) {
                $(self.$field.clear();)+
            }

            pub(super) fn append(&mut self, other: &mut Self) {
                $(self.$field.append(&mut other.$field);)+
            }

            #[allow(dead_code)] // idle events stay in file order
            /// Puts the rows in the order of their time, keeping the order of equal times.
            pub(super) fn sort(&mut self) {
                if self.time.is_sorted() {
                    return;
                }
                let mut order: Vec<u32> = (0..self.len() as u32).collect();
                order.sort_by_key(|&i| self.time[i as usize]);
                $(self.$field = order.iter().map(|&i| self.$field[i as usize]).collect();)+
            }
        }
    };
}

table! {
    /// `cpu_idle` lines in file order, and losses.
    IdleEvents {
        /// Time, ns.
        time: i64,
        /// The CPU the event is about (`cpu_id`).
        cpu: u16,
        /// State entered, [`EXIT`] or [`LOSS`].
        state: u8,
        /// Line number; saturates.
        line: u32,
    }
}
table! {
    /// `sched_switch`.
    Switches {
        /// Time, ns.
        time: i64,
        /// CPU.
        cpu: u16,
        /// Task that leaves.
        prev_pid: i32,
        /// Its name.
        prev_comm: u32,
        /// Its state as printed.
        prev_state: u32,
        /// Task that comes; 0 = the idle task.
        next_pid: i32,
        /// Its name.
        next_comm: u32,
    }
}
table! {
    /// `sched_wakeup`, `sched_wakeup_new`, or `sched_waking`.
    Wakeups {
        /// Time, ns.
        time: i64,
        /// CPU on which the waker ran.
        cpu: u16,
        /// Task that wakes, from the task column; -1 = unknown.
        by_pid: i32,
        /// Its name.
        by_comm: u32,
        /// Task that is woken.
        pid: i32,
        /// Its name.
        comm: u32,
        /// CPU it is put on.
        target_cpu: u16,
        /// A new task (`sched_wakeup_new`).
        new: bool,
    }
}
table! {
    /// `cpu_idle_miss`: the kernel's own verdict.
    Misses {
        /// Time, ns.
        time: i64,
        /// CPU.
        cpu: u16,
        /// State that was entered.
        state: u8,
        /// True = above (too deep), false = below (too shallow).
        above: bool,
    }
}
table! {
    /// `cpu_frequency`.
    Frequencies {
        /// Time, ns.
        time: i64,
        /// CPU.
        cpu: u16,
        /// New frequency, kHz.
        khz: i64,
    }
}
table! {
    /// Timers, interrupts, ticks and return probes: what labels a wakeup and what a governor was told.
    Marks {
        /// Time, ns.
        time: i64,
        /// CPU on which it happened.
        cpu: u16,
        /// What it is.
        kind: Mark,
        /// Function, interrupt or probe name.
        name: u32,
        /// Its number: told sleep length, choice, expiry, success, vector.
        value: i64,
        /// Line number; saturates.
        line: u32,
    }
}

/// What a row of [`Marks`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mark {
    /// Return probe of the sleep length: what the governor was told, ns.
    Told = 0,
    /// Return probe of a governor's select: the state it chose.
    Chosen = 1,
    /// `tick_stop`; value 1 = the tick was stopped.
    TickStop = 2,
    /// `hrtimer_expire_entry` of the tick.
    Tick = 3,
    /// `hrtimer_expire_entry` of another timer; value = now on the timer's clock, ns.
    Timer = 4,
    /// `hrtimer_start`; value = expiry on the timer's clock, ns.
    TimerStart = 5,
    /// `local_timer_entry`.
    LocalTimer = 6,
    /// `irq_handler_entry`; value = interrupt number.
    Irq = 7,
    /// `ipi_entry`, `reschedule_entry`, `call_function_entry`, `call_function_single_entry`.
    Ipi = 8,
}

/// Everything kept of a trace.
#[derive(Debug, Default, Clone)]
pub struct Tables {
    /// Idle entries and exits.
    pub idle: IdleEvents,
    /// Context switches.
    pub switches: Switches,
    /// Wakeups.
    pub wakeups: Wakeups,
    /// The waker's side of wakeups.
    pub wakings: Wakeups,
    /// Verdicts of the kernel.
    pub misses: Misses,
    /// Frequency changes.
    pub frequency: Frequencies,
    /// Timers, interrupts and probes.
    pub marks: Marks,
    /// Task, function and interrupt names.
    pub names: Names,
    /// Spellings of `prev_state`.
    pub states: Names,
    /// Numbers of `names` and `states` in the tables that these were appended to.
    joined: [Vec<u32>; 2],
}

impl Tables {
    /// Moves the rows of the text that follows here; its line numbers start after `offset`.
    ///
    /// `next` keeps its room and its names, so that it can be filled again.
    pub fn append(&mut self, next: &mut Tables, offset: u64) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        for line in next.idle.line.iter_mut().chain(&mut next.marks.line) {
            *line = line.saturating_add(offset);
        }
        let [names, states] = &mut next.joined;
        translate(&mut self.names, &next.names, names);
        translate(&mut self.states, &next.states, states);
        rename(&mut next.switches.prev_comm, names);
        rename(&mut next.switches.next_comm, names);
        rename(&mut next.switches.prev_state, states);
        for wakeups in [&mut next.wakeups, &mut next.wakings] {
            rename(&mut wakeups.by_comm, names);
            rename(&mut wakeups.comm, names);
        }
        rename(&mut next.marks.name, names);
        self.idle.append(&mut next.idle);
        self.switches.append(&mut next.switches);
        self.wakeups.append(&mut next.wakeups);
        self.wakings.append(&mut next.wakings);
        self.misses.append(&mut next.misses);
        self.frequency.append(&mut next.frequency);
        self.marks.append(&mut next.marks);
        if next.names.len() > NAMES_KEPT {
            *next = Tables::default();
        }
    }

    /// Drops the rows; keeps room and names.
    pub fn clear(&mut self) {
        self.idle.clear();
        self.switches.clear();
        self.wakeups.clear();
        self.wakings.clear();
        self.misses.clear();
        self.frequency.clear();
        self.marks.clear();
    }

    /// Puts every table but the idle events in the order of time.
    pub fn sort(&mut self) {
        self.switches.sort();
        self.wakeups.sort();
        self.wakings.sort();
        self.misses.sort();
        self.frequency.sort();
        self.marks.sort();
    }
}

/// Distinct names above which a block forgets its own: they would be kept once per block.
const NAMES_KEPT: usize = 10_000;

/// Numbers the names that are new since the last time; they come in the order of their appearance.
fn translate(into: &mut Names, from: &Names, joined: &mut Vec<u32>) {
    let known = joined.len() as u32;
    joined.extend((known..from.len() as u32).map(|id| into.id(from.get(id))));
}

fn rename(column: &mut [u32], joined: &[u32]) {
    for id in column {
        *id = joined[*id as usize];
    }
}
