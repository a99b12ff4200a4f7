//! Workloads of one's own: a definition as TOML, or as JSON, which the Python side makes of dictionaries.
//!
//! ```toml
//! name = "echo"
//! cases = [1, 2, 4]
//! report = { rate = "answers", unit = "1/s" }
//!
//! [channels]
//! request = { per = "group" }
//! answer = { per = "group" }
//!
//! [programs]
//! client = [{ run = "2 us" }, { send = "request" }, { receive = "answer" }, { count = "answers" }]
//! server = [{ receive = "request" }, { kernel = "1 us", uniform = 0.1 }, { send = "answer" }]
//!
//! [[tasks]]
//! program = "client"
//! groups = "case"
//!
//! [[tasks]]
//! program = "server"
//! groups = "case"
//! ```
//!
//! Things are named. A channel or lock exists once, or once `per` group or task. Times are integers in
//! ns or texts with a unit, sizes integers in bytes or texts with a unit, numbers of things integers or
//! products with `case` and `ncpus`.

mod build;
mod field;
mod ops;
mod report;
mod things;

use super::tree::{self, Tree};
use super::{Case, Measure, Plan, Report, check};
use crate::error::Result;
use crate::machine::{Machine, presets};
use field::Field;

/// Keys of a definition.
const KEYS: &[&str] = &[
    "name", "summary", "cases", "report", "channels", "locks", "lines", "barriers", "boards",
    "devices", "tables", "programs", "tasks", "spare", "warmup", "window", "limit", "layout",
    "paths",
];

/// A machine to try definitions out on; any would do.
const TRIAL: &str = "8x-SKYLAKE-UMA";

/// A workload that a user has defined.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// One line about it, or empty.
    pub summary: String,
    /// Its cases.
    pub cases: Vec<Case>,
    /// What it reports.
    pub report: Report<String>,
    tree: Tree,
}

impl Definition {
    /// Reads a definition in TOML; `path` is for messages.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] for bad TOML, [`crate::error::Error::InvalidParameter`] that
    /// names the field for everything else.
    pub fn from_toml(text: &str, path: &str) -> Result<Self> {
        Self::new(tree::toml(text, path)?)
    }

    /// Reads a definition in JSON; `path` is for messages.
    ///
    /// # Errors
    /// As [`Definition::from_toml`].
    pub fn from_json(text: &str, path: &str) -> Result<Self> {
        Self::new(tree::json(text, path)?)
    }

    fn new(tree: Tree) -> Result<Self> {
        let root = Field::new("workload", &tree);
        root.only(KEYS)?;
        let text = |key: &str| -> Result<String> {
            root.get(key)?.map_or(Ok(String::new()), |f| Ok(f.text()?.to_owned()))
        };
        let cases = match root.get("cases")? {
            Some(list) => list
                .items()?
                .iter()
                .map(|f| f.integer(0, i64::MAX).map(Case::number))
                .collect::<Result<_>>()?,
            None => vec![Case::number(1)],
        };
        let definition = Self {
            name: text("name")?,
            summary: text("summary")?,
            cases,
            report: report::report(&root)?,
            tree: Tree::Null,
        };
        Ok(Self { tree, ..definition })
    }

    /// Makes the plan of a case and checks it.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidParameter`] that names the field or the operation.
    pub fn plan(&self, machine: &Machine, case: &Case) -> Result<Plan> {
        let root = Field::new("workload", &self.tree);
        let plan = build::plan(&root, machine, case)?;
        report::exists(&root, &self.report.measure, &plan)?;
        check(&plan, machine)?;
        Ok(plan)
    }

    /// Makes the plan of the first case on some machine to see whether it can run.
    ///
    /// # Errors
    /// As [`Definition::plan`]; which CPUs tasks may use is not checked, it depends on the machine.
    pub(in crate::workload) fn try_out(&self) -> Result<()> {
        let machine = presets::machine(TRIAL)?;
        let Some(case) = self.cases.first() else { return Ok(()) };
        let root = Field::new("workload", &self.tree);
        let mut plan = build::plan(&root, &machine, case)?;
        report::exists(&root, &self.report.measure, &plan)?;
        for task in &mut plan.tasks {
            task.affinity = None;
        }
        plan.affinities.clear();
        check(&plan, &machine)
    }

    /// Returns how the reported figure is computed.
    pub fn measure(&self) -> &Measure<String> {
        &self.report.measure
    }
}
