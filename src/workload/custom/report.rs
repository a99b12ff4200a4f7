//! What a workload of one's own reports.

use super::field::Field;
use crate::error::Result;
use crate::workload::tree::Tree;
use crate::workload::{Better, Mean, Measure, Plan, Report};

const KEYS: &[&str] = &[
    "metric", "unit", "better", "mean", "decimals", "row", "scale", "q", "of", "rate", "volume",
    "elapsed", "quantile", "per_op", "turn", "best", "share",
];

/// Smallest factor of a report, and the inverse of the largest: with more a figure is no number.
const LEAST_SCALE: f64 = 1e-30;

/// Reads `report`; without one it is the first counter per second, or the time of a run that ends
/// by itself.
pub(super) fn report(root: &Field<'_>) -> Result<Report<String>> {
    let Some(field) = root.get("report")? else {
        let counter = first_count(root)?.filter(|_| !matches!(root.get("limit"), Ok(Some(_))));
        return Ok(match counter {
            Some(counter) => rate(counter),
            None => plain("time", "s", Measure::Elapsed { scale: 1e-9 }),
        });
    };
    field.only(KEYS)?;
    let text = |key: &str, usual: &str| -> Result<String> {
        field.get(key)?.map_or(Ok(usual.to_owned()), |f| Ok(f.text()?.to_owned()))
    };
    let measure = measure(&field)?;
    let rate = matches!(measure, Measure::Rate { .. } | Measure::Volume { .. });
    let better = rate || matches!(measure, Measure::Best { .. } | Measure::Share { .. });
    let words = |key: &str, words: &[&str], usual: usize| -> Result<usize> {
        field.get(key)?.map_or(Ok(usual), |f| f.word(words))
    };
    let better = words("better", &["lower", "higher"], usize::from(better))?;
    let mean = words("mean", &["arithmetic", "harmonic", "median"], usize::from(rate))?;
    let decimals = field.get("decimals")?.map_or(Ok(2), |f| f.integer(0, 12))?;
    if let Some(metric) = field.get("metric")?.filter(|f| f.text() == Ok("")) {
        return Err(metric.wrong("is empty; leave it out, or give the metric a name"));
    }
    Ok(Report {
        metric: text("metric", if rate { "throughput" } else { "value" })?,
        unit: text("unit", "")?,
        better: if better == 1 { Better::Higher } else { Better::Lower },
        mean: [Mean::Arithmetic, Mean::Harmonic, Mean::Median][mean],
        decimals: decimals as u8,
        row: text("row", "case")?,
        ..plain("", "", measure)
    })
}

fn rate(counter: String) -> Report<String> {
    let unit = format!("{counter}/s");
    Report {
        better: Better::Higher,
        mean: Mean::Harmonic,
        decimals: 2,
        ..plain("throughput", &unit, Measure::Rate { counter, scale: 1.0 })
    }
}

/// Returns the first counter in the order of the programs, those inside loops included.
fn first_count(root: &Field<'_>) -> Result<Option<String>> {
    let mut open: Vec<Field<'_>> =
        root.need("programs")?.entries()?.into_iter().map(|(_, field)| field).collect();
    open.reverse();
    while let Some(field) = open.pop() {
        match field.value {
            Tree::List(_) => open.extend(field.items()?.into_iter().rev()),
            Tree::Table(_) => {
                if let Some(count) = field.get("count")? {
                    return Ok(Some(count.text()?.to_owned()));
                }
                open.extend(field.get("do")?);
            }
            _ => {}
        }
    }
    Ok(None)
}

fn plain(metric: &str, unit: &str, measure: Measure<String>) -> Report<String> {
    Report {
        metric: metric.into(),
        unit: unit.into(),
        better: Better::Lower,
        mean: Mean::Arithmetic,
        decimals: 3,
        style: "mmtests".into(),
        row: "case".into(),
        prefix: String::new(),
        measure,
    }
}

fn measure(field: &Field<'_>) -> Result<Measure<String>> {
    let kinds = ["rate", "volume", "elapsed", "quantile", "per_op", "turn", "best", "share"];
    let mut found = field.entries()?.into_iter().filter(|(key, _)| kinds.contains(key));
    let (Some((kind, what)), None) = (found.next(), found.next()) else {
        return Err(field.wrong(format!("needs exactly one of {}", kinds.join(", "))));
    };
    let number = |key: &str, usual: f64| -> Result<f64> {
        field.get(key)?.map_or(Ok(usual), |f| f.number())
    };
    let scale = number("scale", 1.0)?;
    if !(LEAST_SCALE..=1.0 / LEAST_SCALE).contains(&scale) {
        let reason =
            format!("{scale:e} is not between {LEAST_SCALE:e} and {:e}", 1.0 / LEAST_SCALE);
        return Err(
            Field { place: format!("{}.scale", field.place), ..field.clone() }.wrong(reason)
        );
    }
    let name = || -> Result<String> { Ok(what.text()?.to_owned()) };
    Ok(match kind {
        "rate" => Measure::Rate { counter: name()?, scale },
        "volume" => Measure::Volume { counter: name()?, scale },
        "elapsed" => Measure::Elapsed { scale: number("scale", 1e-9)? },
        "quantile" => {
            let q = number("q", 0.99)?;
            if !(0.0..=1.0).contains(&q) {
                return Err(field.wrong(format!("q {q} is not between 0 and 1")));
            }
            Measure::Quantile { latency: name()?, q, scale }
        }
        "per_op" => Measure::PerOp { counter: name()?, scale },
        "turn" => Measure::Turn { counter: name()?, scale },
        "best" => Measure::Best { latency: name()?, scale },
        _ => Measure::Share { counter: name()?, of: field.need("of")?.text()?.to_owned() },
    })
}

/// Refuses a report on something that no program counts.
pub(super) fn exists(root: &Field<'_>, measure: &Measure<String>, plan: &Plan) -> Result<()> {
    let place = || Field { place: format!("{}.report", root.place), value: root.value };
    for counter in measure.counters() {
        if !plan.counters.iter().any(|c| c == counter) {
            let known = plan.counters.join(", ");
            return Err(place().wrong(format!("no program counts {counter:?}; counted: {known}")));
        }
    }
    match measure.latency() {
        Some(latency) if !plan.latencies.iter().any(|l| l == latency) => {
            let known = plan.latencies.join(", ");
            Err(place().wrong(format!("no program records {latency:?}; recorded: {known}")))
        }
        _ => Ok(()),
    }
}
