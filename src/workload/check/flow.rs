//! All tasks together: who can ever send to whom.
//!
//! Every task is followed through its program without time: work takes none, branches are taken both
//! ways, and a receive is passed once somebody can have sent there. What is then still stuck is stuck
//! in every run, since nothing was ruled out that can happen.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::workload::names::Kind;
use crate::workload::{At, Full, Op, Plan};

/// Most stuck tasks that an error names.
const NAMED: usize = 4;

/// A task, or the children of one task that run the same program.
struct Actor {
    task: usize,
    program: usize,
    seen: Vec<bool>,
    received: Vec<u32>,
    answers: bool,
}

struct Flow<'a> {
    plan: &'a Plan,
    actors: Vec<Actor>,
    open: Vec<(usize, usize)>,
    /// Channels that somebody can send to, not yet looked at.
    fresh: Vec<u32>,
    /// Tasks and programs that they fork.
    children: HashSet<(usize, usize)>,
    filled: Vec<bool>,
    received: Vec<bool>,
    waiting: Vec<Vec<(usize, usize)>>,
    /// Per channel: where answers to requests that went there are awaited, and whether any are sent.
    replies: Vec<Vec<u32>>,
    answered: Vec<bool>,
    asked: Vec<bool>,
    /// Per board: who posted, and whether it is ever released.
    posted: Vec<Vec<u32>>,
    released: Vec<bool>,
    /// Per barrier: tasks that come there, and whether forked ones do.
    arrivals: Vec<(usize, bool)>,
}

/// Refuses plans in which a task waits for what nobody can do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let channels = plan.channels.len();
    let mut flow = Flow {
        plan,
        actors: Vec::new(),
        open: Vec::new(),
        fresh: Vec::new(),
        children: HashSet::new(),
        filled: vec![false; channels],
        received: vec![false; channels],
        waiting: vec![Vec::new(); channels],
        replies: vec![Vec::new(); channels],
        answered: vec![false; channels],
        asked: vec![false; channels],
        posted: vec![Vec::new(); plan.boards.len()],
        released: vec![false; plan.boards.len()],
        arrivals: vec![(0, false); plan.barriers.len()],
    };
    for (task, t) in plan.tasks.iter().enumerate() {
        flow.start(task, t.program as usize);
    }
    loop {
        if let Some((actor, position)) = flow.open.pop() {
            flow.step(actor, position);
        } else if let Some(channel) = flow.fresh.pop() {
            for (actor, position) in std::mem::take(&mut flow.waiting[channel as usize]) {
                flow.pass(actor, position, channel);
            }
        } else {
            break;
        }
    }
    flow.stuck()?;
    flow.unanswered()?;
    flow.full()?;
    flow.barriers()
}

impl Flow<'_> {
    fn start(&mut self, task: usize, program: usize) {
        let seen = vec![false; self.plan.programs[program].ops.len()];
        self.actors.push(Actor { task, program, seen, received: Vec::new(), answers: false });
        self.go(self.actors.len() - 1, 0);
    }

    fn go(&mut self, actor: usize, position: usize) {
        let a = &mut self.actors[actor];
        let position = if position >= a.seen.len() { 0 } else { position };
        if !std::mem::replace(&mut a.seen[position], true) {
            self.open.push((actor, position));
        }
    }

    fn number(&self, actor: usize, at: At) -> Option<u32> {
        let task = &self.plan.tasks[self.actors[actor].task];
        match at {
            At::Number(n) => Some(n),
            At::Handle(h) => Some(self.plan.handles[(task.handles + h) as usize]),
            At::Caller => None,
        }
    }

    fn fill(&mut self, channel: u32) {
        if !std::mem::replace(&mut self.filled[channel as usize], true) {
            self.fresh.push(channel);
        }
    }

    /// Goes on behind a receive.
    fn pass(&mut self, actor: usize, position: usize, channel: u32) {
        if !self.actors[actor].received.contains(&channel) {
            self.actors[actor].received.push(channel);
            if self.actors[actor].answers {
                self.answer(channel);
            }
        }
        self.go(actor, position + 1);
    }

    /// Requests on this channel are answered from now on.
    fn answer(&mut self, channel: u32) {
        self.answered[channel as usize] = true;
        for reply in std::mem::take(&mut self.replies[channel as usize]) {
            self.fill(reply);
        }
    }

    fn step(&mut self, actor: usize, position: usize) {
        let program = self.actors[actor].program;
        let op = self.plan.programs[program].ops[position];
        let next = position + 1;
        match op {
            Op::Receive(from) => {
                let Some(channel) = self.number(actor, from) else { return };
                self.received[channel as usize] = true;
                if self.filled[channel as usize] {
                    self.pass(actor, position, channel);
                } else {
                    self.waiting[channel as usize].push((actor, position));
                }
                return;
            }
            Op::Send { to, reply } => self.send(actor, to, reply),
            Op::Post(board) | Op::Release { board, .. } => self.board(actor, &op, board),
            Op::Fork(child) => self.fork(actor, child as usize),
            Op::Barrier(barrier) => self.arrive(actor, barrier),
            Op::Unless { skip, .. } => self.go(actor, next + skip as usize),
            Op::Next => return self.turn(actor, position),
            Op::Exit => return,
            _ => {}
        }
        self.go(actor, next);
    }

    fn send(&mut self, actor: usize, to: At, reply: Option<At>) {
        let Some(channel) = self.number(actor, to) else {
            self.actors[actor].answers = true;
            for channel in self.actors[actor].received.clone() {
                self.answer(channel);
            }
            return;
        };
        if let Some(reply) = reply.and_then(|r| self.number(actor, r)) {
            self.asked[channel as usize] = true;
            if self.answered[channel as usize] {
                self.fill(reply);
            } else {
                self.replies[channel as usize].push(reply);
            }
        }
        self.fill(channel);
    }

    fn board(&mut self, actor: usize, op: &Op, board: At) {
        let Some(board) = self.number(actor, board).map(|b| b as usize) else { return };
        let wakes = self.plan.boards[board];
        if matches!(op, Op::Post(_)) {
            self.fill(wakes);
            if let Some(own) = self.number(actor, At::Handle(0)) {
                self.posted[board].push(own);
            }
        } else {
            self.released[board] = true;
        }
        if self.released[board] {
            for channel in std::mem::take(&mut self.posted[board]) {
                self.fill(channel);
            }
        }
    }

    fn fork(&mut self, actor: usize, child: usize) {
        let task = self.actors[actor].task;
        if self.children.insert((task, child)) {
            self.start(task, child);
        }
    }

    fn arrive(&mut self, actor: usize, barrier: At) {
        let forked = actor >= self.plan.tasks.len();
        if let Some(barrier) = self.number(actor, barrier) {
            let (tasks, children) = &mut self.arrivals[barrier as usize];
            *tasks += 1;
            *children |= forked;
        }
    }

    /// From the end of a loop back to its start and, unless it is endless, on.
    fn turn(&mut self, actor: usize, position: usize) {
        let ops = &self.plan.programs[self.actors[actor].program].ops;
        let mut depth = 0_usize;
        let start = ops[..=position].iter().rposition(|op| match op {
            Op::Next => {
                depth += 1;
                false
            }
            Op::Repeat(_) => {
                depth -= 1;
                depth == 0
            }
            _ => false,
        });
        let Some(start) = start else { return };
        if ops[start] != Op::Repeat(0) {
            self.go(actor, position + 1);
        }
        self.go(actor, start + 1);
    }

    fn stuck(&self) -> Result<()> {
        let stuck: Vec<(usize, usize, usize)> = self
            .waiting
            .iter()
            .enumerate()
            .flat_map(|(channel, w)| {
                w.iter().map(move |&(actor, position)| (actor, position, channel))
            })
            .collect();
        if stuck.is_empty() {
            return Ok(());
        }
        let mut words: Vec<String> = stuck.iter().take(NAMED).map(|s| self.waits(s)).collect();
        if stuck.len() > NAMED {
            words.push(format!("and {} more", stuck.len() - NAMED));
        }
        Err(Error::invalid("workload", format!("deadlock: {}", words.join("; "))))
    }

    fn waits(&self, &(actor, position, channel): &(usize, usize, usize)) -> String {
        let a = &self.actors[actor];
        let name = &self.plan.programs[a.program].name;
        let child = if actor < self.plan.tasks.len() { "" } else { "a child of " };
        format!(
            "{child}task {} waits in workload.programs[{name}].ops[{position}] for a message on {}, to \
             which nobody can send",
            a.task,
            self.plan.names.say(Kind::Channel, channel as u32)
        )
    }

    fn unanswered(&self) -> Result<()> {
        for a in self.actors.iter().filter(|a| a.answers) {
            if !a.received.iter().any(|&c| self.asked[c as usize]) {
                let name = &self.plan.programs[a.program].name;
                let reason = "answers a caller, but receives no message that asks for an answer";
                return Err(Error::invalid(format!("workload.programs[{name}]"), reason));
            }
        }
        Ok(())
    }

    fn full(&self) -> Result<()> {
        for (i, channel) in self.plan.channels.iter().enumerate() {
            if self.filled[i] && !self.received[i] && channel.full == Full::Block {
                let reason = "messages are sent here, but nobody receives them";
                return Err(Error::invalid(format!("workload.channels[{i}]"), reason));
            }
        }
        Ok(())
    }

    fn barriers(&self) -> Result<()> {
        for (i, &(tasks, forked)) in self.arrivals.iter().enumerate() {
            let parties = self.plan.barriers[i].parties as usize;
            if tasks > 0 && tasks < parties && !forked {
                let reason = format!(
                    "deadlock: {parties} parties are awaited, only {tasks} tasks come here"
                );
                return Err(Error::invalid(format!("workload.barriers[{i}]"), reason));
            }
        }
        Ok(())
    }
}
