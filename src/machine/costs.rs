//! What kernel paths and caches cost on a machine.

use serde::{Deserialize, Serialize};

use super::topology::DISTANCES;

/// Prices, ns at the machine's highest clock unless named otherwise.
///
/// The word in brackets is the source of the start value: *measured*, *recalled*, *fitted* to a
/// published baseline, *inferred* from published treatments, or *guess*. A preset that knows better
/// says so beside the number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Waker's part of a wake-up whose target shares the last-level cache \[guess, 200-600\].
    pub wake: i64,
    /// Added to [`Costs::wake`] by distance of the target: some 6 to 10 dirty lines \[guess\].
    pub wake_remote: [i64; DISTANCES],
    /// Added when the target is halted, not polling \[guess, 0-400\].
    pub wake_halted: i64,
    /// Pushing on the target's wake list instead of taking its lock \[guess\].
    pub wake_queued: i64,
    /// Context switch; with [`Costs::wake`] the 830 measured for a hop on one CPU \[measured\].
    pub switch: i64,
    /// Switching in on an idle CPU \[guess\].
    pub switch_in: i64,
    /// Idle task up to the halt: balance, governor, tick book-keeping \[guess, 300-1000\].
    pub prepare_idle: i64,
    /// The governor alone, when it is asked again \[guess\].
    pub govern: i64,
    /// Entry, work and return of an interrupt \[guess\].
    pub interrupt: i64,
    /// Work of a tick on a busy CPU \[guess, 1000-3000\].
    pub tick: i64,
    /// Mean of the exponential tail on that work: balancing and RCU in soft interrupts \[guess\].
    pub tick_tail: i64,
    /// Stopping the tick \[inferred, 200-350\].
    pub tick_stop: i64,
    /// Restarting it \[inferred, 200-350\].
    pub tick_restart: i64,
    /// Blocking path: prepare to wait, check again \[guess\].
    pub block: i64,
    /// Cache refill of a task when others ran on the CPU since \[fitted, 700-900\].
    pub refill: i64,
    /// First touch of a message written on another CPU \[guess, 0-500\].
    pub cold_message: i64,
    /// Refill when a task runs on another CPU than before, by distance \[guess\].
    pub migrate: [i64; DISTANCES],
    /// From sending to handling a reschedule interrupt on a busy CPU in user mode \[guess\].
    pub interrupt_latency: i64,
    /// Sending an interrupt \[guess\].
    pub interrupt_send: i64,
    /// Run-queue lock held by one remote operation \[guess, 300-1000\].
    pub lock_hold: i64,
    /// One contended line moved over a distance; `cache.c2c_*` of the preset.
    pub line: [i64; DISTANCES],
    /// Speed of a thread while its sibling runs, thousandths \[fitted, 580-720\].
    pub smt_run_permille: u32,
    /// Speed of a thread while its sibling polls, thousandths \[guess, 850-980\].
    pub smt_poll_permille: u32,
    /// 200 spins of the polling loop, the time between two looks at the clock \[recalled: a pause
    /// is about 140 cycles from Skylake on, about 10 before\].
    pub poll_quantum: i64,
    /// A core-level idle state needs all threads of the core settled so long \[inferred\].
    pub settle: i64,
    /// Recent residency (mean of 4) below which hardware demotes a core-level request; 0 = never
    /// \[inferred\].
    pub demote_below: i64,
    /// State that a demoted request enters, index in the table of class 0.
    pub demote_to: Option<usize>,
    /// Mean period of the background timers of a CPU \[guess: a few per second on a quiet CPU\].
    pub background_period: i64,
    /// Work of one such timer \[guess\].
    pub background_work: i64,
    /// Added for the first waker out of a package state; 0 = none \[guess, 10-100 us\].
    pub package_exit: i64,
    /// Writing one event of a switch or wake-up into a trace; 0 = nobody traces.
    pub trace_event: i64,
    /// Factor on all kernel-path prices, thousandths; see [`Costs::scaled`].
    pub scale_permille: u32,
    /// One write of a model-specific register in the switch path; 0 = none counted.
    pub wrmsr: i64,
    /// Refill after a state that flushes the private caches: one in sixteen of the lines of the
    /// second-level cache \[guess\], each at [`Costs::fill_l3_ps`].
    pub l2_flush_refill: i64,
    /// Refilling one 64-byte line from the second-level cache, ps \[guess\].
    pub fill_l2_ps: i64,
    /// The same from the last-level cache, ps \[guess\].
    pub fill_l3_ps: i64,
    /// The same from memory, ps \[guess\].
    pub fill_memory_ps: i64,
}

impl Default for Costs {
    /// Start values for a core of 3.5 to 4 GHz.
    fn default() -> Self {
        Self {
            wake: 350,
            wake_remote: [0, 0, 250, 600, 1000],
            wake_halted: 100,
            wake_queued: 200,
            switch: 500,
            switch_in: 400,
            prepare_idle: 500,
            govern: 200,
            interrupt: 1000,
            tick: 2000,
            tick_tail: 3000,
            tick_stop: 300,
            tick_restart: 300,
            block: 400,
            refill: 800,
            cold_message: 0,
            migrate: [0, 0, 500, 2000, 3000],
            interrupt_latency: 500,
            interrupt_send: 200,
            lock_hold: 300,
            line: [0; DISTANCES],
            smt_run_permille: 600,
            smt_poll_permille: 930,
            poll_quantum: 1000,
            settle: 3000,
            demote_below: 50_000,
            demote_to: None,
            background_period: 400_000_000,
            background_work: 3000,
            package_exit: 0,
            trace_event: 0,
            scale_permille: 1000,
            wrmsr: 0,
            l2_flush_refill: 0,
            fill_l2_ps: 1500,
            fill_l3_ps: 5000,
            fill_memory_ps: 12_000,
        }
    }
}

impl Costs {
    /// Returns the prices with the machine's factor applied to every kernel path, and factor 1.
    ///
    /// Kernel paths are code: wake, switch, idle entry, interrupts, tick, block, lock hold. Lines,
    /// refills, register writes, periods and exit latencies stay as they are.
    #[must_use]
    pub fn scaled(&self) -> Self {
        let mut c = self.clone();
        let permille = i64::from(self.scale_permille);
        c.scale_permille = 1000;
        let paths = [
            &mut c.wake,
            &mut c.wake_halted,
            &mut c.wake_queued,
            &mut c.switch,
            &mut c.switch_in,
            &mut c.prepare_idle,
            &mut c.govern,
            &mut c.interrupt,
            &mut c.tick,
            &mut c.tick_tail,
            &mut c.tick_stop,
            &mut c.tick_restart,
            &mut c.block,
            &mut c.interrupt_latency,
            &mut c.interrupt_send,
            &mut c.lock_hold,
            &mut c.background_work,
        ];
        for price in paths.into_iter().chain(&mut c.wake_remote) {
            *price = price.saturating_mul(permille) / 1000;
        }
        c
    }

    /// What [`Costs::l2_flush_refill`] is for a second-level cache of this size.
    pub fn flush_refill(&self, l2_kib: u32) -> i64 {
        let lines = i64::from(l2_kib) * 1024 / 64;
        lines.saturating_mul(self.fill_l3_ps) / 16 / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_two_doubles_paths_and_leaves_caches_alone() {
        let slow = Costs { scale_permille: 2000, ..Costs::default() }.scaled();
        assert_eq!((slow.wake, slow.wake_remote[4], slow.tick_stop), (700, 2000, 600));
        assert_eq!((slow.refill, slow.migrate[3], slow.settle), (800, 2000, 3000));
        assert_eq!(slow.scaled(), slow);
    }

    #[test]
    fn a_part_of_the_private_cache_comes_back_after_a_flush() {
        // 256 KiB are 4096 lines; 256 of them at 5 ns.
        assert_eq!(Costs::default().flush_refill(256), 1280);
    }
}
