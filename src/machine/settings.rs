//! The settings of a machine by name: what can be read and changed, in which units.

use serde::Deserialize;

use super::model::check_price;
use super::topology::{Distance, Numbering, Shape};
use super::{CpuClass, Flush, Machine, Power, Scope};
use crate::error::{Error, Result};

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A word.
    Text(String),
    /// Numbers, one per CPU or per bin.
    List(Vec<f64>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bool(v) => write!(f, "{v}"),
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v}"),
            Value::Text(v) => write!(f, "{v}"),
            Value::List(v) => write!(f, "{v:?}"),
        }
    }
}

impl Value {
    fn number(&self, name: &str) -> Result<f64> {
        let number = match self {
            Value::Int(v) => *v as f64,
            Value::Float(v) => *v,
            other => return Err(expected(name, "a number", other)),
        };
        at_least_0(name, number)
    }

    fn text(&self, name: &str) -> Result<&str> {
        match self {
            Value::Text(v) => Ok(v),
            other => Err(expected(name, "a word", other)),
        }
    }

    fn list(&self, name: &str) -> Result<Vec<f64>> {
        match self {
            Value::List(v) => v.iter().map(|&x| at_least_0(name, x)).collect(),
            other => Ok(vec![other.number(name)?]),
        }
    }
}

fn at_least_0(name: &str, number: f64) -> Result<f64> {
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(Error::invalid(name, format!("expected a finite value of at least 0, found {number}")))
}

fn expected(name: &str, what: &str, found: &Value) -> Error {
    Error::invalid(name, format!("expected {what}, found {found}"))
}

/// Units a setting can be given in, each with its size in the unit that is kept.
type Units = &'static [(&'static str, f64)];

const NONE: Units = &[("", 1.0)];
/// Kept in ns.
const TIME: Units = &[("_ns", 1.0), ("_us", 1e3), ("_ms", 1e6), ("_s", 1e9), ("_ps", 1e-3)];
/// Kept in ns, shown in us as sysfs does.
const STATE_TIME: Units = &[("_us", 1e3), ("_ns", 1.0), ("_ms", 1e6)];
/// Kept in ps.
const FILL: Units = &[("_ps", 1.0), ("_ns", 1e3)];
/// Kept in thousandths.
const SHARE: Units = &[("", 1e3)];
/// Kept in MHz.
const CLOCK: Units = &[("_ghz", 1e3), ("_mhz", 1.0)];
/// Kept in MB/s.
const RATE: Units = &[("_gbs", 1e3), ("_mbs", 1.0)];
/// Kept in KiB.
const SIZE: Units = &[("_kib", 1.0), ("_mib", 1024.0)];
/// Kept in mW.
const POWER: Units = &[("_w", 1e3), ("_mw", 1.0)];

/// Where a value is kept.
pub(super) enum Slot<'a> {
    /// A price or a time; never above 1000 s.
    Price(&'a mut i64),
    /// A count or a size.
    Count(&'a mut u32),
    /// Counts, one per CPU or bin.
    Counts(&'a mut Vec<u32>),
    /// A real number that may be unknown.
    Maybe(&'a mut Option<f64>),
    /// Yes or no.
    Flag(&'a mut bool),
    /// Free text.
    Text(&'a mut String),
    /// One of a few words.
    Word(Box<dyn Words + 'a>),
}

/// A value that is one of a few words.
pub(super) trait Words {
    /// All words.
    fn words(&self) -> Vec<String>;
    /// The present one.
    fn get(&self) -> String;
    /// Takes word `i`.
    fn set(&mut self, i: usize);
}

struct Choice<'a, T: 'static>(&'a mut T, &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Words for Choice<'_, T> {
    fn words(&self) -> Vec<String> {
        self.1.iter().map(|(word, _)| (*word).to_owned()).collect()
    }
    fn get(&self) -> String {
        let found = self.1.iter().find(|(_, value)| value == self.0);
        found.map_or_else(String::new, |(word, _)| (*word).to_owned())
    }
    fn set(&mut self, i: usize) {
        *self.0 = self.1[i].1;
    }
}

/// A state of the first class, or `none`.
struct StateName<'a>(&'a mut Option<usize>, Vec<String>);

impl Words for StateName<'_> {
    fn words(&self) -> Vec<String> {
        self.1.clone()
    }
    fn get(&self) -> String {
        self.1[self.0.map_or(0, |i| i + 1)].clone()
    }
    fn set(&mut self, i: usize) {
        *self.0 = i.checked_sub(1);
    }
}

struct NumberingWord<'a>(&'a mut Numbering);

impl Words for NumberingWord<'_> {
    fn words(&self) -> Vec<String> {
        vec!["cores first".into(), "threads together".into()]
    }
    fn get(&self) -> String {
        match self.0 {
            Numbering::CoresFirst => "cores first".into(),
            Numbering::ThreadsTogether => "threads together".into(),
            Numbering::Listed(_) => "listed".into(),
        }
    }
    fn set(&mut self, i: usize) {
        *self.0 = if i == 0 { Numbering::CoresFirst } else { Numbering::ThreadsTogether };
    }
}

/// One setting: its names and where it is kept.
pub(super) struct Setting<'a> {
    /// Name with `{}` where the unit goes.
    pattern: String,
    /// A second pattern that may mean several settings: the state of any class of a hybrid.
    shared: Option<String>,
    units: Units,
    slot: Slot<'a>,
}

impl Setting<'_> {
    /// The name as shown.
    pub fn name(&self) -> String {
        self.pattern.replace("{}", self.units[0].0)
    }

    /// Returns the size of the unit in which `asked` names this setting, if it does.
    pub fn unit_of(&self, asked: &str) -> Option<f64> {
        let names = |pattern: &str, unit: &str| {
            let (head, tail) = pattern.split_once("{}").unwrap_or((pattern, ""));
            asked.len() == head.len() + unit.len() + tail.len()
                && asked.is_char_boundary(head.len())
                && asked[..head.len()].eq_ignore_ascii_case(head)
                && asked[head.len()..] == format!("{unit}{tail}")
        };
        let patterns = || std::iter::once(&self.pattern).chain(&self.shared);
        self.units
            .iter()
            .find(|(unit, _)| patterns().any(|pattern| names(pattern, unit)))
            .map(|&(_, size)| size)
    }

    /// The value in the unit of [`Setting::name`].
    pub fn get(&self) -> Value {
        let size = self.units[0].1;
        let number = |kept: f64| {
            let value = kept / size;
            let whole = size == 1.0 && value.fract() == 0.0;
            if whole { Value::Int(value as i64) } else { Value::Float(value) }
        };
        match &self.slot {
            Slot::Price(v) => number(**v as f64),
            Slot::Count(v) => number(f64::from(**v)),
            Slot::Counts(v) => Value::List(v.iter().map(|&x| f64::from(x) / size).collect()),
            Slot::Maybe(v) => Value::Float(v.map_or(f64::NAN, |v| v / size)),
            Slot::Flag(v) => Value::Bool(**v),
            Slot::Text(v) => Value::Text((*v).clone()),
            Slot::Word(v) => Value::Text(v.get()),
        }
    }

    /// Takes a value given in a unit of this size.
    pub fn set(&mut self, name: &str, value: &Value, size: f64) -> Result<()> {
        match &mut self.slot {
            Slot::Price(v) => **v = check_price(name, (value.number(name)? * size).round() as i64)?,
            Slot::Count(v) => **v = count(name, value.number(name)?, size)?,
            Slot::Counts(v) => {
                let list = value.list(name)?;
                **v = list.iter().map(|&x| count(name, x, size)).collect::<Result<_>>()?;
            }
            Slot::Maybe(v) => **v = Some(value.number(name)? * size),
            Slot::Flag(v) => match value {
                Value::Bool(b) => **v = *b,
                other => return Err(expected(name, "true or false", other)),
            },
            Slot::Text(v) => value.text(name)?.clone_into(v),
            Slot::Word(v) => {
                let (word, words) = (value.text(name)?, v.words());
                match words.iter().position(|w| w.eq_ignore_ascii_case(word)) {
                    Some(i) => v.set(i),
                    None => {
                        let one_of = format!("one of {}", words.join(", "));
                        return Err(expected(name, &one_of, value));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A number of the kept unit; without a unit it must be whole.
fn count(name: &str, number: f64, size: f64) -> Result<u32> {
    if size == 1.0 && number.fract() != 0.0 {
        return Err(Error::invalid(name, format!("expected a whole number, found {number}")));
    }
    let kept = (number * size).round();
    if kept > f64::from(u32::MAX) {
        return Err(Error::invalid(
            name,
            format!("expected less than {}, found {number}", u32::MAX),
        ));
    }
    Ok(kept as u32)
}

/// What of a machine cannot be changed in place.
pub(super) struct Draft {
    /// Stands for the topology.
    pub shape: Shape,
    /// Package idle, uncore, busy core, mW.
    power: [Option<f64>; 3],
}

impl Draft {
    pub fn new(m: &Machine) -> Self {
        let known = m.power.as_ref();
        let power = [
            known.map(|p| p.package_idle_mw),
            known.map(|p| p.uncore_mw),
            known.map(|p| p.core_active_mw),
        ];
        Self { shape: m.topology.shape().clone(), power }
    }

    /// The power, known as soon as one number of it is; the others are 0.
    pub fn power(&self) -> Option<Power> {
        let [package_idle_mw, uncore_mw, core_active_mw] = self.power.map(|mw| mw.unwrap_or(0.0));
        let known = self.power.iter().any(Option::is_some);
        known.then_some(Power { package_idle_mw, uncore_mw, core_active_mw })
    }
}

/// All settings of a machine, in the order in which they are shown.
pub(super) fn settings<'a>(m: &'a mut Machine, draft: &'a mut Draft) -> Vec<Setting<'a>> {
    let Draft { shape, power: [package_idle, uncore, core_active] } = draft;
    let mut all = Vec::with_capacity(80);
    let mut add = |pattern: &str, units: Units, slot: Slot<'a>| {
        all.push(Setting { pattern: pattern.to_owned(), shared: None, units, slot });
    };
    add("name", NONE, Slot::Text(&mut m.name));
    add("summary", NONE, Slot::Text(&mut m.summary));
    add("hz", NONE, Slot::Count(&mut m.hz));
    add("mwait", NONE, Slot::Flag(&mut m.mwait));
    add("topology.sockets", NONE, Slot::Count(&mut shape.sockets));
    add("topology.numa_nodes", NONE, Slot::Count(&mut shape.numa_nodes));
    add("topology.llcs_per_socket", NONE, Slot::Count(&mut shape.llcs_per_socket));
    add("topology.cores_per_socket", NONE, Slot::Count(&mut shape.cores_per_socket));
    add("topology.threads_per_core", NONE, Slot::Count(&mut shape.threads_per_core));
    add("topology.capacity", NONE, Slot::Counts(&mut shape.capacity));
    let word = Box::new(NumberingWord(&mut shape.numbering));
    add("topology.numbering", NONE, Slot::Word(word));
    add("clock.turbo{}", CLOCK, Slot::Counts(&mut m.clock.turbo_mhz));
    add("clock.base{}", CLOCK, Slot::Count(&mut m.clock.base_mhz));
    add("clock.min{}", CLOCK, Slot::Count(&mut m.clock.min_mhz));
    let word = Box::new(Choice(&mut m.clock.domain, &super::ClockDomain::WORDS));
    add("clock.domain", NONE, Slot::Word(word));
    add("cache.l1d{}", SIZE, Slot::Count(&mut m.cache.l1d_kib));
    add("cache.l2{}", SIZE, Slot::Count(&mut m.cache.l2_kib));
    add("cache.l3{}", SIZE, Slot::Count(&mut m.cache.l3_kib));
    add("bandwidth.core{}", RATE, Slot::Count(&mut m.bandwidth.core_mbs));
    add("bandwidth.llc{}", RATE, Slot::Count(&mut m.bandwidth.llc_mbs));
    add("bandwidth.socket{}", RATE, Slot::Count(&mut m.bandwidth.socket_mbs));
    add("power.package_idle{}", POWER, Slot::Maybe(package_idle));
    add("power.uncore{}", POWER, Slot::Maybe(uncore));
    add("power.core_active{}", POWER, Slot::Maybe(core_active));
    let first = m.classes[0].table.states().iter().map(|s| s.name.clone());
    let names = std::iter::once("none".to_owned()).chain(first).collect();
    costs(&mut m.costs, names, &mut add);
    let several = m.classes.len() > 1;
    for class in &mut m.classes {
        states(class, several, &mut all);
    }
    all
}

fn costs<'a>(
    c: &'a mut super::Costs,
    states: Vec<String>,
    add: &mut impl FnMut(&str, Units, Slot<'a>),
) {
    for (name, price) in [
        ("wake", &mut c.wake),
        ("wake_halted", &mut c.wake_halted),
        ("wake_queued", &mut c.wake_queued),
        ("switch", &mut c.switch),
        ("switch_in", &mut c.switch_in),
        ("prepare_idle", &mut c.prepare_idle),
        ("govern", &mut c.govern),
        ("interrupt", &mut c.interrupt),
        ("tick", &mut c.tick),
        ("tick_tail", &mut c.tick_tail),
        ("tick_stop", &mut c.tick_stop),
        ("tick_restart", &mut c.tick_restart),
        ("block", &mut c.block),
        ("refill", &mut c.refill),
        ("cold_message", &mut c.cold_message),
        ("interrupt_latency", &mut c.interrupt_latency),
        ("interrupt_send", &mut c.interrupt_send),
        ("lock_hold", &mut c.lock_hold),
        ("poll_quantum", &mut c.poll_quantum),
        ("settle", &mut c.settle),
        ("demote_below", &mut c.demote_below),
        ("background_period", &mut c.background_period),
        ("background_work", &mut c.background_work),
        ("package_exit", &mut c.package_exit),
        ("trace_event", &mut c.trace_event),
        ("wrmsr", &mut c.wrmsr),
        ("l2_flush_refill", &mut c.l2_flush_refill),
    ] {
        add(&format!("costs.{name}{{}}"), TIME, Slot::Price(price));
    }
    for (name, prices) in
        [("wake_remote", &mut c.wake_remote), ("migrate", &mut c.migrate), ("line", &mut c.line)]
    {
        for (word, price) in Distance::WORDS.iter().zip(prices).skip(1) {
            add(&format!("costs.{name}{{}}.{word}"), TIME, Slot::Price(price));
        }
    }
    for (name, price) in [
        ("fill_l2", &mut c.fill_l2_ps),
        ("fill_l3", &mut c.fill_l3_ps),
        ("fill_memory", &mut c.fill_memory_ps),
    ] {
        add(&format!("costs.{name}{{}}"), FILL, Slot::Price(price));
    }
    add("costs.smt_run", SHARE, Slot::Count(&mut c.smt_run_permille));
    add("costs.smt_poll", SHARE, Slot::Count(&mut c.smt_poll_permille));
    add("costs.scale", SHARE, Slot::Count(&mut c.scale_permille));
    let word = Box::new(StateName(&mut c.demote_to, states));
    add("costs.demote_to", NONE, Slot::Word(word));
}

fn states<'a>(class: &'a mut CpuClass, several: bool, all: &mut Vec<Setting<'a>>) {
    let CpuClass { name, table, wake, entry, scope, flush, .. } = class;
    let rest = wake.iter_mut().zip(entry).zip(scope.iter_mut().zip(flush));
    for (state, ((wake, entry), (scope, flush))) in table.states_mut().iter_mut().zip(rest) {
        let own = state.name.clone();
        let mut add = |key: &str, units: Units, slot: Slot<'a>| {
            let short = format!("states.{own}.{key}");
            let (pattern, shared) = if several {
                (format!("states.{name}.{own}.{key}"), Some(short))
            } else {
                (short, None)
            };
            all.push(Setting { pattern, shared, units, slot });
        };
        add("exit{}", STATE_TIME, Slot::Price(&mut state.exit_latency));
        add("residency{}", STATE_TIME, Slot::Price(&mut state.target_residency));
        add("wake{}", STATE_TIME, Slot::Price(wake));
        add("entry{}", STATE_TIME, Slot::Price(entry));
        add("power{}", POWER, Slot::Maybe(&mut state.power_mw));
        add("disabled", NONE, Slot::Flag(&mut state.disabled));
        add("scope", NONE, Slot::Word(Box::new(Choice(scope, &Scope::WORDS))));
        add("flush", NONE, Slot::Word(Box::new(Choice(flush, &Flush::WORDS))));
    }
}
