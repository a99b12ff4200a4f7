//! The task graph of a plan: which programs there are, and who sends to whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{At, Kind, Op, Plan};

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// A program, with the tasks that run it.
    Program,
    /// A device.
    Device,
    /// A mutex.
    Lock,
    /// A contended line.
    Line,
    /// A barrier.
    Barrier,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: NodeKind,
    /// Tasks at the start, requests served at a time, parties; else 1.
    pub count: u64,
}

/// What an edge means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// Messages.
    Sends,
    /// Messages that ask for an answer.
    Asks,
    /// Answers to whoever asked.
    Answers,
    /// Messages to all who posted.
    Releases,
    /// New tasks.
    Forks,
    /// Takes, waits at, or gives requests to a thing.
    Uses,
}

/// An edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// From which node.
    pub from: usize,
    /// To which node.
    pub to: usize,
    /// What it means.
    pub kind: EdgeKind,
    /// Different channels it goes through; 1 for forks and things.
    pub count: u64,
}

/// The task graph of a plan; programs come first, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Edges, in the order of their nodes.
    pub edges: Vec<Edge>,
}

type Ends = BTreeSet<(usize, EdgeKind)>;

struct Reader<'a> {
    plan: &'a Plan,
    /// Per channel: programs that send there and how, and programs that receive there.
    senders: BTreeMap<u32, Ends>,
    receivers: BTreeMap<u32, BTreeSet<usize>>,
    /// Per channel: where answers to what is sent there are awaited.
    replies: BTreeMap<u32, BTreeSet<u32>>,
    /// Programs that answer callers, with the channels on which they are asked.
    answering: BTreeSet<(usize, u32)>,
    posted: BTreeMap<u32, BTreeSet<u32>>,
    releasing: BTreeSet<(usize, u32)>,
    uses: BTreeSet<(usize, usize, EdgeKind)>,
}

/// Returns the task graph of a plan that has passed [`super::check`].
pub fn graph(plan: &Plan) -> Graph {
    let mut reader = Reader {
        plan,
        senders: BTreeMap::new(),
        receivers: BTreeMap::new(),
        replies: BTreeMap::new(),
        answering: BTreeSet::new(),
        posted: BTreeMap::new(),
        releasing: BTreeSet::new(),
        uses: BTreeSet::new(),
    };
    for task in 0..plan.tasks.len() {
        let mut seen = BTreeSet::new();
        reader.program(task, plan.tasks[task].program as usize, &mut seen);
    }
    reader.answers();
    merged(Graph { nodes: nodes(plan), edges: reader.edges() })
}

/// Makes one node of locks that share a name: those of all groups, or all tasks.
fn merged(graph: Graph) -> Graph {
    let mut nodes: Vec<Node> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut place = |node: Node| {
        if node.kind == NodeKind::Lock
            && let Some(&known) = places.get(&node.name)
        {
            nodes[known].count += node.count;
            return known;
        }
        if node.kind == NodeKind::Lock {
            places.insert(node.name.clone(), nodes.len());
        }
        nodes.push(node);
        nodes.len() - 1
    };
    let moved: Vec<usize> = graph.nodes.into_iter().map(&mut place).collect();
    let ends = |e: &Edge| (moved[e.from], moved[e.to], e.kind);
    let mut edges: Vec<Edge> = Vec::new();
    let mut seen = BTreeSet::new();
    for edge in graph.edges {
        let (from, to, _) = ends(&edge);
        if seen.insert(ends(&edge)) {
            edges.push(Edge { from, to, ..edge });
        }
    }
    edges.sort_by_key(|e| (e.from, e.to, e.kind));
    Graph { nodes, edges }
}

fn nodes(plan: &Plan) -> Vec<Node> {
    let tasks = |p: usize| plan.tasks.iter().filter(|t| t.program as usize == p).count() as u64;
    let programs = plan.programs.iter().enumerate().map(|(i, p)| Node {
        name: p.name.clone(),
        kind: NodeKind::Program,
        count: tasks(i),
    });
    let thing = |word: Kind, i: usize, kind, count| Node {
        name: match plan.names.get(word, i as u32) {
            Some(name) => format!("{} {name}", word.word()),
            None => format!("{} {i}", word.word()),
        },
        kind,
        count,
    };
    let devices = plan.devices.iter().enumerate();
    let barriers = plan.barriers.iter().enumerate();
    programs
        .chain(devices.map(|(i, d)| thing(Kind::Device, i, NodeKind::Device, d.parallel.into())))
        .chain((0..plan.locks.len()).map(|i| thing(Kind::Lock, i, NodeKind::Lock, 1)))
        .chain((0..plan.lines as usize).map(|i| thing(Kind::Line, i, NodeKind::Line, 1)))
        .chain(barriers.map(|(i, b)| thing(Kind::Barrier, i, NodeKind::Barrier, b.parties.into())))
        .collect()
}

impl Reader<'_> {
    fn number(&self, task: usize, at: At) -> Option<u32> {
        match at {
            At::Number(n) => Some(n),
            At::Handle(h) => {
                let first = self.plan.tasks[task].handles;
                self.plan.handles.get((first + h) as usize).copied()
            }
            At::Caller => None,
        }
    }

    fn program(&mut self, task: usize, program: usize, seen: &mut BTreeSet<usize>) {
        if !seen.insert(program) {
            return;
        }
        let plan = self.plan;
        let ops = &plan.programs[program].ops;
        for op in ops {
            self.operation(task, program, op);
            if let Op::Fork(child) = *op {
                self.uses.insert((program, child as usize, EdgeKind::Forks));
                self.program(task, child as usize, seen);
            }
        }
    }

    fn operation(&mut self, task: usize, program: usize, op: &Op) {
        let devices = self.plan.programs.len();
        let locks = devices + self.plan.devices.len();
        let lines = locks + self.plan.locks.len();
        let barriers = lines + self.plan.lines as usize;
        match *op {
            Op::Send { to: At::Caller, .. } => {
                for op in &self.plan.programs[program].ops {
                    let Op::Receive(from) = *op else { continue };
                    self.answering.extend(self.number(task, from).map(|c| (program, c)));
                }
            }
            Op::Send { to, reply } => {
                let Some(to) = self.number(task, to) else { return };
                let kind = if reply.is_some() { EdgeKind::Asks } else { EdgeKind::Sends };
                self.senders.entry(to).or_default().insert((program, kind));
                let reply = reply.and_then(|r| self.number(task, r));
                self.replies.entry(to).or_default().extend(reply);
            }
            Op::Receive(from) => {
                let Some(from) = self.number(task, from) else { return };
                self.receivers.entry(from).or_default().insert(program);
            }
            Op::Post(board) => {
                let Some(board) = self.number(task, board) else { return };
                let own = self.number(task, At::Handle(0));
                self.posted.entry(board).or_default().extend(own);
                let wakes = self.plan.boards[board as usize];
                self.senders.entry(wakes).or_default().insert((program, EdgeKind::Sends));
            }
            Op::Release { board, .. } => {
                self.releasing.extend(self.number(task, board).map(|b| (program, b)));
            }
            Op::Lock(at) => self.thing(task, program, at, locks),
            Op::Line(at) => self.thing(task, program, at, lines),
            Op::Barrier(at) => self.thing(task, program, at, barriers),
            Op::Io(at) => self.thing(task, program, at, devices),
            _ => {}
        }
    }

    fn thing(&mut self, task: usize, program: usize, at: At, first: usize) {
        let node = self.number(task, at).map(|n| first + n as usize);
        self.uses.extend(node.map(|node| (program, node, EdgeKind::Uses)));
    }

    /// Answers go where requests said; releases go to all who posted.
    fn answers(&mut self) {
        for &(program, asked) in &self.answering {
            for &reply in self.replies.get(&asked).into_iter().flatten() {
                self.senders.entry(reply).or_default().insert((program, EdgeKind::Answers));
            }
        }
        for &(program, board) in &self.releasing {
            for &channel in self.posted.get(&board).into_iter().flatten() {
                self.senders.entry(channel).or_default().insert((program, EdgeKind::Releases));
            }
        }
    }

    fn edges(&self) -> Vec<Edge> {
        let mut counts: BTreeMap<(usize, usize, EdgeKind), u64> = BTreeMap::new();
        for (channel, senders) in &self.senders {
            for &(from, kind) in senders {
                for &to in self.receivers.get(channel).into_iter().flatten() {
                    *counts.entry((from, to, kind)).or_default() += 1;
                }
            }
        }
        counts.extend(self.uses.iter().map(|&use_| (use_, 1)));
        counts.into_iter().map(|((from, to, kind), count)| Edge { from, to, kind, count }).collect()
    }
}

impl EdgeKind {
    /// Returns the verb.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sends => "sends",
            Self::Asks => "asks",
            Self::Answers => "answers",
            Self::Releases => "releases",
            Self::Forks => "forks",
            Self::Uses => "uses",
        }
    }
}

/// The graph as text: a line for each node, and below it its edges.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, node) in self.nodes.iter().enumerate() {
            match node.kind {
                NodeKind::Program => writeln!(f, "{} (tasks: {})", node.name, node.count)?,
                NodeKind::Device => {
                    writeln!(f, "{} (requests at a time: {})", node.name, node.count)?
                }
                NodeKind::Barrier => writeln!(f, "{} (parties: {})", node.name, node.count)?,
                NodeKind::Lock if node.count > 1 => {
                    writeln!(f, "{} (in all: {})", node.name, node.count)?
                }
                NodeKind::Lock | NodeKind::Line => writeln!(f, "{}", node.name)?,
            }
            for edge in self.edges.iter().filter(|e| e.from == i) {
                write!(f, "  {} --> {}", edge.kind.word(), self.nodes[edge.to].name)?;
                if !matches!(edge.kind, EdgeKind::Forks | EdgeKind::Uses) {
                    write!(f, " (channels: {})", edge.count)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
