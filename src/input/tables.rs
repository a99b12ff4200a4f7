//! Idle tables and counters: dumps of the cpuidle directories in every spelling, a directory tree,
//! and the text of `cpupower idle-info`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cpupower;
use super::fields::trim;
use super::number::at_most;
use super::source::{Block, Blocks, Origin, Source, refuse};
use super::{BOM, CPU_LIMIT, Format, LINE_LIMIT, detect};
use crate::error::Result;
use crate::watch::Watch;

/// Largest state number that is believed; Linux has at most 10 states.
const STATE_LIMIT: u64 = 255;

/// Longest file of a cpuidle directory; the kernel prints at most a page.
const FILE_LIMIT: u64 = 4096;

/// What the kernel prints for a power it does not know.
const POWER_UNKNOWN: u64 = 4_294_967_295;

/// Files of a state that hold a number, and the names of the numbers.
const NUMBERS: &[(&str, &str)] = &[
    ("latency", "exit_latency_us"),
    ("residency", "target_residency_us"),
    ("power", "power"),
    ("usage", "usage"),
    ("rejected", "rejected"),
    ("time", "time_us"),
    ("above", "above"),
    ("below", "below"),
    ("disable", "disabled"),
    ("s2idle/usage", "s2idle_usage"),
    ("s2idle/time", "s2idle_time_us"),
];

/// Files of a state that hold text.
const TEXTS: &[&str] = &["name", "desc", "default_status"];

/// One idle state of one CPU, as far as the input tells.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StateFields {
    /// Numbers by name.
    pub numbers: BTreeMap<&'static str, u64>,
    /// Texts by name.
    pub texts: BTreeMap<&'static str, String>,
}

/// A remark about a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Line number from 1, when a line is meant.
    pub line: Option<u64>,
    /// Fixed word.
    pub code: &'static str,
    /// CPU, when one is meant.
    pub cpu: Option<u32>,
    /// States, when some are meant.
    pub states: Vec<u32>,
    /// In words.
    pub text: String,
}

/// Everything read of one dump.
#[derive(Debug, Default, Clone)]
pub struct Dump {
    /// The word for the kind of input.
    pub format: &'static str,
    /// `current_driver`.
    pub driver: Option<String>,
    /// `current_governor`, or `current_governor_ro`.
    pub governor: Option<String>,
    /// `available_governors`.
    pub available_governors: Option<Vec<String>>,
    /// States by CPU and number.
    pub cpus: BTreeMap<u32, BTreeMap<u32, StateFields>>,
    /// CPUs that are offline.
    pub offline: Vec<u32>,
    /// Remarks in line order.
    pub remarks: Vec<Remark>,
}

impl Dump {
    pub(super) fn state(&mut self, cpu: u32, state: u32) -> &mut StateFields {
        self.cpus.entry(cpu).or_default().entry(state).or_default()
    }

    pub(super) fn remark(&mut self, line: Option<u64>, code: &'static str, text: String) {
        self.remarks.push(Remark { line, code, cpu: None, states: Vec::new(), text });
    }

    /// Takes one value by its path; false if the path is no cpuidle file.
    fn take(&mut self, path: &str, value: &str, line: Option<u64>) -> bool {
        let Some(key) = Key::of(path) else { return false };
        let value = value.trim();
        match key {
            Key::Global("current_driver") => self.driver = Some(value.to_owned()),
            Key::Global("current_governor" | "current_governor_ro") => {
                self.governor = Some(value.to_owned());
            }
            Key::Global(_) => {
                let list = value.split_whitespace().map(str::to_owned).collect();
                self.available_governors = Some(list);
            }
            Key::Text(cpu, state, name) => {
                self.state(cpu, state).texts.insert(name, value.to_owned());
            }
            Key::Number(cpu, state, name) => match at_most(value.as_bytes(), u64::MAX) {
                Some(POWER_UNKNOWN) if name == "power" => drop(self.state(cpu, state)),
                Some(number) if number < u64::MAX => {
                    self.state(cpu, state).numbers.insert(name, number);
                }
                _ => {
                    let shown: String = value.chars().take(80).collect();
                    self.remark(line, "bad-value", format!("{name} is no number: {shown:?}"));
                }
            },
            Key::Ignored => {}
        }
        true
    }

    /// States that other CPUs have below the deepest one of this CPU, and this CPU has not.
    fn find_missing_states(&mut self) {
        let known: Vec<u32> = {
            let mut all: Vec<u32> = self.cpus.values().flat_map(|s| s.keys().copied()).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        for (&cpu, states) in &self.cpus {
            let deepest = states.keys().next_back().copied().unwrap_or(0);
            let missing: Vec<u32> =
                known.iter().copied().filter(|s| *s < deepest && !states.contains_key(s)).collect();
            if !missing.is_empty() {
                let text = format!("CPU {cpu} lacks states that other CPUs have");
                let code = "missing-states";
                self.remarks.push(Remark {
                    line: None,
                    code,
                    cpu: Some(cpu),
                    states: missing,
                    text,
                });
            }
        }
    }
}

/// What a path below a cpuidle directory means.
enum Key {
    Global(&'static str),
    Text(u32, u32, &'static str),
    Number(u32, u32, &'static str),
    /// Another file of a cpuidle directory.
    Ignored,
}

impl Key {
    fn of(path: &str) -> Option<Self> {
        let at = path.rfind("cpuidle/")?;
        let (before, after) = (&path[..at], &path[at + "cpuidle/".len()..]);
        let owner = before.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let cpu = owner.strip_prefix("cpu").and_then(|n| at_most(n.as_bytes(), CPU_LIMIT));
        let Some(cpu) = cpu else {
            let known = [
                "current_driver",
                "current_governor",
                "current_governor_ro",
                "available_governors",
            ];
            return Some(known.into_iter().find(|k| *k == after).map_or(Key::Ignored, Key::Global));
        };
        let (state, file) = after.strip_prefix("state")?.split_once('/')?;
        let (cpu, state) = (cpu as u32, at_most(state.as_bytes(), STATE_LIMIT)? as u32);
        if let Some(name) = TEXTS.iter().find(|t| **t == file) {
            return Some(Key::Text(cpu, state, name));
        }
        let number = NUMBERS.iter().find(|(f, _)| *f == file);
        Some(number.map_or(Key::Ignored, |(_, name)| Key::Number(cpu, state, name)))
    }
}

/// Reads a dump of the cpuidle directories or the text of `cpupower idle-info`.
///
/// # Errors
/// [`crate::error::Error::Input`] for anything else.
pub fn read_dump(source: Source, watch: &Watch) -> Result<Dump> {
    if let Origin::Path(path) = &source.origin
        && path.is_dir()
    {
        return read_tree(path, &source.name);
    }
    let mut blocks = Blocks::open(source, watch)?;
    let mut block = Block::default();
    let mut text = Vec::new();
    let mut format = None;
    let mut lines = Lines::default();
    while blocks.next(&mut block, watch)? {
        watch.advance(block.text().len() as u64)?;
        let format = *format.get_or_insert_with(|| detect(blocks.head()));
        match format {
            Format::SysfsCpuidle => {
                lines.read(block.text().strip_prefix(BOM).unwrap_or(block.text()))
            }
            Format::CpupowerIdleInfo => text.extend_from_slice(block.text()),
            other => return Err(not_a_table(blocks.name(), other, block.text())),
        }
    }
    match format {
        None => Err(refuse(blocks.name(), "empty-file", "the file is empty", "name a dump")),
        Some(Format::CpupowerIdleInfo) => cpupower::read(blocks.name(), &text),
        Some(_) => Ok(lines.finish()),
    }
}

fn not_a_table(name: &str, format: Format, text: &[u8]) -> crate::error::Error {
    if memchr::memmem::find(text, b"CPUidle").is_some()
        || memchr::memmem::find(text, b"cpuidle").is_some()
    {
        let reason = "this looks like a translated cpupower text";
        return refuse(
            name,
            "translated",
            reason,
            "print it in English: LC_ALL=C cpupower idle-info",
        );
    }
    let reason = format!("this is no table of idle states ({})", format.word());
    let remedy = "make one: grep -r . /sys/devices/system/cpu/cpu*/cpuidle/ > FILE, or LC_ALL=C cpupower idle-info > FILE";
    refuse(name, "not-an-idle-table", &reason, remedy)
}

/// Lines of a dump: `path:value`, `path:` and the value below, `mode|path|value`, `path value`.
#[derive(Default)]
struct Lines {
    dump: Dump,
    number: u64,
    /// A path whose value is on the next line.
    pending: Option<String>,
}

impl Lines {
    fn read(&mut self, block: &[u8]) {
        for line in block.split_inclusive(|&b| b == b'\n') {
            self.number += 1;
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = trim(line.strip_suffix(b"\r").unwrap_or(line));
            if line.len() > LINE_LIMIT {
                self.dump.remark(Some(self.number), "line-too-long", "the line is too long".into());
            } else {
                self.line(&String::from_utf8_lossy(line));
            }
        }
    }

    fn line(&mut self, line: &str) {
        // A path may also be the next one, when the value of the pending one is empty.
        if let Some(path) = self.pending.take_if(|_| !line.is_empty())
            && Key::of(path_of(line).0).is_none()
        {
            self.dump.take(&path, line, Some(self.number));
            return;
        }
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let line = line.strip_prefix("==> ").and_then(|l| l.strip_suffix(" <==")).unwrap_or(line);
        let (path, rest) = path_of(line);
        let value = rest.strip_prefix([':', '|', '=']).unwrap_or(rest).trim();
        if Key::of(path).is_none() {
            let shown: String = line.chars().take(80).collect();
            self.dump.remark(Some(self.number), "not-a-table-line", format!("skipped: {shown:?}"));
        } else if value.is_empty() {
            self.pending = Some(path.to_owned());
        } else {
            self.dump.take(path, value, Some(self.number));
        }
    }

    fn finish(mut self) -> Dump {
        self.dump.format = "sysfs-cpuidle";
        self.dump.find_missing_states();
        self.dump
    }
}

/// Splits a line behind its path, which ends at the first byte no file name of sysfs has.
fn path_of(line: &str) -> (&str, &str) {
    let line =
        line.split_once('|').filter(|(mode, _)| !mode.contains('/')).map_or(line, |(_, l)| l);
    let Some(at) = line.find("cpuidle/") else { return ("", line) };
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
    let end = line[at..].find(|c| !in_name(c)).map_or(line.len(), |n| at + n);
    line.split_at(end)
}

/// Reads a tree that is, or is a copy of, `/sys/devices/system/cpu`.
fn read_tree(root: &Path, name: &str) -> Result<Dump> {
    let remedy = "name the directory that holds cpu0, cpu1 ... or its /sys";
    let places = ["sys/devices/system/cpu", "devices/system/cpu", ""].map(|p| root.join(p));
    let Some(cpu_dir) = places.into_iter().find(|p| !numbered(p, "cpu").is_empty()) else {
        return Err(refuse(
            name,
            "not-an-idle-table",
            "the directory holds no cpuidle files",
            remedy,
        ));
    };
    let mut dump = Dump { format: "sysfs-cpuidle", ..Dump::default() };
    for file in ["current_driver", "current_governor", "current_governor_ro", "available_governors"]
    {
        take_file(&mut dump, &cpu_dir.join("cpuidle").join(file), &format!("cpuidle/{file}"));
    }
    for (cpu, path) in numbered(&cpu_dir, "cpu") {
        if small_file(&path.join("online")).is_some_and(|t| t.trim() == "0") {
            dump.offline.push(cpu);
            continue;
        }
        for (state, folder) in numbered(&path.join("cpuidle"), "state") {
            for file in TEXTS.iter().copied().chain(NUMBERS.iter().map(|(f, _)| *f)) {
                let key = format!("cpu{cpu}/cpuidle/state{state}/{file}");
                take_file(&mut dump, &folder.join(file), &key);
            }
        }
    }
    dump.find_missing_states();
    if dump.cpus.is_empty() {
        let reason = "the directory holds no cpuidle files";
        let remedy =
            "this kernel has no cpuidle driver (a virtual machine?); name a registered machine";
        return Err(refuse(name, "no-idle-states", reason, remedy));
    }
    Ok(dump)
}

fn take_file(dump: &mut Dump, path: &Path, key: &str) {
    if let Some(text) = small_file(path) {
        dump.take(key, &text, None);
    }
}

fn small_file(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    // Opening a pipe that nobody writes to would wait for ever.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    std::fs::File::open(path).ok()?.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Folders `prefixN` of a folder, by number.
fn numbered(folder: &Path, prefix: &str) -> BTreeMap<u32, PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|e| {
            let name = e.file_name().into_string().ok()?;
            let number = at_most(name.strip_prefix(prefix)?.as_bytes(), CPU_LIMIT)?;
            e.path().is_dir().then(|| (number as u32, e.path()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(text: &str) -> Dump {
        let source = Source { name: "dump".into(), origin: Origin::Bytes(text.as_bytes()) };
        read_dump(source, &Watch::new()).unwrap()
    }

    #[test]
    fn every_spelling_gives_the_same_states() {
        let base = "/sys/devices/system/cpu/cpu3/cpuidle/state1";
        let expected =
            dump(&format!("{base}/name:C1\n{base}/latency:2\n{base}/desc:a b: c\n")).cpus;
        for text in [
            format!("{base}/latency:\n2\n\n{base}/name:\nC1\n\n{base}/desc:\na b: c\n"),
            format!("rw|{base}/name|C1\nro|{base}/latency|2\nro|{base}/desc|a b: c\n"),
            format!("{base}/name C1\r\n{base}/latency 2\r\n{base}/desc a b: c\r\n"),
            format!("==> {base}/name <==\nC1\n\n==> {base}/latency <==\n2\n==> {base}/desc <==\na b: c\n"),
            "./cpu3/cpuidle/state1/name:C1\n./cpu3/cpuidle/state1/latency:2\n./cpu3/cpuidle/state1/desc:a b: c\n".into(),
        ] {
            assert_eq!(dump(&text).cpus, expected, "{text}");
        }
    }

    #[test]
    fn values_that_are_no_numbers_are_missing_not_zero() {
        let d = dump(
            "/cpu0/cpuidle/state0/usage:-3\n/cpu0/cpuidle/state0/time:\n/cpu0/cpuidle/state0/power:4294967295\nwhat\n",
        );
        assert!(d.cpus[&0][&0].numbers.is_empty());
        let codes: Vec<_> = d.remarks.iter().map(|r| (r.line, r.code)).collect();
        assert_eq!(codes, [(Some(1), "bad-value"), (Some(4), "not-a-table-line")]);
    }
}
