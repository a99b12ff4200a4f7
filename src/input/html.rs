//! Systrace and Catapult pages: the trace inside the page.
//!
//! Either a `<script class="trace-data">` block holds the text as it is, or a JavaScript string
//! behind `linuxPerfData` holds it with `\n\` at every line end.

use memchr::memmem;

use super::source::Block;

/// Turns a page, block by block, into its trace; line numbers stay those of the page.
#[derive(Debug, Default)]
pub struct Page {
    inside: Option<Container>,
    /// A container was seen.
    pub found: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Script,
    JavaScript,
}

/// Stands for a line of the page that is no part of the trace.
const OUTSIDE: &[u8] = b"#";

impl Page {
    /// Replaces every line of the page that is no part of the trace by a comment.
    pub fn strip(&mut self, block: &mut Block) {
        let text = self.stripped(block.text());
        block.replace(text);
    }

    fn stripped(&mut self, block: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.len());
        for line in block.split_inclusive(|&b| b == b'\n') {
            let ended = line.ends_with(b"\n");
            let text = if ended { &line[..line.len() - 1] } else { line };
            self.line(text, &mut out);
            if ended {
                out.push(b'\n');
            }
        }
        out
    }

    fn line(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        match self.inside {
            None => {
                self.inside = opens(text);
                self.found |= self.inside.is_some();
                let behind = memmem::rfind(text, b"trace-data").and_then(|at| {
                    let open = at + memchr::memchr(b'>', &text[at..])? + 1;
                    (self.inside == Some(Container::Script)).then(|| &text[open..])
                });
                match behind {
                    Some(rest) if !rest.trim_ascii().is_empty() => self.line(rest, out),
                    _ => out.extend_from_slice(OUTSIDE),
                }
            }
            Some(Container::Script) => match memmem::find(text, b"</script>") {
                None => out.extend_from_slice(text),
                Some(end) => {
                    self.inside = None;
                    out.extend_from_slice(if end == 0 { OUTSIDE } else { &text[..end] });
                }
            },
            Some(Container::JavaScript) => self.javascript(text, out),
        }
    }

    fn javascript(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let (text, more) = match text.strip_suffix(b"\\") {
            Some(rest) => (rest.strip_suffix(b"\\n").unwrap_or(rest), true),
            None => (text, false),
        };
        if !more {
            self.inside = None;
            out.extend_from_slice(OUTSIDE);
            return;
        }
        let mut escaped = false;
        for &b in text {
            escaped = !escaped && b == b'\\';
            if !escaped {
                out.push(b);
            }
        }
    }
}

fn opens(text: &[u8]) -> Option<Container> {
    if memmem::find(text, b"<script").is_some() && memmem::find(text, b"trace-data").is_some() {
        return Some(Container::Script);
    }
    let at = memmem::find(text, b"linuxPerfData")?;
    memmem::find(&text[at..], b"=").and(Some(Container::JavaScript))
}

/// True if the first bytes are those of a page.
pub fn is_page(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let word = |w: &[u8]| start.get(..w.len()).is_some_and(|s| s.eq_ignore_ascii_case(w));
    word(b"<!doctype html") || word(b"<html") || word(b"<!--") || word(b"<head")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_trace_of_a_page_remains_and_lines_keep_their_numbers() {
        let page =
            b"<html>\n<script class=\"trace-data\" type=\"x\">\n a-1\n b-2\n</script>\n</html>\n";
        let mut p = Page::default();
        assert_eq!(p.stripped(page), b"#\n#\n a-1\n b-2\n#\n#\n");
        assert!(p.found);
    }

    #[test]
    fn a_javascript_string_is_unescaped() {
        let page =
            b"<html>\nvar linuxPerfData = \"\\n\\\n a \\\"b\\\" \\\\c\\n\\\n d\\n\\\n\";\nvar x\n";
        let mut p = Page::default();
        assert_eq!(p.stripped(page), b"#\n#\n a \"b\" \\c\n d\n#\n#\n");
    }
}
