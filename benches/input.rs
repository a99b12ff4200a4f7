//! Speed of reading trace text, beside counting the newlines of the same bytes.
//!
//! `cargo bench --bench input [MEGABYTES] [WORD]`. Each way (or those whose name holds the word) runs
//! several times in turn; the best is shown.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use tickless::input::batch::Batch;
use tickless::input::ftrace::{Layout, Style, read_block};
use tickless::input::source::{BLOCK, Origin, Source};
use tickless::input::wrapping::Wrapping;
use tickless::input::{Options, read_trace};
use tickless::watch::Watch;

const ROUNDS: usize = 7;

/// Name and work of one way; the work returns a count.
type Way<'a> = (&'static str, Box<dyn Fn() -> u64 + 'a>);

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(128usize);
    let text = trace_text(megabytes << 20);
    let path = std::env::temp_dir().join(format!("tickless-bench-{}.txt", std::process::id()));
    std::fs::write(&path, &text).expect("the temporary folder has room");
    let style = Style { layout: Layout::Ftrace, wrapping: Wrapping::Bare, unit: None };
    let in_memory = || Origin::Bytes(&text);
    let whole = |origin: Origin| {
        let source = Source { name: "bench".into(), origin };
        let trace = read_trace(vec![source], Options::default(), &Watch::new());
        trace.map_or(0, |t| t.batch.used)
    };
    let mut ways: Vec<Way> = vec![
        ("newlines, memchr, cached block", Box::new(|| newlines(&text, BLOCK))),
        ("newlines, memchr, whole text", Box::new(|| newlines(&text, text.len()))),
        ("newlines, one by one", Box::new(|| text.iter().filter(|&&b| b == b'\n').count() as u64)),
        ("newlines, file in blocks", Box::new(|| file_newlines(&path))),
        ("blocks to columns, one core", Box::new(|| blocks(&text, style))),
        ("read_trace, memory", Box::new(|| whole(in_memory()))),
        ("read_trace, file", Box::new(|| whole(Origin::Path(path.clone())))),
    ];
    let word =
        std::env::args().skip(2).find(|a| !a.starts_with("--") && a.parse::<usize>().is_err());
    ways.retain(|(name, _)| {
        name.contains("whole text") || word.as_ref().is_none_or(|w| name.contains(w))
    });
    let base = ways.iter().position(|(name, _)| name.contains("whole text")).unwrap_or(0);
    let mut best = vec![f64::INFINITY; ways.len()];
    for _ in 0..ROUNDS {
        for (way, best) in ways.iter_mut().zip(&mut best) {
            let start = Instant::now();
            black_box(way.1());
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let events = blocks(&text, style) as f64;
    println!("{} MB, {events} events, {} cores", text.len() >> 20, rayon::current_num_threads());
    for ((name, _), seconds) in ways.iter().zip(&best) {
        let speed = text.len() as f64 / seconds / 1e6;
        println!(
            "{name:<32} {speed:>8.0} MB/s  {:>7.2} M events/s  {:>5.2} x newlines (whole text)",
            events / seconds / 1e6,
            best[base] / seconds
        );
    }
    let _ = std::fs::remove_file(&path);
}

fn newlines(text: &[u8], step: usize) -> u64 {
    text.chunks(step).map(|c| memchr::memchr_iter(b'\n', c).count() as u64).sum()
}

fn file_newlines(path: &std::path::Path) -> u64 {
    use std::io::Read as _;
    let mut file = std::fs::File::open(path).expect("the file was just written");
    let mut block = vec![0; BLOCK];
    let mut total = 0;
    while let Ok(n @ 1..) = file.read(&mut block) {
        total += newlines(&block[..n], n);
    }
    total
}

fn blocks(text: &[u8], style: Style) -> u64 {
    let mut batch = Batch::default();
    let mut all = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let most = &rest[..rest.len().min(BLOCK)];
        let end = memchr::memrchr(b'\n', most).map_or(most.len(), |i| i + 1);
        read_block(&rest[..end], style, &mut batch);
        all += batch.used;
        batch.clear();
        rest = &rest[end..];
    }
    black_box(all)
}

/// The mixture of a busy machine: idle entry, wakeup, idle exit, switch in, switch out.
fn trace_text(bytes: usize) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + 1024);
    text.push_str("# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:8\n#\n");
    let names = ["kworker/0:1", "rcu_preempt", "hackbench", "ksoftirqd/3", "tbench_srv", "bash"];
    let (mut x, mut us) = (88_172_645_463_325_252u64, 100_000_000u64);
    while text.len() < bytes {
        // xorshift64: any fixed stream will do.
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let (cpu, pid) = (x % 8, x % 60_000 + 2);
        let name = names[(x >> 20) as usize % names.len()];
        us += x % 40 + 1;
        let idle = format!("          <idle>-0       [{cpu:03}]");
        let stamp = format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000);
        let _ = write!(
            text,
            "{idle} d..1. {stamp}: cpu_idle: state={} cpu_id={cpu}\n\
             {idle} d.h4. {stamp}: sched_wakeup: comm={name} pid={pid} prio=120 target_cpu={cpu:03}\n\
             {idle} ...1. {stamp}: cpu_idle: state=4294967295 cpu_id={cpu}\n\
             {idle} d..2. {stamp}: sched_switch: prev_comm=swapper/{cpu} prev_pid=0 prev_prio=120 \
             prev_state=R ==> next_comm={name} next_pid={pid} next_prio=120\n\
             {name:>16}-{pid:<7} [{cpu:03}] d..2. {stamp}: sched_switch: prev_comm={name} \
             prev_pid={pid} prev_prio=120 prev_state=S ==> next_comm=swapper/{cpu} next_pid=0 \
             next_prio=120\n",
            x % 4,
        );
    }
    text.into_bytes()
}
