//! The only error type of the core.
//!
//! Every variant says what was wrong, the value, and what would be right. The run has not started
//! (or its partial result is dropped) whenever one of these is returned: nothing is half done.

/// Shorthand used all over the core.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with something that came from outside.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A name that no catalogue entry has.
    #[error("unknown {kind} {name:?}; {}", nearest_text(.nearest))]
    UnknownName {
        /// The family: `governor`, `machine`, `policy` ...
        kind: &'static str,
        /// The name as the caller wrote it.
        name: String,
        /// The nearest registered names, best first.
        nearest: Vec<String>,
    },
    /// A value outside its range.
    #[error("{name}: {reason}")]
    InvalidParameter {
        /// The parameter as the Python user spells it, with the index where there is one.
        name: String,
        /// What was given, what is expected.
        reason: String,
    },
    /// Arrays that do not belong together.
    #[error("{name}: expected length {expected}, found {found}")]
    Shape {
        /// The argument.
        name: String,
        /// The length the other arguments have.
        expected: usize,
        /// Its own length.
        found: usize,
    },
    /// A file that cannot be read as what it should be.
    #[error("{0}")]
    Input(Box<InputError>),
    /// The caller asked to stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// Where a file is wrong, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The file as the caller named it.
    pub path: String,
    /// Line number counted from 1, when a line is to blame.
    pub line: Option<u64>,
    /// Short fixed word for programs, e.g. `time-unit-unknown`.
    pub code: &'static str,
    /// The reason in words, without the place.
    pub reason: String,
    /// The first 80 characters of the line, or empty.
    pub excerpt: String,
    /// What the user can do, or empty.
    pub remedy: String,
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.reason)?;
        if !self.excerpt.is_empty() {
            write!(f, ": {:?}", self.excerpt)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl Error {
    /// Shorthand for [`Error::InvalidParameter`].
    pub fn invalid(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::InvalidParameter { name: name.into(), reason: reason.into() }
    }
}

impl From<InputError> for Error {
    fn from(e: InputError) -> Self {
        Error::Input(Box::new(e))
    }
}

fn nearest_text(nearest: &[String]) -> String {
    match nearest {
        [] => "no registered name is near".into(),
        names => format!("nearest: {}", names.join(", ")),
    }
}
