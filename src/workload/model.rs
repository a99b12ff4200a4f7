//! A workload as a catalogue entry: its cases on a machine, what it reports, and how a plan is made.

use super::{Parameter, Parameters, Plan, check};
use crate::catalogue::Named;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// One row of the table of a workload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Case {
    /// As the table prints it: `64`, `4-groups`, `2p/16K`.
    pub label: String,
    /// The number behind it: clients, groups, bytes.
    pub value: i64,
}

impl Case {
    /// Returns a case whose label is its number.
    pub fn number(value: i64) -> Self {
        Self { label: value.to_string(), value }
    }

    /// Returns a case with a label of its own.
    pub fn new(label: impl Into<String>, value: i64) -> Self {
        Self { label: label.into(), value }
    }

    /// Returns the value as a number of `things` between 1 and `most`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when it is not.
    pub fn count(&self, things: &str, most: u32) -> Result<u32> {
        match u32::try_from(self.value) {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => {
                let gb = self.value as f64 * check::TASK_BYTES as f64 / 1e9;
                let size = match self.value > i64::from(most) {
                    true => format!("; as many tasks need {gb:.1} GB"),
                    false => String::new(),
                };
                Err(Error::invalid(
                    "case",
                    format!("{:?} is not a number of {things} from 1 to {most}{size}", self.label),
                ))
            }
        }
    }
}

/// Which direction is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// The mean over repeats that the table prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// Arithmetic.
    Arithmetic,
    /// Harmonic.
    Harmonic,
    /// Median.
    Median,
}

/// How the reported figure comes from what a run counted.
///
/// *Span* is the measured window, or the whole run when it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure<S = &'static str> {
    /// Counts per second, times `scale`.
    Rate {
        /// The counter.
        counter: S,
        /// Factor.
        scale: f64,
    },
    /// Counts per second, times the value of the case (bytes of a message), times `scale`.
    Volume {
        /// The counter.
        counter: S,
        /// Factor.
        scale: f64,
    },
    /// Span in ns, times `scale`.
    Elapsed {
        /// Factor.
        scale: f64,
    },
    /// Quantile of a latency in ns, times `scale`.
    Quantile {
        /// The histogram.
        latency: S,
        /// Between 0 and 1.
        q: f64,
        /// Factor.
        scale: f64,
    },
    /// Span in ns per count, times `scale`.
    PerOp {
        /// The counter.
        counter: S,
        /// Factor.
        scale: f64,
    },
    /// Span in ns per count, times the value of the case, times `scale`: the turn of one of so many
    /// clients, or the time that a job of so many operations takes.
    Turn {
        /// The counter.
        counter: S,
        /// Factor.
        scale: f64,
    },
    /// The value of the case divided by the smallest latency in ns, times `scale`: the best
    /// repetition of so many bytes.
    Best {
        /// The histogram.
        latency: S,
        /// Factor.
        scale: f64,
    },
    /// One counter as a part of another.
    Share {
        /// The part.
        counter: S,
        /// The whole.
        of: S,
    },
}

/// What a run counted, as [`Measure::value`] asks for it.
pub trait Outcome {
    /// Returns the value of a counter.
    fn count(&self, counter: &str) -> Option<u64>;
    /// Returns the span in ns.
    fn span(&self) -> i64;
    /// Returns a quantile of a latency in ns; `q` = 0 is the smallest.
    fn quantile(&self, latency: &str, q: f64) -> Option<f64>;
}

impl<S: AsRef<str>> Measure<S> {
    /// Returns the reported figure; NaN when the run counted nothing to compute it from.
    pub fn value(&self, case: &Case, run: &dyn Outcome) -> f64 {
        let ns = run.span() as f64;
        let per = case.value as f64;
        let n = |counter: &S| run.count(counter.as_ref()).map_or(f64::NAN, |n| n as f64);
        let at = |latency: &S, q: f64| run.quantile(latency.as_ref(), q).unwrap_or(f64::NAN);
        let found = match self {
            Self::Rate { counter, scale } => n(counter) / ns * 1e9 * scale,
            Self::Volume { counter, scale } => n(counter) / ns * 1e9 * per * scale,
            Self::Elapsed { scale } => ns * scale,
            Self::Quantile { latency, q, scale } => at(latency, *q) * scale,
            Self::PerOp { counter, scale } => ns / n(counter) * scale,
            Self::Turn { counter, scale } => ns / n(counter) * per * scale,
            Self::Best { latency, scale } => per / at(latency, 0.0) * scale,
            Self::Share { counter, of } => n(counter) / n(of),
        };
        if found.is_finite() { found } else { f64::NAN }
    }

    /// Returns a copy that owns its names.
    fn owned(&self) -> Measure<String> {
        let own = |name: &S| name.as_ref().to_owned();
        match self {
            Self::Rate { counter, scale } => Measure::Rate { counter: own(counter), scale: *scale },
            Self::Volume { counter, scale } => {
                Measure::Volume { counter: own(counter), scale: *scale }
            }
            Self::Elapsed { scale } => Measure::Elapsed { scale: *scale },
            Self::Quantile { latency, q, scale } => {
                Measure::Quantile { latency: own(latency), q: *q, scale: *scale }
            }
            Self::PerOp { counter, scale } => {
                Measure::PerOp { counter: own(counter), scale: *scale }
            }
            Self::Turn { counter, scale } => Measure::Turn { counter: own(counter), scale: *scale },
            Self::Best { latency, scale } => Measure::Best { latency: own(latency), scale: *scale },
            Self::Share { counter, of } => Measure::Share { counter: own(counter), of: own(of) },
        }
    }

    /// Returns the counters it needs.
    pub fn counters(&self) -> Vec<&str> {
        match self {
            Self::Rate { counter, .. }
            | Self::Volume { counter, .. }
            | Self::PerOp { counter, .. }
            | Self::Turn { counter, .. } => vec![counter.as_ref()],
            Self::Share { counter, of } => vec![counter.as_ref(), of.as_ref()],
            Self::Elapsed { .. } | Self::Quantile { .. } | Self::Best { .. } => vec![],
        }
    }

    /// Returns the latency it needs.
    pub fn latency(&self) -> Option<&str> {
        match self {
            Self::Quantile { latency, .. } | Self::Best { latency, .. } => Some(latency.as_ref()),
            _ => None,
        }
    }
}

/// What the benchmark prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report<S = &'static str> {
    /// Name of the metric: `throughput`, `latency`.
    pub metric: S,
    /// Its unit.
    pub unit: S,
    /// What is an improvement.
    pub better: Better,
    /// Mean over repeats.
    pub mean: Mean,
    /// Decimals the table prints.
    pub decimals: u8,
    /// Table style: `mmtests`, `normalised`, `unixbench`, `lmbench`.
    pub style: S,
    /// Heading of the rows: `clients`, `groups`.
    pub row: S,
    /// What MMTests prints before the label of a case: `mb/sec-`, `send-`; empty otherwise.
    pub prefix: S,
    /// How the figure is computed.
    pub measure: Measure<S>,
}

impl<S: AsRef<str>> Report<S> {
    /// Returns a copy that owns its names, as those of user-defined workloads do.
    pub fn owned(&self) -> Report<String> {
        let own = |name: &S| name.as_ref().to_owned();
        Report {
            metric: own(&self.metric),
            unit: own(&self.unit),
            better: self.better,
            mean: self.mean,
            decimals: self.decimals,
            style: own(&self.style),
            row: own(&self.row),
            prefix: own(&self.prefix),
            measure: self.measure.owned(),
        }
    }
}

/// One workload of the catalogue.
#[derive(Debug)]
pub struct WorkloadEntry {
    /// Registered name.
    pub name: &'static str,
    /// Other names, among them those of MMTests.
    pub aliases: &'static [&'static str],
    /// One line for lists.
    pub summary: &'static str,
    /// One paragraph: the task graph, and what sets the result.
    pub essay: &'static str,
    /// The reported figure.
    pub report: Report,
    /// Further figures of the same run.
    pub more: &'static [Report],
    /// How a number is written as a case, `{}-groups`; `None`: only the listed cases exist.
    pub pattern: Option<&'static str>,
    /// Its parameters, besides [`super::COMMON`].
    pub parameters: &'static [Parameter],
    /// The rows of the table on a machine.
    pub cases: fn(&Machine) -> Vec<Case>,
    /// Makes the plan of a case; use [`WorkloadEntry::build`], which checks it.
    pub plan: fn(&Machine, &Case, &Parameters) -> Result<Plan>,
}

impl Named for WorkloadEntry {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
}

impl WorkloadEntry {
    /// Returns the case called `text` on a machine: a label of the table, or a number.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the labels of the table.
    pub fn case(&self, machine: &Machine, text: &str) -> Result<Case> {
        let listed = (self.cases)(machine);
        // Tables print `mb/sec-1` where the case is called `1`.
        let text = text.strip_prefix(self.report.prefix).unwrap_or(text);
        if let Some(case) = listed.iter().find(|c| c.label == text) {
            return Ok(case.clone());
        }
        if let Some(pattern) = self.pattern {
            let (before, after) = pattern.split_once("{}").unwrap_or(("", ""));
            let inner = text.strip_prefix(before).and_then(|t| t.strip_suffix(after));
            if let Ok(value) = inner.unwrap_or(text).parse() {
                return Ok(Case::new(pattern.replace("{}", &format!("{value}")), value));
            }
        }
        let nearest = listed.into_iter().map(|c| c.label).collect();
        Err(Error::UnknownName { kind: "case", name: text.to_owned(), nearest })
    }

    /// Makes the plan of a case and checks it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] that names the parameter, case or operation.
    pub fn build(&self, machine: &Machine, case: &Case, parameters: &Parameters) -> Result<Plan> {
        let plan = (self.plan)(machine, case, parameters)?;
        check(&plan, machine)?;
        Ok(plan)
    }
}

/// Returns the cases 1, 2, 4 ... up to `most`.
pub(super) fn doubling(most: u32) -> Vec<Case> {
    (0..31).map(|i| 1_i64 << i).take_while(|&n| n <= i64::from(most)).map(Case::number).collect()
}

/// Returns the cases `1-groups`, `2-groups` ... up to `most`.
pub(super) fn doubling_of(most: u32, word: &str) -> Vec<Case> {
    doubling(most).into_iter().map(|c| Case::new(format!("{}-{word}", c.label), c.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Run;
    impl Outcome for Run {
        fn count(&self, counter: &str) -> Option<u64> {
            (counter == "ops").then_some(500)
        }
        fn span(&self) -> i64 {
            2_000_000
        }
        fn quantile(&self, latency: &str, q: f64) -> Option<f64> {
            (latency == "wait").then_some(100.0 + 900.0 * q)
        }
    }

    #[test]
    fn five_hundred_operations_in_two_ms_are_250_000_a_second_and_4_us_each() {
        let case = Case::number(10);
        let value = |m: Measure| m.value(&case, &Run);
        assert_eq!(value(Measure::Rate { counter: "ops", scale: 1.0 }), 250_000.0);
        assert_eq!(value(Measure::Volume { counter: "ops", scale: 1e-6 }), 2.5);
        assert_eq!(value(Measure::PerOp { counter: "ops", scale: 1e-3 }), 4.0);
        assert_eq!(value(Measure::Turn { counter: "ops", scale: 1e-3 }), 40.0);
        assert_eq!(value(Measure::Elapsed { scale: 1e-6 }), 2.0);
        assert_eq!(value(Measure::Quantile { latency: "wait", q: 1.0, scale: 1e-3 }), 1.0);
        assert_eq!(value(Measure::Best { latency: "wait", scale: 1.0 }), 0.1);
        assert_eq!(value(Measure::Share { counter: "ops", of: "ops" }), 1.0);
    }

    #[test]
    fn a_figure_without_counts_is_not_a_number() {
        let case = Case::number(1);
        assert!(Measure::Rate { counter: "none", scale: 1.0 }.value(&case, &Run).is_nan());
        assert!(Measure::Best { latency: "none", scale: 1.0 }.value(&case, &Run).is_nan());
    }

    #[test]
    fn rows_double_up_to_the_limit() {
        let labels: Vec<String> = doubling_of(5, "groups").into_iter().map(|c| c.label).collect();
        assert_eq!(labels, ["1-groups", "2-groups", "4-groups"]);
    }
}
