//! What EEVDF promises about virtual time, checked against sums and searches done the slow way.

use proptest::prelude::*;
use tickless::sched::{
    Enqueue, Entities, Observed, POLICIES, Pick, Policy, Runqueue, Sleep, TaskId, TaskSpec, before,
};

/// One step of a random life of the queue.
#[derive(Debug, Clone, Copy)]
enum Step {
    Fork(u32),
    Wake(u32),
    Block,
    Tick,
}

fn steps(ntasks: u32) -> impl Strategy<Value = Vec<(i64, Step)>> {
    let step = prop_oneof![
        2 => (0..ntasks).prop_map(Step::Fork),
        3 => (0..ntasks).prop_map(Step::Wake),
        2 => Just(Step::Block),
        3 => Just(Step::Tick),
    ];
    prop::collection::vec((0..6_000_000i64, step), 1..300)
}

fn eevdf() -> impl Iterator<Item = &'static Policy> {
    POLICIES.iter().filter(|p| p.name.starts_with("eevdf"))
}

/// A run queue with its tasks and what the test knows about them.
struct Bench {
    rq: Box<dyn Runqueue>,
    tasks: Entities,
    started: Vec<bool>,
    now: i64,
    /// Factor on weights in the sums.
    factor: i64,
}

impl Bench {
    fn new(policy: &Policy, nices: &[i8], features: &[(&str, bool)], pick: Pick) -> Self {
        let settings = policy.settings(8, 250).unwrap();
        let known = |name: &str| policy.features.iter().any(|(f, _)| f.name() == name);
        let changes = features.iter().copied().filter(|(f, _)| known(f));
        let mut settings = policy.with_features(settings, changes).unwrap();
        settings.pick = pick;
        let specs: Vec<TaskSpec> =
            nices.iter().map(|&nice| TaskSpec { nice, ..TaskSpec::default() }).collect();
        let mut bench = Self {
            rq: (policy.build)(&settings),
            tasks: Entities::new(&specs),
            started: vec![false; specs.len()],
            now: 1,
            factor: if policy.name == "eevdf-7.2" { 1024 } else { 1 },
        };
        for id in bench.ids() {
            bench.rq.set_slice(&mut bench.tasks, id, 0, 0);
        }
        bench
    }

    fn ids(&self) -> Vec<TaskId> {
        (0..self.started.len() as u32).map(TaskId).collect()
    }

    fn seen(&self, id: Option<TaskId>) -> Observed {
        self.rq.observe(&self.tasks, id)
    }

    fn competitors(&self) -> Vec<TaskId> {
        self.ids().into_iter().filter(|&id| self.tasks[id].on_rq).collect()
    }

    fn enqueue(&mut self, id: TaskId, how: Enqueue) {
        self.rq.enqueue(&mut self.tasks, id, how, self.now);
        self.rq.wakeup_preempt(&mut self.tasks, id, how, self.now);
    }

    /// Carries out a step that makes sense now; the pick is left to the caller.
    fn carry_out(&mut self, (wait, step): (i64, Step)) {
        self.now += wait;
        match step {
            Step::Fork(i) if !self.started[i as usize] => {
                self.started[i as usize] = true;
                self.enqueue(TaskId(i), Enqueue::Fork);
            }
            Step::Wake(i)
                if self.started[i as usize]
                    && (!self.tasks[TaskId(i)].on_rq || self.tasks[TaskId(i)].delayed) =>
            {
                self.enqueue(TaskId(i), Enqueue::Wake { sync: false });
            }
            Step::Block if self.rq.common().curr.is_some() => {
                self.rq.block(&mut self.tasks, Sleep::Normal, self.now);
            }
            _ => self.rq.tick(&mut self.tasks, self.now),
        }
    }

    fn pick(&mut self) -> Option<TaskId> {
        self.rq.pick_next(&mut self.tasks, self.now)
    }

    fn check_sums(&self) -> Result<(), TestCaseError> {
        let (seen, curr) = (self.seen(None), self.rq.common().curr);
        let (mut sum_key_weight, mut sum_weight, mut lag, mut weights) = (0i64, 0i64, 0i128, 0i128);
        for id in self.competitors() {
            let e = &self.tasks[id];
            let weight = i64::from(e.weight) * self.factor;
            if curr != Some(id) {
                sum_key_weight += (e.vruntime - seen.reference) * weight;
                sum_weight += weight;
            }
            lag += i128::from(seen.avg_vruntime - e.vruntime) * i128::from(weight);
            weights += i128::from(weight);
        }
        prop_assert_eq!((seen.sum_key_weight, seen.sum_weight), (sum_key_weight, sum_weight));
        prop_assert_eq!(self.rq.common().nr as usize, self.competitors().len());
        // The average is rounded, so that the lags sum to less than one unit per weight.
        prop_assert!(lag.abs() <= weights, "total lag {} of weight {}", lag, weights);
        Ok(())
    }
}

fn nices() -> impl Strategy<Value = Vec<i8>> {
    prop::collection::vec(-20i8..=19, 8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::with_cases(48)
    })]

    #[test]
    fn total_lag_is_conserved_and_the_sums_are_those_of_the_tasks(
        nices in nices(), steps in steps(8)
    ) {
        for policy in eevdf() {
            let mut bench = Bench::new(policy, &nices, &[], Pick::Walk);
            for &step in &steps {
                bench.carry_out(step);
                bench.check_sums()?;
                bench.pick();
                bench.check_sums()?;
            }
        }
    }

    #[test]
    fn a_sleeper_returns_with_the_lag_it_left_with(nices in nices(), steps in steps(8)) {
        for policy in eevdf() {
            let mut bench = Bench::new(policy, &nices, &[("DELAY_DEQUEUE", false)], Pick::Walk);
            for &(wait, step) in &steps {
                let Step::Wake(i) = step else {
                    bench.carry_out((wait, step));
                    bench.pick();
                    continue;
                };
                let id = TaskId(i);
                let asleep = bench.started[i as usize] && !bench.tasks[id].on_rq;
                let alone = bench.rq.common().nr == 0;
                let stored = bench.tasks.ledger(id).vlag;
                bench.carry_out((wait, step));
                if asleep && !alone {
                    let lag = bench.seen(None).avg_vruntime - bench.tasks[id].vruntime;
                    // Two divisions and the inflation, each rounded.
                    prop_assert!((lag - stored).abs() <= 3, "{}: {lag} {stored}", policy.name);
                }
                bench.pick();
            }
        }
    }

    #[test]
    fn the_exact_pick_is_the_earliest_deadline_among_the_eligible(
        nices in nices(), steps in steps(8)
    ) {
        let plain = [("RUN_TO_PARITY", false), ("DELAY_DEQUEUE", false)];
        for policy in eevdf().filter(|p| p.name != "eevdf-7.2") {
            let mut bench = Bench::new(policy, &nices, &plain, Pick::Ideal);
            for &step in &steps {
                bench.carry_out(step);
                let deadline = |b: &Bench, id: TaskId| b.tasks[id].deadline;
                let eligible = |b: &Bench, id| b.seen(Some(id)).eligible == Some(true);
                let all = bench.competitors();
                let able: Vec<TaskId> =
                    all.iter().copied().filter(|&id| eligible(&bench, id)).collect();
                let alone = all.len() == 1;
                let Some(choice) = bench.pick() else {
                    prop_assert!(all.is_empty());
                    continue;
                };
                prop_assert!(alone || able.contains(&choice), "{}", policy.name);
                let best = deadline(&bench, choice);
                prop_assert!(
                    alone || able.iter().all(|&id| !before(deadline(&bench, id), best)),
                    "{}", policy.name
                );
            }
        }
    }

    #[test]
    fn the_walk_of_august_2023_never_picks_a_task_that_is_not_eligible(
        nices in nices(), steps in steps(8)
    ) {
        for policy in eevdf().filter(|p| !p.custom_slices) {
            let mut bench = Bench::new(policy, &nices, &[], Pick::Walk);
            for &step in &steps {
                bench.carry_out(step);
                let able: Vec<TaskId> = bench
                    .competitors()
                    .into_iter()
                    .filter(|&id| bench.seen(Some(id)).eligible == Some(true))
                    .collect();
                let choice = bench.pick();
                prop_assert!(choice.is_none_or(|id| able.contains(&id)), "{}", policy.name);
            }
        }
    }

    #[test]
    fn a_delayed_task_leaves_with_no_positive_lag(nices in nices(), steps in steps(8)) {
        for policy in eevdf().filter(|p| p.custom_slices) {
            let mut bench = Bench::new(policy, &nices, &[], Pick::Walk);
            for &step in &steps {
                bench.carry_out(step);
                let delayed: Vec<TaskId> =
                    bench.competitors().into_iter().filter(|&id| bench.tasks[id].delayed).collect();
                let choice = bench.pick();
                prop_assert!(choice.is_none_or(|id| !bench.tasks[id].delayed));
                for id in delayed.into_iter().filter(|&id| !bench.tasks[id].on_rq) {
                    prop_assert!(bench.tasks.ledger(id).vlag <= 0, "{}", policy.name);
                    prop_assert!(!bench.tasks[id].delayed, "{}", policy.name);
                }
            }
        }
    }
}
