//! Where bytes come from: a file, memory or a stream, plain or packed, in blocks of whole lines.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use memchr::{memchr, memrchr};

use super::LINE_LIMIT;
use crate::error::{Error, InputError, Result};
use crate::watch::Watch;

/// Bytes per block: small enough to stay in a core's own cache, large enough that joining costs little.
pub const BLOCK: usize = 512 * 1024;

/// Bytes that tell what a file is.
pub const HEAD: usize = 4096;

/// Memory an xz stream may ask for; `xz -9` needs 65 MB to unpack.
const XZ_MEMORY: u64 = 128 << 20;

/// How often a read from a pipe looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// One input as the caller gave it.
pub enum Origin<'a> {
    /// A file; pipes and devices work too.
    Path(PathBuf),
    /// Text in memory.
    Bytes(&'a [u8]),
    /// Anything that reads.
    Stream(Box<dyn Read + Send + 'a>),
}

/// An input with the name used in messages.
pub struct Source<'a> {
    /// As the caller named it, or `<bytes>`, `<stream>`.
    pub name: String,
    /// Where the bytes are.
    pub origin: Origin<'a>,
}

/// An [`InputError`] about a whole file.
pub fn refuse(path: &str, code: &'static str, reason: &str, remedy: &str) -> Error {
    InputError {
        path: path.to_owned(),
        line: None,
        code,
        reason: reason.to_owned(),
        excerpt: String::new(),
        remedy: remedy.to_owned(),
    }
    .into()
}

/// Room for one block, filled again and again; text in memory is not copied.
#[derive(Debug, Default)]
pub struct Block<'a> {
    bytes: Vec<u8>,
    used: usize,
    in_memory: Option<&'a [u8]>,
}

impl Block<'_> {
    /// What was read.
    pub fn text(&self) -> &[u8] {
        self.in_memory.unwrap_or(&self.bytes[..self.used])
    }

    /// Replaces what was read.
    pub fn replace(&mut self, text: Vec<u8>) {
        self.used = text.len();
        self.bytes = text;
        self.in_memory = None;
    }

    /// Drops the first bytes.
    pub fn skip(&mut self, n: usize) {
        let rest = self.text()[n..].to_vec();
        self.replace(rest);
    }
}

/// A source being read: packed text is unpacked, lines are kept whole.
pub struct Blocks<'a> {
    name: String,
    reader: Box<dyn Read + Send + 'a>,
    /// Text in memory that is not read yet, instead of a reader.
    in_memory: Option<&'a [u8]>,
    /// The first bytes, at least [`HEAD`] unless the source is shorter.
    head: Vec<u8>,
    packing: Option<&'static str>,
    /// Start of a line whose end is not read yet.
    carry: Vec<u8>,
    /// The rest of the current line is beyond the limit.
    skipping: bool,
    ended: bool,
}

impl<'a> Blocks<'a> {
    /// Opens a source and looks at its first bytes.
    ///
    /// # Errors
    /// [`Error::Input`] if it cannot be opened or is packed in a way that is not read.
    pub fn open(source: Source<'a>, watch: &'a Watch) -> Result<Self> {
        let name = source.name;
        let in_memory = match source.origin {
            Origin::Bytes(bytes) if packing_of(bytes).is_none() => Some(bytes),
            _ => None,
        };
        let mut reader = open(&name, source.origin, watch)?;
        let mut magic = Vec::with_capacity(6);
        let first = reader.by_ref().take(6).read_to_end(&mut magic);
        first.map_err(|e| failure(&name, None, watch, &e))?;
        let packing = packing_of(&magic);
        let whole = io::Cursor::new(magic).chain(reader);
        let reader: Box<dyn Read + Send + 'a> = match packing {
            None => Box::new(whole),
            Some("gzip") => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            Some("xz") => Box::new(unxz(&name, whole)?),
            Some(other) => {
                let reason = format!("the file is packed with {other}, which is not read");
                let remedy = format!("unpack it first: {other} -dc FILE > trace.txt");
                return Err(refuse(&name, other, &reason, &remedy));
            }
        };
        let head = in_memory.map_or(Vec::new(), |text| text[..text.len().min(HEAD)].to_vec());
        let carry = Vec::new();
        Ok(Self { name, reader, in_memory, head, packing, carry, skipping: false, ended: false })
    }

    /// The name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes, which tell what the source is; known once a block was read.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Fills a block with whole lines, except that the last line of the source may lack its end.
    ///
    /// Returns false at the end of the source. A line of more than [`LINE_LIMIT`] bytes is cut to one
    /// byte more, so that it is recognised as too long and never kept in memory.
    pub fn next(&mut self, block: &mut Block<'a>, watch: &Watch) -> Result<bool> {
        if let Some(text) = &mut self.in_memory {
            block.in_memory = Some(next_in_memory(text));
            return Ok(!block.text().is_empty());
        }
        block.used = 0;
        block.bytes.resize(BLOCK + LINE_LIMIT + 1, 0);
        while !self.ended {
            block.used = self.carry.len();
            block.bytes[..block.used].copy_from_slice(&self.carry);
            self.fill(block, watch)?;
            if self.head.is_empty() {
                self.head = block.bytes[..block.used.min(HEAD)].to_vec();
            }
            let last = memrchr(b'\n', block.text());
            match last {
                _ if self.ended => return Ok(block.used > 0),
                Some(last) => {
                    self.keep(&block.bytes[last + 1..block.used]);
                    block.used = last + 1;
                    return Ok(true);
                }
                None => self.keep(&block.bytes[..block.used]),
            }
        }
        Ok(false)
    }

    /// Reads until the block is full or the source ends.
    fn fill(&mut self, block: &mut Block<'a>, watch: &Watch) -> Result<()> {
        let full = block.used + BLOCK;
        while block.used < full && !self.ended {
            watch.advance(0)?;
            let n = match self.reader.read(&mut block.bytes[block.used..full]) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(failure(&self.name, self.packing, watch, &e)),
            };
            self.ended = n == 0;
            block.used = self.drop_rest(&mut block.bytes, block.used, n);
        }
        Ok(())
    }

    /// Drops what belongs to a line that is already known to be too long; returns the new length.
    fn drop_rest(&mut self, block: &mut [u8], used: usize, n: usize) -> usize {
        if !self.skipping {
            return used + n;
        }
        match memchr(b'\n', &block[used..used + n]) {
            None => used,
            Some(end) => {
                self.skipping = false;
                block.copy_within(used + end..used + n, used);
                used + n - end
            }
        }
    }

    fn keep(&mut self, rest: &[u8]) {
        self.skipping = rest.len() > LINE_LIMIT;
        self.carry = rest[..rest.len().min(LINE_LIMIT + 1)].to_vec();
    }
}

/// Takes whole lines off the start of `text`: about a block, or one longer line.
fn next_in_memory<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    if text.len() <= BLOCK {
        return std::mem::take(text);
    }
    let end = match memrchr(b'\n', &text[..BLOCK]) {
        Some(last) => last + 1,
        None => memchr(b'\n', &text[BLOCK..]).map_or(text.len(), |n| BLOCK + n + 1),
    };
    let (block, rest) = text.split_at(end);
    *text = rest;
    block
}

fn open<'a>(name: &str, origin: Origin<'a>, watch: &'a Watch) -> Result<Box<dyn Read + Send + 'a>> {
    let path = match origin {
        Origin::Bytes(bytes) => return Ok(Box::new(bytes)),
        Origin::Stream(reader) => return Ok(reader),
        Origin::Path(path) => path,
    };
    let meta = std::fs::metadata(&path).map_err(|e| failure(name, None, watch, &e))?;
    if meta.is_dir() {
        let remedy = "name a file; tickless.read finds out what a directory holds";
        return Err(refuse(name, "directory", "this is a directory", remedy));
    }
    if !meta.is_file() {
        return Ok(Box::new(Piped::new(path, watch)));
    }
    let file = File::open(&path).map_err(|e| failure(name, None, watch, &e))?;
    Ok(Box::new(file))
}

/// A pipe or device, opened and read by a thread of its own: waiting for a writer or for data can be
/// given up.
struct Piped<'a> {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
    watch: &'a Watch,
}

impl<'a> Piped<'a> {
    fn new(path: PathBuf, watch: &'a Watch) -> Self {
        let (send, chunks) = mpsc::sync_channel(4);
        // Ends with the pipe, or at the first chunk that nobody wants any more.
        std::thread::spawn(move || {
            let mut file = match File::open(path) {
                Ok(file) => file,
                Err(e) => return drop(send.send(Err(e))),
            };
            loop {
                let mut chunk = vec![0; 64 * 1024];
                let read = file.read(&mut chunk).map(|n| {
                    chunk.truncate(n);
                    chunk
                });
                let last = read.as_ref().map_or(true, Vec::is_empty);
                if send.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, chunk: io::Cursor::default(), watch }
    }
}

impl Read for Piped<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.chunk.read(into)?;
        if n > 0 || into.is_empty() {
            return Ok(n);
        }
        loop {
            match self.chunks.recv_timeout(LOOK) {
                Ok(chunk) => {
                    self.chunk = io::Cursor::new(chunk?);
                    return self.chunk.read(into);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
                Err(mpsc::RecvTimeoutError::Timeout) if self.watch.advance(0).is_err() => {
                    return Err(io::Error::other("interrupted"));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn packing_of(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0x1F, 0x8B, ..] => Some("gzip"),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some("zstd"),
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        _ => None,
    }
}

fn unxz<R: Read>(name: &str, reader: R) -> Result<liblzma::read::XzDecoder<R>> {
    let stream =
        liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED);
    let stream = stream.map_err(|e| refuse(name, "xz", &format!("cannot unpack xz: {e}"), ""))?;
    Ok(liblzma::read::XzDecoder::new_stream(reader, stream))
}

/// A failed read: the caller's wish to stop, damaged packing, or the system's own reason.
fn failure(name: &str, packing: Option<&'static str>, watch: &Watch, e: &io::Error) -> Error {
    if watch.advance(0).is_err() {
        return Error::Interrupted;
    }
    match (packing, e.kind()) {
        (Some(packing), kind) if kind != io::ErrorKind::PermissionDenied => refuse(
            name,
            packing,
            &format!("the {packing} data is damaged or ends early ({e})"),
            &format!(
                "copy the file again, or save what can be read: {packing} -dc FILE > trace.txt"
            ),
        ),
        (_, io::ErrorKind::NotFound) => refuse(name, "not-found", "no such file", "check the path"),
        (_, io::ErrorKind::PermissionDenied) => {
            refuse(name, "no-permission", "permission denied", "read it as a user who may")
        }
        _ => refuse(name, "unreadable", &format!("cannot read: {e}"), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(origin: Origin) -> Vec<Vec<u8>> {
        let watch = Watch::new();
        let source = Source { name: "test".into(), origin };
        let mut blocks = Blocks::open(source, &watch).unwrap();
        let (mut block, mut all) = (Block::default(), Vec::new());
        while blocks.next(&mut block, &watch).unwrap() {
            all.push(block.text().to_vec());
        }
        all
    }

    #[test]
    fn blocks_hold_whole_lines_and_add_up_to_the_text() {
        let line = format!("{}\n", "x".repeat(4999));
        let text = line.repeat(3 * BLOCK / 5000) + "no end";
        let stream = || Origin::Stream(Box::new(text.as_bytes()));
        for all in [blocks(Origin::Bytes(text.as_bytes())), blocks(stream())] {
            assert!(all.len() >= 3);
            assert!(all[..all.len() - 1].iter().all(|b| b.ends_with(b"\n")));
            assert_eq!(all.concat(), text.as_bytes());
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_cut_and_its_neighbours_stay() {
        for n in [LINE_LIMIT + 1, BLOCK - 1, BLOCK, 5 * BLOCK + 17] {
            let text = format!("before\n{}\nafter\n", "x".repeat(n));
            let all = blocks(Origin::Stream(Box::new(text.as_bytes()))).concat();
            let lines: Vec<&[u8]> = all.split(|&b| b == b'\n').collect();
            assert_eq!((lines[0], lines[2]), (&b"before"[..], &b"after"[..]), "{n}");
            assert!(lines[1].len() > LINE_LIMIT && lines[1].len() <= n, "{n}");
        }
    }
}
