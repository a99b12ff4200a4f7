//! Request and answer, the building block of most workloads: what one side of a connection does to
//! send and to receive, and pairs of tasks that do nothing else.

use super::{Amount, At, Channel, Op, Parameters, Paths, Plan, Task};
use crate::error::Result;
use crate::machine::Machine;

/// Most clients, users or workers of one case.
pub(super) const MOST: u32 = 500_000;

/// Leaves out work that takes no time, so that every price may be set to zero.
pub(super) fn solid(ops: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let nothing = |a: &Amount| a.base == 0 && a.per == [0; super::REGISTERS];
    let keep = |op: &Op| !matches!(op, Op::Run(a) | Op::Kernel(a) if nothing(a));
    ops.into_iter().filter(keep).collect()
}

/// Sends one message: `send` in the kernel before the wake-up, `tail` after it, `user` in user mode.
pub(super) fn send(p: &Parameters, to: At, reply: Option<At>) -> Result<[Op; 4]> {
    Ok([p.kernel("send")?, Op::Send { to, reply }, p.kernel("tail")?, p.run("user")?])
}

/// Receives one message: `receive` in the kernel after it has come, `user` in user mode.
pub(super) fn receive(p: &Parameters, from: At) -> Result<[Op; 3]> {
    Ok([Op::Receive(from), p.kernel("receive")?, p.run("user")?])
}

/// Sets warm-up and window. A machine that is not full is steady at once, but alternates slowly between
/// polling and halting under some governors; how long a full one takes depends on the scheduler, so the
/// engine adds to the warm-up.
pub(super) fn settle(plan: &mut Plan, machine: &Machine) {
    let crowded = plan.tasks.len() > machine.ncpus as usize;
    plan.warmup = 50_000_000;
    plan.window = if crowded { 300_000_000 } else { 400_000_000 };
}

/// Returns the paths of a workload with a parameter `block`, at pace 1: the engine scales paths.
pub(super) fn paths(p: &Parameters) -> Result<Paths> {
    Ok(Paths { block: Some(p.ns("block")?), ..Paths::default() })
}

/// Adds a client and a server that share two connections: handle 0 takes requests to the server,
/// handle 1 answers to the client.
pub(super) fn pair(plan: &mut Plan, client: u32, server: u32, group: u32) {
    let request = plan.channel(Channel::connection());
    let answer = plan.channel(Channel::connection());
    plan.task(Task { program: client, group, ..Task::default() }, &[request, answer]);
    plan.task(Task { program: server, group, ..Task::default() }, &[request, answer]);
}

/// Makes the plan of `pairs` pairs that pass one message to and fro, counted as `round trips`.
pub(super) fn ping_pong(machine: &Machine, pairs: u32, p: &Parameters) -> Result<Plan> {
    let mut plan = Plan { paths: paths(p)?, ..Plan::default() };
    let trips = plan.counter("round trips");
    let (request, answer) = (At::Handle(0), At::Handle(1));
    let mut client = send(p, request, None)?.to_vec();
    client.extend(receive(p, answer)?);
    client.push(Op::Count(trips));
    let mut server = receive(p, request)?.to_vec();
    server.extend(send(p, answer, None)?);
    let client = plan.program("client", solid(client));
    let server = plan.program("server", solid(server));
    for group in 0..pairs {
        pair(&mut plan, client, server, group);
    }
    settle(&mut plan, machine);
    Ok(plan)
}
