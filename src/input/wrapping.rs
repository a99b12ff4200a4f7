//! Prefixes that every line of a text carries: mail quotes, kernel log time stamps.

use super::fields::{skip_blanks, trim};
use super::number::digits;

/// A prefix that every line carries and that is no part of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapping {
    /// None.
    Bare,
    /// `> ` of a quoted mail.
    Quote,
    /// `[10612.024297] ` of a kernel log, with or without its level `<4>`.
    KernelLog,
}

/// Takes the prefix that every line carries off one line; a line without it is left as it is.
pub fn unwrap(line: &[u8], wrapping: Wrapping) -> &[u8] {
    match wrapping {
        Wrapping::Bare => line,
        Wrapping::Quote => match line.strip_prefix(b">") {
            Some(rest) => rest.strip_prefix(b" ").unwrap_or(rest),
            None => line,
        },
        Wrapping::KernelLog => kernel_log_text(line).unwrap_or(line),
    }
}

/// The text behind `<4>[10612.024297] `.
fn kernel_log_text(line: &[u8]) -> Option<&[u8]> {
    let mut s = line;
    if let Some(level) = s.strip_prefix(b"<") {
        let (_, n) = digits(level);
        s = level[n..].strip_prefix(b">")?;
    }
    let s = s.strip_prefix(b"[")?;
    let s = &s[skip_blanks(s, 0)..];
    let (_, n) = digits(s);
    let s = s[n..].strip_prefix(b".")?;
    let (_, m) = digits(s);
    let s = s[m..].strip_prefix(b"]")?;
    (n > 0 && m > 0).then(|| s.strip_prefix(b" ").unwrap_or(s))
}

/// Finds the prefix that every line of `head` carries.
pub fn wrapping_of(head: &[u8]) -> Wrapping {
    let lines = || head.split(|&b| b == b'\n').take(200).filter(|l| !trim(l).is_empty());
    if lines().next().is_none() {
        return Wrapping::Bare;
    }
    // The last line of the head may be cut anywhere; a lone ">" or "[1" must not decide.
    let whole = lines().count().saturating_sub(1).max(1);
    if lines().take(whole).all(|l| l.starts_with(b">")) {
        Wrapping::Quote
    } else if lines().take(whole).all(|l| kernel_log_text(l).is_some()) {
        Wrapping::KernelLog
    } else {
        Wrapping::Bare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_counts_only_if_every_line_has_it() {
        assert_eq!(wrapping_of(b"> a\n> b\n"), Wrapping::Quote);
        assert_eq!(wrapping_of(b"> a\nb\n> c\n"), Wrapping::Bare);
        assert_eq!(wrapping_of(b"[    1.25] a\n<4>[10612.024297] b\n"), Wrapping::KernelLog);
        assert_eq!(wrapping_of(b""), Wrapping::Bare);
    }

    #[test]
    fn the_prefix_is_taken_off_once() {
        assert_eq!(unwrap(b"> > a", Wrapping::Quote), b"> a");
        assert_eq!(unwrap(b"<4>[ 12.5]  a-1 [000]", Wrapping::KernelLog), b" a-1 [000]");
        assert_eq!(unwrap(b"[x] a", Wrapping::KernelLog), b"[x] a");
    }
}
