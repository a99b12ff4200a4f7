//! Prices of kernel paths in one run: those of the machine, scaled, with what kernel and workload say.

use super::cpu::FULL;
use crate::kernel::Kernel;
use crate::machine::{Costs, Distance, Machine};
use crate::workload::Paths;

/// All prices, ns at full speed.
#[derive(Debug, Clone)]
pub struct Prices {
    /// The machine's, scaled by its own factor, with the workload's in place.
    pub costs: Costs,
    /// One context switch, registers that the kernel writes included.
    pub switch: i64,
    /// Speed of a thread while a sibling executes.
    pub smt_run: u64,
    /// The same while it polls.
    pub smt_poll: u64,
}

impl Prices {
    /// Returns the prices of a run.
    pub fn new(machine: &Machine, kernel: &Kernel, paths: &Paths) -> Self {
        let mut costs = machine.costs.scaled();
        let scale = i64::from(machine.costs.scale_permille);
        let set = |price: &mut i64, value: Option<i64>| {
            if let Some(ns) = value {
                *price = ns * scale / 1000;
            }
        };
        set(&mut costs.block, paths.block);
        set(&mut costs.wake, paths.wake);
        set(&mut costs.refill, paths.refill);
        set(&mut costs.cold_message, paths.cold_message);
        let speed = |permille: u32| FULL * u64::from(permille) / 1000;
        for price in [&mut costs.switch, &mut costs.switch_in] {
            *price = *price * i64::from(kernel.switch_permille) / 1000;
        }
        Self {
            switch: costs.switch + i64::from(kernel.wrmsr_per_switch) * costs.wrmsr,
            smt_run: speed(costs.smt_run_permille),
            smt_poll: speed(costs.smt_poll_permille),
            costs,
        }
    }

    /// Returns the time a contended line needs over a distance.
    #[inline]
    pub fn line(&self, distance: Distance) -> i64 {
        self.costs.line[distance as usize]
    }
}
