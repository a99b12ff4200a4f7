//! Which CPUs share a core, a last-level cache, a socket, a memory node.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Most CPUs of a machine: the largest NR_CPUS an x86 kernel can be configured with.
pub const MAX_CPUS: usize = 8192;

/// How far two CPUs are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Distance {
    /// The same CPU.
    Same,
    /// Another thread of the core.
    Smt,
    /// Another core below the same last-level cache.
    Llc,
    /// Another last-level cache of the socket.
    Socket,
    /// Another socket.
    Node,
}

/// Number of [`Distance`]s, the length of a price list by distance.
pub const DISTANCES: usize = 5;

impl Distance {
    /// The words of the settings, by distance.
    pub const WORDS: [&str; DISTANCES] = ["same", "smt", "llc", "socket", "node"];
}

/// How CPU numbers map to cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// Thread 0 of all cores of all sockets, then thread 1 of all cores.
    CoresFirst,
    /// All threads of a core are neighbours.
    ThreadsTogether,
    /// Every CPU is placed by itself, as a running kernel tells it.
    Listed(Places),
}

/// The place of every CPU, one entry per CPU and list. Any numbers will do: equal means shared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Core of each CPU, unique over the machine.
    pub core: Vec<u32>,
    /// Last-level cache.
    pub llc: Vec<u32>,
    /// Socket.
    pub socket: Vec<u32>,
    /// Memory node.
    pub node: Vec<u32>,
}

/// Counts from which a [`Topology`] is made.
///
/// With [`Numbering::Listed`] the counts follow from the lists, rounded up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Sockets.
    pub sockets: u32,
    /// Memory nodes of the machine.
    pub numa_nodes: u32,
    /// Last-level caches of one socket.
    pub llcs_per_socket: u32,
    /// Cores of one socket.
    pub cores_per_socket: u32,
    /// Hardware threads of one core.
    pub threads_per_core: u32,
    /// Relative speed of each CPU, 1024 = fastest; empty = all 1024.
    pub capacity: Vec<u32>,
    /// Which number each CPU has.
    pub numbering: Numbering,
}

impl Shape {
    /// Returns `n` CPUs, each a core of its own, below one last-level cache.
    pub fn flat(n: u32) -> Self {
        Self {
            sockets: 1,
            numa_nodes: 1,
            llcs_per_socket: 1,
            cores_per_socket: n,
            threads_per_core: 1,
            capacity: Vec::new(),
            numbering: Numbering::CoresFirst,
        }
    }
}

/// The CPUs of a machine and what they share, with dense numbers from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Shape", into = "Shape")]
pub struct Topology {
    shape: Shape,
    core: Vec<u32>,
    llc: Vec<u32>,
    socket: Vec<u32>,
    node: Vec<u32>,
    by_core: Groups,
    by_llc: Groups,
    by_socket: Groups,
    siblings: Groups,
}

impl Topology {
    /// Places the CPUs.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a count of 0, counts that do not divide, more than
    /// [`MAX_CPUS`] CPUs, capacities that are not one per CPU within 1 to 1024, and lists of
    /// places that contradict each other.
    pub fn new(shape: Shape) -> Result<Self> {
        check_counts(&shape)?;
        let places = match &shape.numbering {
            Numbering::Listed(places) => listed(places)?,
            _ => counted(&shape)?,
        };
        let n = places.core.len();
        check_capacity(&shape.capacity, n)?;
        let by_core = Groups::new(&places.core);
        let siblings = by_core.others(&places.core);
        let by_llc = Groups::new(&places.llc);
        let by_socket = Groups::new(&places.socket);
        let mut shape = shape;
        if matches!(shape.numbering, Numbering::Listed(_)) {
            let share = |n: usize, of: usize| n.div_ceil(of) as u32;
            shape.sockets = by_socket.len() as u32;
            shape.numa_nodes = places.node.iter().max().map_or(1, |&m| m + 1);
            shape.llcs_per_socket = share(by_llc.len(), by_socket.len());
            shape.cores_per_socket = share(by_core.len(), by_socket.len());
            shape.threads_per_core = share(n, by_core.len());
        }
        let Places { core, llc, socket, node } = places;
        Ok(Self { shape, core, llc, socket, node, by_core, by_llc, by_socket, siblings })
    }

    /// What it was made from.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Logical CPUs.
    pub fn ncpus(&self) -> usize {
        self.core.len()
    }

    /// Cores of the machine.
    pub fn ncores(&self) -> usize {
        self.by_core.len()
    }

    /// Last-level caches of the machine.
    pub fn nllcs(&self) -> usize {
        self.by_llc.len()
    }

    /// Sockets.
    pub fn nsockets(&self) -> usize {
        self.by_socket.len()
    }

    /// Memory nodes.
    pub fn nnodes(&self) -> usize {
        self.shape.numa_nodes as usize
    }

    /// Core of a CPU.
    #[inline]
    pub fn core(&self, cpu: u32) -> u32 {
        self.core[cpu as usize]
    }

    /// Last-level cache of a CPU.
    #[inline]
    pub fn llc(&self, cpu: u32) -> u32 {
        self.llc[cpu as usize]
    }

    /// Socket of a CPU.
    #[inline]
    pub fn socket(&self, cpu: u32) -> u32 {
        self.socket[cpu as usize]
    }

    /// Memory node of a CPU.
    #[inline]
    pub fn node(&self, cpu: u32) -> u32 {
        self.node[cpu as usize]
    }

    /// Other threads of the CPU's core, without the CPU itself.
    #[inline]
    pub fn siblings(&self, cpu: u32) -> &[u32] {
        self.siblings.of(cpu)
    }

    /// CPUs of a core, ascending.
    #[inline]
    pub fn core_cpus(&self, core: u32) -> &[u32] {
        self.by_core.of(core)
    }

    /// CPUs below a last-level cache, ascending.
    #[inline]
    pub fn llc_cpus(&self, llc: u32) -> &[u32] {
        self.by_llc.of(llc)
    }

    /// CPUs of a socket, ascending.
    #[inline]
    pub fn socket_cpus(&self, socket: u32) -> &[u32] {
        self.by_socket.of(socket)
    }

    /// How far two CPUs are apart.
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> Distance {
        let (i, j) = (a as usize, b as usize);
        if a == b {
            Distance::Same
        } else if self.core[i] == self.core[j] {
            Distance::Smt
        } else if self.llc[i] == self.llc[j] {
            Distance::Llc
        } else if self.socket[i] == self.socket[j] {
            Distance::Socket
        } else {
            Distance::Node
        }
    }

    /// Relative speed of a CPU, 1024 = fastest.
    #[inline]
    pub fn capacity(&self, cpu: u32) -> u32 {
        self.shape.capacity.get(cpu as usize).copied().unwrap_or(1024)
    }

    /// Places of all CPUs, with dense numbers.
    pub fn places(&self) -> Places {
        Places {
            core: self.core.clone(),
            llc: self.llc.clone(),
            socket: self.socket.clone(),
            node: self.node.clone(),
        }
    }

    /// The topology reduced to some CPUs, renumbered in the given order.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `cpus` is empty.
    pub fn only(&self, cpus: &[u32]) -> Result<Self> {
        let pick = |list: &[u32]| cpus.iter().map(|&c| list[c as usize]).collect::<Vec<_>>();
        let places = Places {
            core: pick(&self.core),
            llc: pick(&self.llc),
            socket: pick(&self.socket),
            node: pick(&self.node),
        };
        let capacity =
            if self.shape.capacity.is_empty() { Vec::new() } else { pick(&self.shape.capacity) };
        Self::new(Shape { capacity, numbering: Numbering::Listed(places), ..self.shape.clone() })
    }
}

impl TryFrom<Shape> for Topology {
    type Error = Error;
    fn try_from(shape: Shape) -> Result<Self> {
        Self::new(shape)
    }
}

impl From<Topology> for Shape {
    fn from(topology: Topology) -> Self {
        topology.shape
    }
}

/// Members of numbered groups, one flat list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Groups {
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Groups the CPUs by their dense group number.
    fn new(group_of: &[u32]) -> Self {
        let groups = group_of.iter().max().map_or(0, |&m| m as usize + 1);
        let mut starts = vec![0u32; groups + 1];
        for &g in group_of {
            starts[g as usize + 1] += 1;
        }
        for g in 0..groups {
            starts[g + 1] += starts[g];
        }
        let mut next = starts.clone();
        let mut members = vec![0; group_of.len()];
        for (cpu, &g) in group_of.iter().enumerate() {
            members[next[g as usize] as usize] = cpu as u32;
            next[g as usize] += 1;
        }
        Self { starts, members }
    }

    /// For each CPU the other members of its group.
    fn others(&self, group_of: &[u32]) -> Self {
        let mut starts = vec![0];
        let mut members = Vec::new();
        for (cpu, &g) in group_of.iter().enumerate() {
            members.extend(self.of(g).iter().filter(|&&c| c as usize != cpu));
            starts.push(members.len() as u32);
        }
        Self { starts, members }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn of(&self, group: u32) -> &[u32] {
        let g = group as usize;
        &self.members[self.starts[g] as usize..self.starts[g + 1] as usize]
    }
}

fn check_counts(s: &Shape) -> Result<()> {
    if matches!(s.numbering, Numbering::Listed(_)) {
        return Ok(());
    }
    for (name, count) in [
        ("topology.sockets", s.sockets),
        ("topology.numa_nodes", s.numa_nodes),
        ("topology.llcs_per_socket", s.llcs_per_socket),
        ("topology.cores_per_socket", s.cores_per_socket),
        ("topology.threads_per_core", s.threads_per_core),
    ] {
        if count == 0 {
            return Err(Error::invalid(name, "expected at least 1, found 0"));
        }
    }
    let cpus =
        u128::from(s.sockets) * u128::from(s.cores_per_socket) * u128::from(s.threads_per_core);
    if cpus > MAX_CPUS as u128 {
        return Err(Error::invalid(
            "topology",
            format!("a machine has at most {MAX_CPUS} CPUs, found {cpus}"),
        ));
    }
    if !s.cores_per_socket.is_multiple_of(s.llcs_per_socket) {
        return Err(Error::invalid(
            "topology.llcs_per_socket",
            format!("{} cores do not divide into {}", s.cores_per_socket, s.llcs_per_socket),
        ));
    }
    let divides = if s.numa_nodes >= s.sockets {
        s.numa_nodes.is_multiple_of(s.sockets)
            && s.cores_per_socket.is_multiple_of(s.numa_nodes / s.sockets)
    } else {
        s.sockets.is_multiple_of(s.numa_nodes)
    };
    if !divides {
        return Err(Error::invalid(
            "topology.numa_nodes",
            format!(
                "{} sockets of {} cores do not divide into {} nodes",
                s.sockets, s.cores_per_socket, s.numa_nodes
            ),
        ));
    }
    Ok(())
}

fn check_capacity(capacity: &[u32], ncpus: usize) -> Result<()> {
    if !capacity.is_empty() && capacity.len() != ncpus {
        return Err(Error::Shape {
            name: "topology.capacity".into(),
            expected: ncpus,
            found: capacity.len(),
        });
    }
    match capacity.iter().position(|c| !(1..=1024).contains(c)) {
        Some(i) => Err(Error::invalid(
            format!("topology.capacity[{i}]"),
            format!("expected 1 to 1024, found {}", capacity[i]),
        )),
        None => Ok(()),
    }
}

/// Places the CPUs of a shape that is given by counts alone.
fn counted(s: &Shape) -> Result<Places> {
    let cores = s.sockets * s.cores_per_socket;
    let n = cores * s.threads_per_core;
    let core: Vec<u32> = match s.numbering {
        Numbering::ThreadsTogether => (0..n).map(|cpu| cpu / s.threads_per_core).collect(),
        _ => (0..n).map(|cpu| cpu % cores).collect(),
    };
    let socket: Vec<u32> = core.iter().map(|c| c / s.cores_per_socket).collect();
    let llc = core.iter().map(|c| c / (s.cores_per_socket / s.llcs_per_socket)).collect();
    let node = if s.numa_nodes >= s.sockets {
        let per_node = cores / s.numa_nodes;
        core.iter().map(|c| c / per_node).collect()
    } else {
        socket.iter().map(|k| k / (s.sockets / s.numa_nodes)).collect()
    };
    Ok(Places { core, llc, socket, node })
}

/// Checks lists of places and gives them dense numbers, in the order of their first CPU.
fn listed(places: &Places) -> Result<Places> {
    let n = places.core.len();
    if n == 0 || n > MAX_CPUS {
        return Err(Error::invalid(
            "topology",
            format!("a machine has 1 to {MAX_CPUS} CPUs, found {n}"),
        ));
    }
    for (name, list) in [("llc", &places.llc), ("socket", &places.socket), ("node", &places.node)] {
        if list.len() != n {
            return Err(Error::Shape {
                name: format!("topology.{name}"),
                expected: n,
                found: list.len(),
            });
        }
    }
    let (core, llc, socket) = (dense(&places.core), dense(&places.llc), dense(&places.socket));
    for (inner, outer, what) in [(&core, &llc, "last-level caches"), (&llc, &socket, "sockets")] {
        if let Some(cpu) = straddles(inner, outer) {
            return Err(Error::invalid(
                "topology",
                format!("the place of CPU {cpu} joins two {what}"),
            ));
        }
    }
    Ok(Places { core, llc, socket, node: dense(&places.node) })
}

fn dense(list: &[u32]) -> Vec<u32> {
    let mut known = std::collections::HashMap::new();
    list.iter()
        .map(|&v| {
            let next = known.len() as u32;
            *known.entry(v).or_insert(next)
        })
        .collect()
}

/// Returns the first CPU whose inner group already lies in another outer group.
fn straddles(inner: &[u32], outer: &[u32]) -> Option<usize> {
    let mut outer_of = std::collections::HashMap::new();
    (0..inner.len()).find(|&cpu| *outer_of.entry(inner[cpu]).or_insert(outer[cpu]) != outer[cpu])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sockets: u32, llcs: u32, cores: u32, threads: u32) -> Shape {
        Shape {
            sockets,
            numa_nodes: sockets,
            llcs_per_socket: llcs,
            cores_per_socket: cores,
            threads_per_core: threads,
            capacity: vec![],
            numbering: Numbering::CoresFirst,
        }
    }

    #[test]
    fn cores_first_puts_the_second_threads_behind_all_cores() {
        let t = Topology::new(shape(2, 2, 4, 2)).unwrap();
        assert_eq!((t.ncpus(), t.ncores(), t.nllcs(), t.nsockets()), (16, 8, 4, 2));
        assert_eq!(t.siblings(1), [9]);
        assert_eq!(t.llc_cpus(1), [2, 3, 10, 11]);
        assert_eq!(t.distance(0, 8), Distance::Smt);
        assert_eq!(t.distance(0, 9), Distance::Llc);
        assert_eq!(t.distance(0, 2), Distance::Socket);
        assert_eq!(t.distance(0, 4), Distance::Node);
    }

    #[test]
    fn threads_together_makes_neighbours_siblings() {
        let numbering = Numbering::ThreadsTogether;
        let t = Topology::new(Shape { numbering, ..shape(1, 1, 2, 2) }).unwrap();
        assert_eq!((t.siblings(0), t.siblings(3)), (&[1][..], &[2][..]));
    }

    #[test]
    fn counts_that_do_not_divide_are_refused_by_name() {
        for (bad, name) in [
            (shape(0, 1, 1, 1), "topology.sockets"),
            (shape(1, 2, 3, 1), "topology.llcs_per_socket"),
            (Shape { numa_nodes: 3, ..shape(2, 1, 4, 1) }, "topology.numa_nodes"),
            (Shape { numa_nodes: 4, ..shape(2, 1, 3, 1) }, "topology.numa_nodes"),
            (shape(2, 1, 4097, 1), "topology"),
            (shape(u32::MAX, 1, u32::MAX, u32::MAX), "topology"),
            (Shape { capacity: vec![0], ..shape(1, 1, 1, 1) }, "topology.capacity[0]"),
        ] {
            let e = Topology::new(bad).unwrap_err().to_string();
            assert!(e.starts_with(&format!("{name}:")), "{e}");
        }
    }

    #[test]
    fn a_listed_core_below_two_caches_is_refused() {
        let places =
            Places { core: vec![5, 5], llc: vec![0, 1], socket: vec![0, 0], node: vec![0, 0] };
        let bad = Shape { numbering: Numbering::Listed(places), ..Shape::flat(2) };
        assert!(Topology::new(bad).unwrap_err().to_string().contains("CPU 1"));
    }

    #[test]
    fn a_part_keeps_its_distances() {
        let t = Topology::new(shape(2, 2, 4, 2)).unwrap();
        let cpus = t.llc_cpus(3).to_vec();
        let part = t.only(&cpus).unwrap();
        assert_eq!((part.ncpus(), part.ncores(), part.nllcs()), (4, 2, 1));
        for (i, &a) in cpus.iter().enumerate() {
            for (j, &b) in cpus.iter().enumerate() {
                assert_eq!(part.distance(i as u32, j as u32), t.distance(a, b));
            }
        }
    }
}
