//! Workloads that are not in the catalogue: a definition, or an rt-app file.

use super::{Case, Definition, Plan, RTAPP_REPORT, Report, RtApp};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// A workload of a user.
#[derive(Debug, Clone, PartialEq)]
pub enum Own {
    /// A definition.
    Defined(Definition),
    /// An rt-app file.
    RtApp {
        /// What it is called.
        name: String,
        /// What was read.
        file: RtApp,
    },
}

impl Own {
    /// Reads a definition, and makes the plan of its first case to see whether it can run.
    ///
    /// # Errors
    /// As [`Definition::from_toml`] and [`Definition::plan`].
    pub fn toml(text: &str, path: &str, name: &str) -> Result<Self> {
        Self::defined(Definition::from_toml(text, path)?, name)
    }

    /// The same from JSON.
    ///
    /// # Errors
    /// As [`Own::toml`].
    pub fn json(text: &str, path: &str, name: &str) -> Result<Self> {
        Self::defined(Definition::from_json(text, path)?, name)
    }

    fn defined(mut definition: Definition, name: &str) -> Result<Self> {
        if definition.name.is_empty() {
            name.clone_into(&mut definition.name);
        }
        if definition.cases.is_empty() {
            return Err(Error::invalid("workload.cases", "at least one case is needed"));
        }
        definition.try_out()?;
        Ok(Self::Defined(definition))
    }

    /// Reads an rt-app file; `partly` allows to leave out what is not supported.
    ///
    /// # Errors
    /// As [`RtApp::from_json`] and [`RtApp::supported`].
    pub fn rtapp(text: &str, path: &str, name: &str, partly: bool) -> Result<Self> {
        let file = RtApp::from_json(text, path)?;
        if !partly {
            file.supported()?;
        }
        Ok(Self::RtApp { name: name.to_owned(), file })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Defined(d) => &d.name,
            Self::RtApp { name, .. } => name,
        }
    }

    /// Returns one line about it.
    pub fn summary(&self) -> &str {
        match self {
            Self::Defined(d) if d.summary.is_empty() => "a workload of one's own",
            Self::Defined(d) => &d.summary,
            Self::RtApp { .. } => "threads of an rt-app file",
        }
    }

    /// Returns what differs from what was written down.
    pub fn notes(&self) -> Vec<String> {
        let Self::RtApp { file, .. } = self else { return Vec::new() };
        let left_out = file.unsupported().iter().map(|u| format!("{}: {}", u.key, u.reason));
        left_out
            .map(|text| format!("left out: {text}"))
            .chain(file.notes().iter().cloned())
            .collect()
    }

    /// Returns its cases.
    pub fn cases(&self) -> Vec<Case> {
        match self {
            Self::Defined(d) => d.cases.clone(),
            Self::RtApp { name, .. } => vec![Case::new(name.clone(), 1)],
        }
    }

    /// Returns the case called `text`: a label, or for a definition any integer.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the labels.
    pub fn case(&self, text: &str) -> Result<Case> {
        let listed = self.cases();
        if let Some(case) = listed.iter().find(|c| c.label == text) {
            return Ok(case.clone());
        }
        match (self, text.parse()) {
            (Self::Defined(_), Ok(value)) => Ok(Case::number(value)),
            (Self::RtApp { .. }, Ok(1_i64)) => Ok(listed[0].clone()),
            _ => {
                let nearest = listed.into_iter().map(|c| c.label).collect();
                Err(Error::UnknownName { kind: "case", name: text.to_owned(), nearest })
            }
        }
    }

    /// Returns what it reports.
    pub fn report(&self) -> Report<String> {
        match self {
            Self::Defined(d) => d.report.clone(),
            Self::RtApp { .. } => RTAPP_REPORT.owned(),
        }
    }

    /// Makes the plan of a case and checks it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] that names the field, key or operation.
    pub fn plan(&self, machine: &Machine, case: &Case) -> Result<Plan> {
        match self {
            Self::Defined(d) => d.plan(machine, case),
            Self::RtApp { file, .. } => file.plan(machine, false),
        }
    }
}
