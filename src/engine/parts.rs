//! One cache's share of a large machine: when what runs there tells what runs on the whole.
//!
//! A workload that falls into equal groups of tasks which share nothing may be divided by the number
//! of last-level caches, if there are as many groups for each: nobody is ever woken from another cache.

use std::collections::BTreeMap;

use crate::workload::{At, Op, Plan};

/// Something that tasks act on: its kind and number.
type Thing = (u8, u32);

/// Returns why `part` is not one of `parts` equal shares of `whole`; `None` if it is.
pub fn obstacle(whole: &Plan, part: &Plan, parts: u32) -> Option<String> {
    if !whole.affinities.is_empty() && whole.tasks.iter().any(|t| t.affinity.is_some()) {
        return Some("tasks are confined to certain CPUs".into());
    }
    if let Some((thing, number)) = shared(whole) {
        return Some(format!("tasks of different groups share {} {number}", WORDS[thing as usize]));
    }
    let (all, one) = (groups(whole), groups(part));
    if all.len() != one.len() * parts as usize {
        return Some(format!(
            "{} groups of tasks do not fall into {parts} equal shares of {}",
            all.len(),
            one.len()
        ));
    }
    let sizes = |g: &BTreeMap<u32, usize>| {
        let mut sizes: Vec<usize> = g.values().copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    match (sizes(&all), sizes(&one)) {
        (a, b) if a == b && a.len() == 1 => None,
        _ => Some("its groups of tasks are not alike".into()),
    }
}

/// Names of the kinds of things.
const WORDS: [&str; 6] = ["channel", "lock", "line", "barrier", "board", "device"];

fn groups(plan: &Plan) -> BTreeMap<u32, usize> {
    let mut groups = BTreeMap::new();
    for task in &plan.tasks {
        *groups.entry(task.group).or_default() += 1;
    }
    groups
}

/// Returns a thing that tasks of two groups act on.
fn shared(plan: &Plan) -> Option<Thing> {
    let used: Vec<Vec<(u8, At)>> = (0..plan.programs.len()).map(|p| uses(plan, p)).collect();
    let mut owner: BTreeMap<Thing, u32> = BTreeMap::new();
    for task in &plan.tasks {
        let own = &plan.handles[task.handles as usize..][..task.handle_count as usize];
        for &(kind, at) in &used[task.program as usize] {
            let number = match at {
                At::Number(n) => Some(n),
                At::Handle(h) => own.get(h as usize).copied(),
                At::Caller => None, // belongs to a channel that was already looked at
            };
            let Some(number) = number else { continue };
            if *owner.entry((kind, number)).or_insert(task.group) != task.group {
                return Some((kind, number));
            }
        }
    }
    None
}

/// Returns what a program acts on, the programs that it forks included.
fn uses(plan: &Plan, program: usize) -> Vec<(u8, At)> {
    let (mut seen, mut open, mut found) = (vec![false; plan.programs.len()], vec![program], vec![]);
    while let Some(p) = open.pop() {
        if std::mem::replace(&mut seen[p], true) {
            continue;
        }
        for op in &plan.programs[p].ops {
            match *op {
                Op::Send { to, reply } => {
                    found.push((0, to));
                    found.extend(reply.map(|at| (0, at)));
                }
                Op::Receive(at) => found.push((0, at)),
                Op::Lock(at) | Op::Unlock(at) => found.push((1, at)),
                Op::Line(at) => found.push((2, at)),
                Op::Barrier(at) => found.push((3, at)),
                Op::Post(at) => found.extend([(4, at), (0, At::Handle(0))]),
                Op::Release { board, .. } => found.push((4, board)),
                Op::Io(at) => found.push((5, at)),
                Op::Fork(child) => open.push(child as usize),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::presets;
    use crate::workload::{Case, Parameters, workload};

    fn plan(name: &str, machine: &str, value: i64, set: &[(&str, f64)]) -> Plan {
        let (entry, machine) = (workload(name).unwrap(), presets::machine(machine).unwrap());
        let mut parameters = Parameters::defaults(entry);
        set.iter().for_each(|(name, value)| parameters.set(name, *value).unwrap());
        let case = Case { value, ..entry.case(&machine, "1").unwrap() };
        entry.build(&machine, &case, &parameters).unwrap()
    }

    #[test]
    fn pairs_that_share_nothing_may_be_divided() {
        let whole = plan("tbench", "epyc-2x64-nps1", 64, &[]);
        let part = plan("tbench", "epyc-2x64-nps1", 4, &[]);
        assert_eq!(obstacle(&whole, &part, 16), None);
        let reason = obstacle(&whole, &part, 8).unwrap();
        assert!(reason.contains("64 groups") && reason.contains("8 equal shares"), "{reason}");
    }

    #[test]
    fn workers_of_one_message_thread_may_not() {
        let whole = plan("schbench", "epyc-2x64-nps1", 64, &[]);
        let part = plan("schbench", "epyc-2x64-nps1", 4, &[]);
        assert!(obstacle(&whole, &part, 16).is_some());
    }

    #[test]
    fn tasks_confined_to_a_cpu_may_not() {
        let whole = plan("hogs", "epyc-2x64-nps1", 16, &[]);
        let part = plan("hogs", "epyc-2x64-nps1", 1, &[]);
        assert!(obstacle(&whole, &part, 16).unwrap().contains("confined"));
        let free = [("pinned", 0.0)];
        let whole = plan("hogs", "epyc-2x64-nps1", 16, &free);
        assert_eq!(obstacle(&whole, &plan("hogs", "epyc-2x64-nps1", 1, &free), 16), None);
    }

    #[test]
    fn a_channel_of_all_groups_is_named() {
        let mut whole = plan("tbench", "epyc-2x64-nps1", 2, &[]);
        whole.handles[4] = whole.handles[0];
        let reason = obstacle(&whole, &whole, 1).unwrap();
        assert!(reason.contains("share channel 0"), "{reason}");
    }
}
