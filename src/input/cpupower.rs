//! The text of `cpupower idle-info`: one block per CPU, one paragraph per state.

use super::CPU_LIMIT;
use super::number::{at_most, digits};
use super::source::refuse;
use super::tables::Dump;
use crate::error::Result;

/// Fields of a state that hold a number.
const NUMBERS: &[(&str, &str)] = &[
    ("Latency", "exit_latency_us"),
    ("Residency", "target_residency_us"),
    ("Usage", "usage"),
    ("Duration", "time_us"),
];

/// Most states of a CPU that are believed.
const MOST_STATES: u32 = 256;

/// Reads the whole text; indented copies are fine.
///
/// # Errors
/// [`crate::error::Error::Input`] if no state of any CPU can be read.
pub fn read(name: &str, text: &[u8]) -> Result<Dump> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::default();
    for (i, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
        reader.line(line.trim(), i as u64 + 1);
    }
    let mut dump = reader.dump;
    if dump.cpus.is_empty() && dump.offline.is_empty() && dump.remarks.is_empty() {
        let remedy = "print it in English: LC_ALL=C cpupower idle-info";
        return Err(refuse(name, "no-idle-states", "the text names no idle state", remedy));
    }
    dump.format = "cpupower-idle-info";
    Ok(dump)
}

#[derive(Default)]
struct Reader {
    dump: Dump,
    cpu: u32,
    /// Number of the state whose fields follow, plus 1.
    state: u32,
}

impl Reader {
    fn line(&mut self, line: &str, number: u64) {
        if let Some(rest) = line.strip_prefix("analyzing CPU ") {
            let (cpu, n) = digits(rest.as_bytes());
            if n > 0 && cpu <= CPU_LIMIT {
                (self.cpu, self.state) = (cpu as u32, 0);
            }
            // Some versions say it on the same line.
            return self.absence(&rest[n..], number);
        }
        let Some((key, value)) = line.split_once(':') else { return self.absence(line, number) };
        let (key, value) = (key.trim_end(), value.trim());
        match key {
            "CPUidle driver" => self.dump.driver = Some(value.to_owned()),
            "CPUidle governor" => self.dump.governor = Some(value.to_owned()),
            "Number of idle states" | "Available idle states" => {}
            _ if value.is_empty() => self.new_state(key, number),
            _ => self.field(key, value, number),
        }
    }

    fn absence(&mut self, text: &str, number: u64) {
        if text.contains("*is offline") {
            self.dump.offline.push(self.cpu);
        } else if text.contains("No idle states") {
            let text = format!("CPU {} has no idle states", self.cpu);
            self.dump.remark(Some(number), "note", text);
        }
    }

    /// `NAME:` or `NAME (DISABLED) :`.
    fn new_state(&mut self, key: &str, number: u64) {
        let (name, disabled) = match key.strip_suffix("(DISABLED)") {
            Some(name) => (name.trim_end(), true),
            None => (key, false),
        };
        if self.state >= MOST_STATES || name.is_empty() {
            return;
        }
        self.state += 1;
        let state = self.dump.state(self.cpu, self.state - 1);
        state.texts.insert("name", name.to_owned());
        state.numbers.insert("disabled", u64::from(disabled));
        if disabled {
            self.dump.remark(Some(number), "note", format!("{name} is disabled"));
        }
    }

    fn field(&mut self, key: &str, value: &str, number: u64) {
        if self.state == 0 {
            return;
        }
        let state = self.dump.state(self.cpu, self.state - 1);
        if key == "Flags/Description" {
            state.texts.insert("desc", value.to_owned());
        } else if let Some((_, name)) = NUMBERS.iter().find(|(k, _)| *k == key) {
            match at_most(value.as_bytes(), u64::MAX - 1) {
                Some(v) => drop(state.numbers.insert(name, v)),
                None => {
                    let shown: String = value.chars().take(80).collect();
                    let text = format!("{key} is no number: {shown:?}");
                    self.dump.remark(Some(number), "bad-value", text);
                }
            }
        }
    }
}
