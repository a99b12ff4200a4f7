//! One run queue over time, driven by a script of events or by programs.
//!
//! *Open loop*: events happen when the script says, whatever the policy does. *Closed loop*: each
//! task follows a program, so that who runs when decides what happens next. The CPU is idle at the
//! start, the clock jumps from event to event, and switching costs what [`PathCosts`] says
//! (nothing by default).

use std::fmt::Debug;

use super::closed_loop::ClosedLoop;
use super::cpu::{Cpu, Order};
use super::entity::TaskSpec;
use super::operation::{Event, EventColumns, MAX_TIME, check_events, check_tasks};
use super::program::{PathCosts, Program, check_programs};
use super::record::{Rows, Totals};
use super::runqueue::{Policy, Runqueue, Settings};
use crate::error::{Error, Result};
use crate::watch::Watch;

/// Most rows a timeline records: 29 columns of 8 bytes each make this 1.8 GiB.
pub const MAX_ROWS: usize = 1 << 23;

/// How many operations pass between two looks at the watch.
const LOOK: u64 = 4096;

/// What a timeline needs besides its events or programs.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The policy.
    pub policy: &'static Policy,
    /// Its settings.
    pub settings: Settings,
    /// The tasks.
    pub tasks: Vec<TaskSpec>,
    /// Record a row per operation.
    pub rows: bool,
}

/// The closed loop's own parameters.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    /// The run ends before this time, ns.
    pub until: i64,
    /// First tick, ns.
    pub tick0: i64,
    /// The slice timer fires so long after its expiry, ns.
    pub timer_latency: i64,
    /// Prices of kernel paths.
    pub costs: PathCosts,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Rows, if they were wanted.
    pub rows: Option<Rows>,
    /// Totals per task.
    pub totals: Vec<Totals>,
    /// Operations that were ignored, as the protocol says.
    pub ignored: u64,
    /// Operations that were carried out.
    pub carried_out: u64,
    /// End of the run, ns.
    pub end: i64,
}

impl Scene {
    /// Carries out a script; events at or after `until` are not reached.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] with the index of the first event that is wrong, before anything
    /// runs.
    pub fn run_events(
        &self,
        columns: EventColumns,
        until: Option<i64>,
        watch: &Watch,
    ) -> Result<Outcome> {
        check_tasks(self.policy, &self.tasks)?;
        if let Some(until) = until {
            check_time("until_ns", until)?;
        }
        let events = check_events(self.policy, self.tasks.len(), columns)?;
        if self.rows && events.len() > MAX_ROWS {
            return Err(too_many_rows());
        }
        let end = until.unwrap_or(events.last().map_or(0, |e| e.t));
        let reached = match until {
            Some(until) => events.partition_point(|e| e.t < until),
            None => events.len(),
        };
        self.policy.drive.run_events(self, &events[..reached], end, watch)
    }

    /// Lets the tasks follow their programs.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming program and operation, before anything runs; or naming
    /// `until_ns` when more rows than [`MAX_ROWS`] would be recorded.
    pub fn run_programs(
        &self,
        programs: &[Program],
        parameters: Loop,
        watch: &Watch,
    ) -> Result<Outcome> {
        check_tasks(self.policy, &self.tasks)?;
        check_time("until_ns", parameters.until)?;
        check_time("tick0_ns", parameters.tick0)?;
        check_time("timer_latency_ns", parameters.timer_latency)?;
        parameters.costs.check()?;
        check_programs(self.tasks.len(), programs)?;
        self.policy.drive.run_programs(self, programs, parameters, watch)
    }
}

/// The two loops of a policy, compiled for its run queue: an operation takes tens of ns, of which a
/// call through a table would be a good part.
pub(super) trait Drive: Debug + Sync {
    /// Carries out checked events.
    fn run_events(
        &self,
        scene: &Scene,
        events: &[Event],
        end: i64,
        watch: &Watch,
    ) -> Result<Outcome>;

    /// Lets the tasks follow checked programs.
    fn run_programs(
        &self,
        scene: &Scene,
        programs: &[Program],
        parameters: Loop,
        watch: &Watch,
    ) -> Result<Outcome>;
}

/// The loops on the run queue that the function builds.
#[derive(Debug)]
pub(super) struct On<R>(pub fn(&Settings) -> R);

impl<R> On<R>
where
    R: Runqueue + Debug,
{
    fn cpu(&self, scene: &Scene) -> Cpu<R> {
        Cpu::new(self.0(&scene.settings), &scene.tasks, scene.rows)
    }
}

impl<R> Drive for On<R>
where
    R: Runqueue + Debug,
{
    fn run_events(
        &self,
        scene: &Scene,
        events: &[Event],
        end: i64,
        watch: &Watch,
    ) -> Result<Outcome> {
        let mut cpu = self.cpu(scene);
        for block in events.chunks(LOOK as usize) {
            for &Event { t, op, task, value } in block {
                cpu.carry_out(Order { t, op, task, value, in_kernel: false });
            }
            watch.advance(block.len() as u64)?;
        }
        Ok(outcome(cpu, end))
    }

    fn run_programs(
        &self,
        scene: &Scene,
        programs: &[Program],
        parameters: Loop,
        watch: &Watch,
    ) -> Result<Outcome> {
        let mut run = ClosedLoop::new(self.cpu(scene), scene.settings.tick, programs, parameters);
        while run.step() {
            if run.steps.is_multiple_of(LOOK) {
                watch.advance(LOOK)?;
                if run.cpu.rows.as_ref().is_some_and(|rows| rows.len() > MAX_ROWS) {
                    return Err(too_many_rows());
                }
            }
        }
        Ok(outcome(run.cpu, parameters.until))
    }
}

fn check_time(name: &str, t: i64) -> Result<()> {
    if (0..=MAX_TIME).contains(&t) {
        Ok(())
    } else {
        Err(Error::invalid(name, format!("{t} ns is outside 0 to {MAX_TIME}")))
    }
}

fn too_many_rows() -> Error {
    Error::invalid(
        "until_ns",
        format!("more than {MAX_ROWS} rows; shorten the run or record totals only (rows=False)"),
    )
}

fn outcome<R: Runqueue>(mut cpu: Cpu<R>, end: i64) -> Outcome {
    Outcome {
        rows: cpu.rows.take(),
        totals: cpu.totals(end),
        ignored: cpu.ignored,
        carried_out: cpu.carried_out,
        end,
    }
}
