//! Devices and memory: requests that others serve, and bytes that have to be moved.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::cpu::{Kind, NONE, Reason};
use super::ops::Flow;
use super::sim::Sim;
use super::slots::NEVER;
use super::task::{Then, Waits};

/// A device in use.
#[derive(Debug, Default)]
pub struct DeviceState {
    /// Requests being served: when they are done, and whose they are.
    serving: BinaryHeap<Reverse<(i64, u32)>>,
    /// Requests that wait.
    waiting: VecDeque<u32>,
}

/// Bytes of a cache line.
const LINE: u32 = 64;

impl Sim<'_> {
    /// Gives a request to a device and sleeps.
    pub(super) fn submit(&mut self, c: usize, id: u32, device: u32) {
        self.next_op(id);
        self.cpus[c].iowait += 1;
        self.devices[device as usize].waiting.push_back(id);
        self.serve(device as usize);
        self.block(c, id, Waits::Device(device));
    }

    fn serve(&mut self, device: usize) {
        let model = self.plan.devices[device];
        while self.devices[device].serving.len() < model.parallel as usize {
            let Some(id) = self.devices[device].waiting.pop_front() else { break };
            let done = self.now + self.draw(id, &model.service).max(1);
            self.devices[device].serving.push(Reverse((done, id)));
        }
        let next = self.devices[device].serving.peek().map_or(NEVER, |r| r.0.0);
        self.slots.set(self.cpus.len() + device, next);
    }

    /// A device has finished a request: its interrupt goes to the CPU that gave it.
    pub(super) fn device_done(&mut self, device: usize) {
        let Some(Reverse((_, id))) = self.devices[device].serving.pop() else { return };
        self.serve(device);
        let c = self.tasks[id as usize].cpu as usize;
        self.interrupt_for(c, id);
        self.rekey(c);
    }

    fn interrupt_for(&mut self, c: usize, id: u32) {
        self.cpus[c].due.push(id);
        match self.cpus[c].act.kind {
            Kind::Idle => self.leave_idle(c, Reason::Wake),
            Kind::Exit => {}
            _ => {
                self.settle(c);
                let work = self.prices.costs.interrupt;
                self.cpus[c].steal(work);
                self.wake_due(c);
                self.after_interrupt(c, false);
            }
        }
    }

    /// Moves bytes at the share of the bandwidth that is left for this CPU.
    pub(super) fn stream(&mut self, c: usize, id: u32, bytes: u64) -> Flow {
        let limits = &self.machine.bandwidth;
        let llc = self.place[c].llc as usize;
        let cores = |busy: u32| u64::from(busy.max(1));
        let busy =
            |cpus: &[u32]| cpus.iter().filter(|&&o| self.cpus[o as usize].streams).count() as u32;
        let here = busy(self.topology.llc_cpus(llc as u32)) + u32::from(!self.cpus[c].streams);
        let socket = self.topology.socket_cpus(self.topology.socket(c as u32));
        let there = busy(socket) + u32::from(!self.cpus[c].streams);
        let share = [
            u64::from(limits.core_mbs),
            u64::from(limits.llc_mbs) / cores(here),
            u64::from(limits.socket_mbs) / cores(there),
        ]
        .into_iter()
        .filter(|&mbs| mbs > 0)
        .min()
        .unwrap_or(10_000);
        self.cpus[c].streams = true;
        let ns = ((bytes * 1000 / share) as i64).max(1);
        let until = self.now + ns;
        let task = self.next_op(id);
        task.plan(0, false, Then::Fetch);
        task.timed = true;
        task.until = until;
        self.cpus[c].in_kernel = false;
        self.cpus[c].begin_until(Kind::Task, until);
        Flow::Busy
    }

    /// Reads bytes that were read before, from the nearest cache that still holds them.
    pub(super) fn touch(&mut self, c: usize, id: u32, bytes: u32) -> Flow {
        let cache = &self.machine.cache;
        let costs = &self.prices.costs;
        let since = match self.tasks[id as usize].data {
            (cpu, mark) if cpu as usize == c => self.cpus[c].touched - mark,
            (NONE, _) => u64::MAX,
            // On another CPU: the private caches are of no use, the shared one may be.
            _ => u64::from(cache.l2_kib) * 1024 + 1,
        };
        let spread = since.saturating_add(u64::from(bytes));
        let price = if spread <= u64::from(cache.l1d_kib) * 1024 {
            0
        } else if spread <= u64::from(cache.l2_kib) * 1024 {
            costs.fill_l2_ps
        } else if spread <= u64::from(cache.l3_kib) * 1024 {
            costs.fill_l3_ps
        } else {
            costs.fill_memory_ps
        };
        // The nearest cache answers at once, but not in no time.
        let ns = (i64::from(bytes.div_ceil(LINE)) * price / 1000).max(1);
        self.cpus[c].touched += u64::from(bytes);
        let mark = self.cpus[c].touched;
        let task = self.next_op(id);
        task.data = (c as u32, mark);
        self.spend(c, id, ns, false, Then::Fetch)
    }
}
