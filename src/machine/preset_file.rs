//! From the text of a preset file to a machine.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::model::{COST_SOURCE, Parts};
use super::topology::DISTANCES;
use super::{
    Bandwidth, Cache, Clock, ClockDomain, Costs, CpuClass, Flush, IdleState, IdleTable, Machine,
    Numbering, Places, Power, Scope, Shape, Topology, Value,
};
use crate::error::{Error, Result};

#[derive(Deserialize)]
struct File {
    name: String,
    desc: String,
    topo: TopoSection,
    freq: FreqSection,
    cache: CacheSection,
    idle: IdleSection,
    power: PowerSection,
    os: OsSection,
    place: Option<PlaceSection>,
    #[serde(default)]
    cost: BTreeMap<String, Cost>,
    #[serde(default)]
    state: Vec<StateEntry>,
    #[serde(default)]
    cpu_class: Vec<ClassEntry>,
}

#[derive(Deserialize)]
struct TopoSection {
    sockets: u32,
    numa_nodes: u32,
    llc_domains_per_socket: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
    numbering: String,
    #[serde(default)]
    capacity: Vec<u32>,
}

/// CPUs whose last-level cache does not follow from the counts.
#[derive(Deserialize)]
struct PlaceSection {
    llc: Vec<u32>,
    src: String,
}

#[derive(Deserialize)]
struct FreqSection {
    base_ghz: f64,
    turbo_ghz: Vec<f64>,
    min_ghz: f64,
    domain: ClockDomain,
    src_base: String,
    src_bins: String,
}

#[derive(Deserialize)]
struct CacheSection {
    l1d_kib: u32,
    l2_kib: u32,
    l3_mib: f64,
    line_b: Option<f64>,
    line_l2_ns: Option<f64>,
    line_mem_ns: Option<f64>,
    #[serde(default)]
    c2c_smt_ns: f64,
    #[serde(default)]
    c2c_llc_ns: f64,
    #[serde(default)]
    c2c_socket_ns: f64,
    #[serde(default)]
    c2c_numa_ns: f64,
    #[serde(default)]
    stream_core_gbs: f64,
    #[serde(default)]
    stream_llc_gbs: f64,
    #[serde(default)]
    stream_socket_gbs: f64,
    src: String,
}

#[derive(Deserialize)]
struct IdleSection {
    driver: String,
    table: String,
    mwait_polling: bool,
}

#[derive(Deserialize)]
struct PowerSection {
    known: bool,
    pkg_idle_w: f64,
    uncore_w: f64,
    core_active_w: f64,
    src: String,
}

#[derive(Deserialize)]
struct OsSection {
    hz: u32,
    wrmsr_ns: Option<f64>,
    src: String,
}

#[derive(Deserialize)]
struct Cost {
    value: Value,
    src: String,
}

#[derive(Deserialize)]
struct ClassEntry {
    name: String,
    cpus: Vec<u32>,
    state: Vec<StateEntry>,
}

#[derive(Deserialize)]
struct StateEntry {
    name: String,
    polling: bool,
    exit_us: f64,
    residency_us: f64,
    wake_us: f64,
    entry_us: f64,
    power_w: f64,
    scope: Scope,
    cache: CacheWord,
    src: String,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum CacheWord {
    Keep,
    L2Flush,
    L3Shrink,
}

/// Parses a preset file.
///
/// # Errors
/// [`Error::InvalidParameter`] that names the key.
pub fn parse(text: &str, aliases: &[&str]) -> Result<Machine> {
    let file: File = toml::from_str(text).map_err(|e| Error::invalid("machine", e.to_string()))?;
    let sources = sources(&file);
    let topology = topology(&file)?;
    let costs = start_costs(&file);
    let classes = classes(&file, topology.ncpus() as u32)?;
    let machine = Machine::new(Parts {
        name: file.name,
        aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
        summary: file.desc,
        hz: file.os.hz,
        sources,
        mwait: file.idle.mwait_polling,
        topology,
        clock: clock(&file.freq),
        cache: Cache {
            l1d_kib: file.cache.l1d_kib,
            l2_kib: file.cache.l2_kib,
            l3_kib: (file.cache.l3_mib * 1024.0).round() as u32,
        },
        bandwidth: Bandwidth {
            core_mbs: thousandths(file.cache.stream_core_gbs),
            llc_mbs: thousandths(file.cache.stream_llc_gbs),
            socket_mbs: thousandths(file.cache.stream_socket_gbs),
        },
        power: file.power.known.then_some(Power {
            package_idle_mw: file.power.pkg_idle_w * 1e3,
            uncore_mw: file.power.uncore_w * 1e3,
            core_active_mw: file.power.core_active_w * 1e3,
        }),
        costs,
        classes,
    })?;
    let own = file.cost.into_iter().map(|(key, cost)| (format!("costs.{key}"), cost.value));
    machine.with_costs(&own.collect::<Vec<_>>())
}

fn topology(file: &File) -> Result<Topology> {
    let topo = &file.topo;
    let ncpus = topo.sockets * topo.cores_per_socket * topo.threads_per_core;
    let numbering = match &file.place {
        Some(place) => Numbering::Listed(Places {
            core: (0..ncpus).collect(),
            llc: place.llc.clone(),
            socket: vec![0; ncpus as usize],
            node: vec![0; ncpus as usize],
        }),
        None if topo.threads_per_core == 1 || topo.numbering.starts_with("cores first") => {
            Numbering::CoresFirst
        }
        None => return Err(Error::invalid("topo.numbering", "expected \"cores first\"")),
    };
    Topology::new(Shape {
        sockets: topo.sockets,
        numa_nodes: topo.numa_nodes,
        llcs_per_socket: topo.llc_domains_per_socket,
        cores_per_socket: topo.cores_per_socket,
        threads_per_core: topo.threads_per_core,
        capacity: topo.capacity.clone(),
        numbering,
    })
}

fn clock(freq: &FreqSection) -> Clock {
    let turbo_mhz: Vec<u32> = freq.turbo_ghz.iter().map(|&g| thousandths(g)).collect();
    Clock {
        priced_mhz: turbo_mhz.iter().copied().max().unwrap_or(0),
        turbo_mhz,
        base_mhz: thousandths(freq.base_ghz),
        min_mhz: thousandths(freq.min_ghz),
        domain: freq.domain,
    }
}

/// Start values with what the other sections of the file know.
fn start_costs(file: &File) -> Costs {
    let cache = &file.cache;
    let mut costs = Costs {
        line: lines([cache.c2c_smt_ns, cache.c2c_llc_ns, cache.c2c_socket_ns, cache.c2c_numa_ns]),
        wrmsr: file.os.wrmsr_ns.map_or(0, |ns| ns.round() as i64),
        ..Costs::default()
    };
    let line_ps = |ns: f64| (ns * 1e3 * 64.0 / cache.line_b.unwrap_or(64.0)).round() as i64;
    if let Some(ns) = cache.line_l2_ns {
        costs.fill_l2_ps = line_ps(ns);
    }
    if let Some(ns) = cache.line_mem_ns {
        costs.fill_memory_ps = line_ps(ns);
    }
    if cache.l3_mib == 0.0 {
        costs.fill_l3_ps = costs.fill_memory_ps; // behind the second level there is only memory
    }
    costs.l2_flush_refill = costs.flush_refill(cache.l2_kib);
    costs
}

/// Price of a moved line by distance; a distance without a figure costs what the next nearer one
/// does, or else the next farther one.
fn lines(c2c: [f64; DISTANCES - 1]) -> [i64; DISTANCES] {
    let known = |d: usize| Some(c2c[d - 1]).filter(|&ns| ns > 0.0);
    std::array::from_fn(|d| {
        let found = if d == 0 { None } else { (1..=d).rev().chain(d..DISTANCES).find_map(known) };
        found.unwrap_or(0.0).round() as i64
    })
}

fn classes(file: &File, ncpus: u32) -> Result<Vec<CpuClass>> {
    let known = file.power.known;
    if file.cpu_class.is_empty() {
        return Ok(vec![class("", (0..ncpus).collect(), &file.state, known)?]);
    }
    file.cpu_class.iter().map(|c| class(&c.name, c.cpus.clone(), &c.state, known)).collect()
}

fn class(name: &str, cpus: Vec<u32>, states: &[StateEntry], power_known: bool) -> Result<CpuClass> {
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
    let flush = |s: &StateEntry| match s.cache {
        CacheWord::Keep => Flush::Keep,
        CacheWord::L2Flush => Flush::L2,
        CacheWord::L3Shrink => Flush::L3,
    };
    Ok(CpuClass {
        name: name.to_owned(),
        cpus,
        table,
        wake: states.iter().map(|s| ns(s.wake_us)).collect(),
        entry: states.iter().map(|s| ns(s.entry_us)).collect(),
        scope: states.iter().map(|s| s.scope).collect(),
        flush: states.iter().map(flush).collect(),
    })
}

fn thousandths(value: f64) -> u32 {
    (value * 1e3).round() as u32
}

fn sources(file: &File) -> Vec<String> {
    let mut found = vec![
        format!("idle states: {}, {}{}", file.idle.driver, file.idle.table, state_sources(file)),
        power_source(&file.power),
        format!("tick rate: {} Hz ({})", file.os.hz, file.os.src),
        format!("clocks: {}; bins: {}", file.freq.src_base, file.freq.src_bins),
        format!("caches: {}", file.cache.src),
    ];
    if let Some(place) = &file.place {
        found.push(format!("last-level caches: {}", place.src));
    }
    found.push(COST_SOURCE.to_owned());
    found.extend(
        file.cost.iter().map(|(key, cost)| format!("costs.{key} = {} ({})", cost.value, cost.src)),
    );
    found
}

fn power_source(power: &PowerSection) -> String {
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
