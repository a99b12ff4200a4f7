use std::hint::black_box;
use std::time::Instant;
use tickless::sched::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let policy = Policy::find(&a[1]).unwrap();
    let n: usize = a[2].parse().unwrap();
    let settings = policy.settings(8, 250).unwrap();
    let specs: Vec<TaskSpec> =
        (0..=n).map(|i| TaskSpec { nice: (i * 7 % 8) as i8 - 4, ..TaskSpec::default() }).collect();
    let mut tasks = Entities::new(&specs);
    let mut rq = (policy.build)(&settings);
    for i in 0..specs.len() {
        let id = TaskId(i as u32);
        rq.set_slice(&mut tasks, id, 0, 0);
        rq.enqueue(&mut tasks, id, Enqueue::Fork, 1 + i as i64);
    }
    let mut now = n as i64 + 1;
    rq.pick_next(&mut tasks, now);
    let mut best = f64::INFINITY;
    let mut same = 0u64;
    let mut total = 0u64;
    for _ in 0..std::env::var("REP").map_or(3000, |r| r.parse().unwrap()) {
        let s = Instant::now();
        for _ in 0..2000 {
            now += black_box(30_000_000);
            let c = rq.common().curr;
            rq.tick(&mut tasks, now);
            let d = rq.pick_next(&mut tasks, now);
            same += u64::from(c == d);
            total += 1;
        }
        best = best.min(s.elapsed().as_nanos() as f64 / 2000.0);
    }
    println!("{} {} {best:.1} same {:.2}", a[1], n, same as f64 / total as f64);
}
