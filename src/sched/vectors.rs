//! Single rules on plain integers: what a golden function vector asks.
//!
//! A vector is a row of integers, a result another; [`apply_rule`] takes many at once. The rules
//! are the very functions the run queues use; nothing is decided here.

use super::cfs_rules::{CfsRules, QueueLoad, TickVerdict};
use super::eevdf::Eevdf;
use super::eevdf_delayed::{DelayedEevdf, Kernel, V6_12, V7_2, Version};
use super::entity::{Class, Entities, Entity, TaskId, TaskSpec};
use super::features::Feature;
use super::runqueue::{Enqueue, Pick, Policy, Resched, Runqueue, Settings};
use super::weights::{self, MAX_NICE, MIN_NICE};
use crate::error::{Error, Result};

/// What a rule makes of a vector; `None` if the vector has the wrong form.
type Rule = fn(&[i64]) -> Option<Vec<i64>>;

/// Every rule, named as the golden files are.
pub const RULES: &[(&str, Rule)] = &[
    ("calc_delta", calc_delta),
    ("calc_delta_fair", calc_delta_fair),
    ("place_cfs", place_cfs),
    ("preempt_tick", preempt_tick),
    ("sched_slice", sched_slice),
    ("wakeup_preempt", wakeup_preempt),
    ("update_deadline", update_deadline),
    ("snapshot", snapshot_2023),
    ("vlen_6_12", calc_delta_fair),
    ("vlen_7_2", vlen_7_2),
    ("snapshot_6_12", |v| snapshot_delayed::<V6_12>(v)),
    ("snapshot_7_2", |v| snapshot_delayed::<V7_2>(v)),
];

/// Applies a rule to vectors that lie in one row, cut at `ends`; the results have the same form.
///
/// # Errors
/// [`Error::UnknownName`] for a rule that does not exist, [`Error::InvalidParameter`] with the
/// index of a vector that has the wrong form.
pub fn apply_rule(rule: &str, values: &[i64], ends: &[i64]) -> Result<(Vec<i64>, Vec<i64>)> {
    let Some((_, apply)) = RULES.iter().find(|(name, _)| *name == rule) else {
        return Err(Error::UnknownName {
            kind: "rule",
            name: rule.to_owned(),
            nearest: RULES.iter().map(|(name, _)| (*name).to_owned()).collect(),
        });
    };
    let (mut results, mut result_ends, mut from) = (vec![], vec![], 0);
    for (i, &end) in ends.iter().enumerate() {
        let to = usize::try_from(end).unwrap_or(usize::MAX);
        let result = values.get(from..to).and_then(apply);
        let result = result.ok_or_else(|| {
            Error::invalid(format!("vectors[{i}]"), format!("not a vector of rule {rule:?}"))
        })?;
        results.extend(result);
        result_ends.push(results.len() as i64);
        from = to;
    }
    Ok((results, result_ends))
}

fn entity(nice: i64, policy: i64) -> Option<Entity> {
    let class = match policy {
        0 => Class::Normal,
        3 => Class::Batch,
        5 => Class::Idle,
        _ => return None,
    };
    let nice = (MIN_NICE..=MAX_NICE).contains(&nice).then_some(nice as i8)?;
    Some(Entities::new(&[TaskSpec { nice, class, slice: 0 }])[TaskId(0)])
}

/// Settings of a policy where the CPU count gives this factor.
fn settings(policy: &str, factor: i64, hz: i64) -> Option<Settings> {
    let ncpus = *[1, 2, 4, 8].get(usize::try_from(factor - 1).ok()?)?;
    Policy::find(policy).ok()?.settings(ncpus, hz).ok()
}

fn cfs_rules(factor: i64, capped: bool) -> Option<CfsRules> {
    let settings = settings("cfs", factor, 250)?;
    Some(CfsRules::new(settings.features, &settings.tunables, capped))
}

fn queue(nr: i64, load: i64) -> QueueLoad {
    QueueLoad { nr, load: load as u64, only_idle: false }
}

fn calc_delta(v: &[i64]) -> Option<Vec<i64>> {
    let &[delta, weight, load] = v else { return None };
    let (weight, load) = (weights::scale_down(weight as u64), weights::scale_down(load as u64));
    Some(vec![weights::share(delta as u64, weight, load) as i64])
}

fn calc_delta_fair(v: &[i64]) -> Option<Vec<i64>> {
    let &[delta, nice, policy] = v else { return None };
    Some(vec![entity(nice, policy)?.vlen(delta)])
}

fn vlen_7_2(v: &[i64]) -> Option<Vec<i64>> {
    let &[delta, nice, policy] = v else { return None };
    Some(vec![weights::vlen_exact(delta, entity(nice, policy)?.weight)])
}

fn place_cfs(v: &[i64]) -> Option<Vec<i64>> {
    let &[factor, min_vruntime, vruntime, nice, initial, nr, load] = v else { return None };
    let rules = cfs_rules(factor, true)?;
    let e = Entity { vruntime, ..entity(nice, 0)? };
    Some(vec![if initial == 1 {
        rules.place_new(&e, min_vruntime, queue(nr, load))
    } else {
        rules.place_woken(&e, min_vruntime)
    }])
}

fn sched_slice(v: &[i64]) -> Option<Vec<i64>> {
    let &[factor, nr, load, nice, on_rq] = v else { return None };
    let e = entity(nice, 0)?;
    let (nr, load) = if on_rq == 1 { (nr, load) } else { (nr + 1, load + i64::from(e.weight)) };
    Some(vec![cfs_rules(factor, true)?.ideal_slice(&e, queue(nr, load))])
}

fn wakeup_preempt(v: &[i64]) -> Option<Vec<i64>> {
    let &[factor, runner, wakee, nice] = v else { return None };
    let waiting = Entity { vruntime: wakee, ..entity(nice, 0)? };
    let running = Entity { vruntime: runner, ..waiting };
    Some(vec![i64::from(cfs_rules(factor, true)?.verdict(&running, &waiting))])
}

fn preempt_tick(v: &[i64]) -> Option<Vec<i64>> {
    let &[factor, ran, vruntime, leftmost, nice, nr, load, cap] = v else { return None };
    let e = Entity { vruntime, ..entity(nice, 0)? };
    let verdict = cfs_rules(factor, cap == 1)?.tick(&e, ran, leftmost, queue(nr, load));
    Some(vec![i64::from(verdict != TickVerdict::GoOn)])
}

fn update_deadline(v: &[i64]) -> Option<Vec<i64>> {
    let &[factor, vruntime, deadline, nice, nr] = v else { return None };
    let queue = Eevdf::new(&settings("eevdf", factor, 250)?);
    let mut e = Entity { vruntime, deadline, ..entity(nice, 0)? };
    let renewed = queue.renew(&mut e);
    Some(vec![e.deadline, i64::from(renewed && nr > 1)])
}

/// The part of a snapshot that all versions share.
struct Snapshot {
    curr: Option<TaskId>,
    curr_protected: bool,
    lag_of: TaskId,
    /// The queued entities and, as the last one, a new task.
    tasks: Entities,
}

impl Snapshot {
    /// Takes nice, virtual run time, deadline and perhaps slice of `n` entities.
    fn new(head: [i64; 4], new_nice: i64, rows: &[i64], width: usize) -> Option<Self> {
        let [n, curr, curr_protected, lag_of] = head;
        let n = usize::try_from(n).ok().filter(|&n| n > 0 && n < 1 << 16)?;
        if rows.len() != n * width || !(-1..n as i64).contains(&curr) {
            return None;
        }
        let lag_of = u32::try_from(lag_of).ok().filter(|&i| (i as usize) < n)?;
        let nices = rows.chunks(width).map(|row| row[0]).chain([new_nice]);
        let spec = |nice| entity(nice, 0).map(|e| TaskSpec { nice: e.nice, ..Default::default() });
        let specs: Vec<TaskSpec> = nices.map(spec).collect::<Option<_>>()?;
        let mut tasks = Entities::new(&specs);
        for (i, row) in rows.chunks(width).enumerate() {
            let e = &mut tasks[TaskId(i as u32)];
            e.vruntime = row[1];
            e.deadline = row[2];
        }
        Some(Self {
            curr: u32::try_from(curr).ok().map(TaskId),
            curr_protected: curr_protected == 1,
            lag_of: TaskId(lag_of),
            tasks,
        })
    }

    fn queued(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.new_task().0).map(TaskId)
    }

    fn new_task(&self) -> TaskId {
        TaskId(self.tasks.len() as u32 - 1)
    }
}

fn number(id: Option<TaskId>) -> i64 {
    id.map_or(-1, |id| i64::from(id.0))
}

fn snapshot_2023(v: &[i64]) -> Option<Vec<i64>> {
    let (&[factor, hz, n, curr, protected, reference, lag_of, nice, vlag, initial], rows) =
        v.split_first_chunk()?;
    let mut shot = Snapshot::new([n, curr, protected, lag_of], nice, rows, 3)?;
    if let Some(c) = shot.curr.filter(|_| shot.curr_protected) {
        shot.tasks.ledger_mut(c).vlag = shot.tasks[c].deadline;
    }
    let mut settings = settings("eevdf-curb", factor, hz)?;
    let mut pick = |parity: bool, pick: Pick| {
        settings.features = settings.features.with(Feature::RunToParity, parity);
        settings.pick = pick;
        let mut tasks = shot.tasks.clone();
        let queue = Eevdf::restored(&settings, &mut tasks, reference, shot.curr, shot.queued());
        let choice = queue.choose(&tasks);
        (queue, tasks, choice)
    };
    let protected_choice = pick(true, Pick::Walk).2;
    let ideal_choice = pick(false, Pick::Ideal).2;
    let (queue, mut tasks, choice) = pick(false, Pick::Walk);
    let seen = queue.observe(&tasks, None);
    let eligible: Vec<bool> =
        shot.queued().map(|id| queue.observe(&tasks, Some(id)).eligible == Some(true)).collect();
    let mut out = vec![seen.sum_key_weight, seen.sum_weight, seen.avg_vruntime];
    out.extend(eligible.iter().map(|&e| i64::from(e)));
    out.extend([number(choice), number(protected_choice)]);
    out.push(unique_ideal(&tasks, &eligible, ideal_choice));
    out.push(queue.lag(&tasks, shot.lag_of));
    let new = shot.new_task();
    tasks.ledger_mut(new).vlag = vlag;
    queue.place(&mut tasks, new, initial == 1);
    out.extend([tasks[new].vruntime, tasks[new].deadline]);
    Some(out)
}

/// The ideal choice, -1 if nobody is eligible, -2 if several have the earliest deadline.
fn unique_ideal(tasks: &Entities, eligible: &[bool], choice: Option<TaskId>) -> i64 {
    let Some(choice) = choice.filter(|_| eligible.contains(&true)) else { return -1 };
    let rivals = (0..eligible.len())
        .filter(|&i| eligible[i] && tasks[TaskId(i as u32)].deadline == tasks[choice].deadline);
    if rivals.count() == 1 { i64::from(choice.0) } else { -2 }
}

fn snapshot_delayed<K: Kernel>(v: &[i64]) -> Option<Vec<i64>> {
    let (&[factor, hz, n, curr, protected, reference, lag_of], rest) = v.split_first_chunk()?;
    let (&[nice, vlag, slice, initial, relative, distance], rows) = rest.split_first_chunk()?;
    let mut shot = Snapshot::new([n, curr, protected, lag_of], nice, rows, 4)?;
    let policy = if K::VERSION == Version::V6_12 { "eevdf-6.12" } else { "eevdf-7.2" };
    let mut settings = settings(policy, factor, hz)?;
    // Snapshots ask the preemption test alone; an armed timer could ask before it.
    settings.features = settings.features.with(Feature::Hrtick, false);
    let mut queue = DelayedEevdf::<K>::new(&settings);
    let new = shot.new_task();
    let slices = rows.chunks(4).map(|row| row[3]).chain([slice]);
    for (id, slice) in shot.queued().chain([new]).zip(slices) {
        queue.set_slice(&mut shot.tasks, id, slice, 0);
    }
    let queued = shot.queued();
    queue.restore(&mut shot.tasks, reference, shot.curr, queued);
    let tasks = &mut shot.tasks;
    if let Some(c) = shot.curr {
        let (e, ledger) = tasks.both_mut(c);
        let mark = if K::VERSION == Version::V6_12 { e.deadline } else { e.vruntime };
        ledger.vlag = if shot.curr_protected { mark } else { mark.wrapping_add(1) };
        ledger.vprot = mark.wrapping_add(i64::from(shot.curr_protected));
    }
    let seen = queue.observe(tasks, None);
    let mut out = vec![seen.sum_key_weight, seen.sum_weight];
    out.extend(
        (0..new.0).map(|i| i64::from(queue.observe(tasks, Some(TaskId(i))).eligible == Some(true))),
    );
    out.push(seen.avg_vruntime);
    out.extend([true, false].map(|protect| number(queue.choose(tasks, protect, false))));
    out.push(queue.lag_now(tasks, shot.lag_of));
    out.push(queue.fresh_protection(tasks));
    tasks.ledger_mut(new).vlag = vlag;
    if relative == 1 {
        tasks[new].deadline = distance;
        tasks[new].rel_deadline = true;
    }
    let how = if initial == 1 { Enqueue::Fork } else { Enqueue::Wake { sync: false } };
    queue.enqueue(tasks, new, how, 0);
    out.extend([tasks[new].vruntime, tasks[new].deadline]);
    queue.wakeup_preempt(tasks, new, how, 0);
    let preempts = i64::from(queue.common().resched != Resched::No);
    out.push(if shot.curr.is_some() { preempts } else { -1 });
    out.push(queue.observe(tasks, None).protect);
    Some(out)
}
