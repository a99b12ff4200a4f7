//! A machine as a model: its CPUs by class, their idle tables, and where the numbers are from.

use serde::Deserialize;

use super::{IdleState, IdleTable};
use crate::error::{Error, Result};

/// A machine, read from a preset file.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Registered name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// One line for people.
    pub summary: String,
    /// Logical CPUs.
    pub ncpus: u32,
    /// Tick rate of the bare machine, CONFIG_HZ.
    pub hz: u32,
    /// CPUs with the same idle table; one class unless the machine is a hybrid.
    pub classes: Vec<CpuClass>,
    /// Power of one busy core, mW, when the machine has power numbers.
    pub active_mw: Option<f64>,
    /// Where the numbers come from, one sentence each.
    pub sources: Vec<String>,
}

/// CPUs that share an idle table.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuClass {
    /// Name of the class, empty when there is only one.
    pub name: String,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// What the governor sees.
    pub table: IdleTable,
    /// Model of the actual time from wake event to first instruction per state, ns.
    pub wake: Vec<i64>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    desc: String,
    topo: Topo,
    idle: Idle,
    power: Power,
    os: Os,
    #[serde(default)]
    state: Vec<State>,
    #[serde(default)]
    cpu_class: Vec<Class>,
}

#[derive(Deserialize)]
struct Topo {
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
}

#[derive(Deserialize)]
struct Idle {
    driver: String,
    table: String,
}

#[derive(Deserialize)]
struct Power {
    known: bool,
    core_active_w: f64,
    src: String,
}

#[derive(Deserialize)]
struct Os {
    hz: u32,
    src: String,
}

#[derive(Deserialize)]
struct Class {
    name: String,
    cpus: Vec<u32>,
    state: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    name: String,
    polling: bool,
    exit_us: f64,
    residency_us: f64,
    wake_us: f64,
    power_w: f64,
    src: String,
}

/// Parses a preset file.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the machine and the key.
pub fn parse(text: &str, aliases: &[&str]) -> Result<Machine> {
    let file: File = toml::from_str(text).map_err(|e| Error::invalid("machine", e.to_string()))?;
    let ncpus = file.topo.sockets * file.topo.cores_per_socket * file.topo.threads_per_core;
    let classes = if file.cpu_class.is_empty() {
        vec![class("", (0..ncpus).collect(), &file.state, file.power.known)?]
    } else {
        file.cpu_class
            .iter()
            .map(|c| class(&c.name, c.cpus.clone(), &c.state, file.power.known))
            .collect::<Result<_>>()?
    };
    let sources = vec![
        format!("idle states: {}, {}{}", file.idle.driver, file.idle.table, state_sources(&file)),
        power_source(&file.power),
        format!("tick rate: {} Hz ({})", file.os.hz, file.os.src),
    ];
    Ok(Machine {
        active_mw: file.power.known.then_some(file.power.core_active_w * 1e3),
        name: file.name,
        aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
        summary: file.desc,
        ncpus,
        hz: file.os.hz,
        classes,
        sources,
    })
}

fn class(name: &str, cpus: Vec<u32>, states: &[State], power_known: bool) -> Result<CpuClass> {
    let ns = |us: f64| (us * 1e3).round() as i64;
    let table = IdleTable::new(
        states
            .iter()
            .map(|s| IdleState {
                name: s.name.clone(),
                exit_latency: ns(s.exit_us),
                target_residency: ns(s.residency_us),
                polling: s.polling,
                disabled: false,
                power_mw: power_known.then_some(s.power_w * 1e3),
            })
            .collect(),
    )?;
    let wake = states.iter().map(|s| ns(s.wake_us)).collect();
    Ok(CpuClass { name: name.to_owned(), cpus, table, wake })
}

fn power_source(power: &Power) -> String {
    if power.known {
        format!("power: estimates, not measurements ({})", power.src)
    } else {
        "power: not known, energy is NaN".to_owned()
    }
}

/// Returns the distinct source words of the states, in order.
fn state_sources(file: &File) -> String {
    let mut words: Vec<&str> = Vec::new();
    for s in file.state.iter().chain(file.cpu_class.iter().flat_map(|c| &c.state)) {
        if !words.contains(&s.src.as_str()) {
            words.push(&s.src);
        }
    }
    if words.is_empty() { String::new() } else { format!(" ({})", words.join("; ")) }
}
