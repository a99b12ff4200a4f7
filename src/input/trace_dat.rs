//! trace.dat, the binary file of `trace-cmd record`: recognised, described, refused.
//!
//! Its layout changed with every major version of trace-cmd, and a wrong read is worse than none;
//! `trace-cmd report` of the machine that wrote it always reads it.

use super::source::refuse;
use crate::error::Error;

/// First bytes of every version.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Versions that trace-cmd writes today; older ones are of 2010.
const KNOWN: [&str; 2] = ["6", "7"];

/// Longest version or compression name that is believed.
const WORD_LIMIT: usize = 16;

/// What the first bytes tell.
#[derive(Debug, PartialEq, Eq)]
pub struct Described {
    /// Version as the file spells it.
    pub version: String,
    /// True for big-endian files.
    pub big_endian: Option<bool>,
    /// Bytes of a long integer.
    pub long_size: Option<u8>,
    /// Bytes per page of the ring buffer.
    pub page_size: Option<u32>,
    /// Compression, from version 7 on.
    pub compression: Option<String>,
}

/// Reads the first fields behind the magic.
pub fn describe(head: &[u8]) -> Option<Described> {
    let rest = head.strip_prefix(MAGIC)?;
    let (version, rest) = word(rest);
    let big_endian = rest.first().map(|&b| b == 1);
    let page = rest.get(2..6).and_then(|s| s.first_chunk::<4>()).map(|b| {
        if big_endian == Some(true) { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) }
    });
    let compression = match version.as_str() {
        "7" => rest.get(6..).map(|s| word(s).0),
        _ => None,
    };
    Some(Described {
        version,
        big_endian,
        long_size: rest.get(1).copied(),
        page_size: page,
        compression,
    })
}

fn word(s: &[u8]) -> (String, &[u8]) {
    let n = s.iter().take(WORD_LIMIT).position(|&b| b == 0);
    let n = n.unwrap_or_else(|| s.len().min(WORD_LIMIT));
    (String::from_utf8_lossy(&s[..n]).into_owned(), s.get(n + 1..).unwrap_or(&[]))
}

/// The refusal: what the file is, and the command that prints it.
pub fn refusal(path: &str, head: &[u8]) -> Error {
    let Some(d) = describe(head) else {
        return refuse(path, "trace-dat", "damaged trace.dat", "record the trace again");
    };
    let command = format!("trace-cmd report -t -F cpu_idle -F sched_switch {path} > trace.txt");
    if !KNOWN.contains(&d.version.as_str()) {
        let reason = format!("this is a trace.dat of version {:?}; known are 6 and 7", d.version);
        return refuse(path, "trace-dat-version", &reason, &format!("print it as text: {command}"));
    }
    let order = if d.big_endian == Some(true) { "big" } else { "little" };
    let mut reason = format!("this is a trace.dat of version {}, {order}-endian", d.version);
    if let Some(size) = d.page_size {
        reason += &format!(", pages of {size} bytes");
    }
    if let Some(compression) = &d.compression {
        reason += &format!(", compression {compression}");
    }
    refuse(path, "trace-dat", &reason, &format!("print it as text: {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fields_of_a_version_7_file() {
        let head = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0zstd\x001.5.4\0";
        let d = describe(head).unwrap();
        assert_eq!((d.version.as_str(), d.big_endian, d.page_size), ("7", Some(false), Some(4096)));
        assert_eq!(d.compression.as_deref(), Some("zstd"));
        let text = refusal("a.dat", head).to_string();
        assert!(text.contains("trace-cmd report -t") && text.contains("4096"), "{text}");
    }

    #[test]
    fn a_cut_or_unknown_file_is_named_all_the_same() {
        for n in 0..20 {
            let head = &b"\x17\x08\x44tracing5\0\x01\x08\0\0"[..n.min(16)];
            let _ = describe(head);
        }
        assert!(refusal("old.dat", b"\x17\x08\x44tracing5\0").to_string().contains('5'));
    }
}
