//! rt-app files: threads that run, sleep, wait for timers and for each other.
//!
//! A file becomes a plan of this project's operations:
//!
//! | rt-app | here |
//! |---|---|
//! | `run` | work at the machine's highest clock |
//! | `runtime` | spinning on the clock |
//! | `sleep`, `timer` | sleep, sleep until the next multiple of the period |
//! | `lock`, `unlock` | a mutex whose waiters sleep |
//! | `wait`, `suspend` | post a channel on the board of the condition, wait there |
//! | `signal`, `broad`, `resume`, `sync` | send to all channels on the board, so that nothing is remembered |
//! | `barrier` | a barrier of all threads that name it |
//! | `mem`, `iorun` | bytes of memory, a write to a device (or to nowhere) |
//! | `yield`, `fork` | the same |
//!
//! Properties: `instance`, `delay`, `loop`, `phases`, `cpus`, `policy` and `priority` (normal, batch and
//! idle tasks with their nice value), `dl-runtime` as the custom slice of normal tasks. Everything else is
//! listed as unsupported; a plan is made only if there is nothing in that list, or if the caller says that
//! it may be left out. Differences that change little are listed as notes. The syntax is that of the files
//! that come with rt-app: comments, keys that come twice, a comma too many, keys without a value.

mod parse;
mod plan;
mod relaxed;

use super::tree;
use super::{Better, Mean, Measure, Plan, Report, check};
use crate::error::{InputError, Result};
use crate::machine::Machine;

/// Something in a file that is not simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Where it stands: `tasks.thread0.policy`.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// An rt-app file.
#[derive(Debug, Clone, PartialEq)]
pub struct RtApp {
    path: String,
    threads: Vec<parse::Thread>,
    global: parse::Global,
    unsupported: Vec<Unsupported>,
    notes: Vec<String>,
}

/// What a run of an rt-app file reports: turns of the threads per second.
pub const RTAPP_REPORT: Report = Report {
    metric: "throughput",
    unit: "loops/s",
    better: Better::Higher,
    mean: Mean::Harmonic,
    decimals: 2,
    style: "mmtests",
    row: "file",
    prefix: "",
    measure: Measure::Rate { counter: "loops", scale: 1.0 },
};

impl RtApp {
    /// Reads a file; `path` is for messages.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] with the line for bad syntax,
    /// [`crate::error::Error::InvalidParameter`] that names the key for values of the wrong kind.
    pub fn from_json(text: &str, path: &str) -> Result<Self> {
        let tree = tree::json(&relaxed::strict(text), path)?;
        parse::file(&tree, path)
    }

    /// Returns what is not simulated.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Returns what is simulated a little differently.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Passes if everything in the file is simulated.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] that lists all unsupported keys.
    pub fn supported(&self) -> Result<()> {
        if self.unsupported.is_empty() {
            return Ok(());
        }
        let list: Vec<String> =
            self.unsupported.iter().map(|u| format!("{}: {}", u.key, u.reason)).collect();
        Err(InputError {
            path: self.path.clone(),
            line: None,
            code: "rtapp-unsupported",
            reason: format!("not supported: {}", list.join("; ")),
            excerpt: String::new(),
            remedy: "change these keys, or leave them out: partly=True, --partly".into(),
        }
        .into())
    }

    /// Makes the plan and checks it; with `strict` only if everything in the file is simulated.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] that lists all unsupported keys,
    /// [`crate::error::Error::InvalidParameter`] that names the operation for plans that cannot run.
    pub fn plan(&self, machine: &Machine, strict: bool) -> Result<Plan> {
        if strict {
            self.supported()?;
        }
        let plan = plan::plan(&self.threads, &self.global, machine)?;
        check(&plan, machine)?;
        Ok(plan)
    }
}
