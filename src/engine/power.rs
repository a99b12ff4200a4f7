//! Power of the packages: an estimate from where the time went.
//!
//! A core draws its active power while any of its threads executes, and the power of its idle state
//! otherwise; a package adds its idle power, and that of the uncore while any of its cores executes.
//! How idle times of siblings overlap is not recorded: they are taken to be independent. Nor is the
//! state of each CPU: all idle cores have the same mix of states.

use super::cpu::Spent;
use super::metrics::StateBooks;
use crate::machine::{CpuClass, Machine};

/// Returns the mean power of all packages over so many ns, W; NaN where the machine does not tell.
pub fn watts(machine: &Machine, spent: &[Spent], states: &[StateBooks], elapsed: i64) -> f64 {
    let Some(power) = machine.power.as_ref().filter(|_| elapsed > 0) else { return f64::NAN };
    let topology = &machine.topology;
    let idle: Vec<f64> = machine.classes.iter().map(|c| idle_mw(c, states)).collect();
    let mut mw = 0.0;
    let mut asleep = vec![1.0; topology.nsockets()];
    for core in 0..topology.ncores() as u32 {
        let threads = topology.core_cpus(core);
        let halted: f64 =
            threads.iter().map(|&c| idle_share(&spent[c as usize], elapsed)).product();
        let first = threads[0];
        mw += power.core_active_mw * (1.0 - halted);
        if halted > 0.0 {
            mw += idle[machine.class_of(first)] * halted;
        }
        asleep[topology.socket(first) as usize] *= halted;
    }
    for halted in asleep {
        mw += power.package_idle_mw + power.uncore_mw * (1.0 - halted);
    }
    mw / 1e3
}

/// Returns the share of the time that a CPU was in idle states.
pub fn idle_share(spent: &Spent, elapsed: i64) -> f64 {
    (spent.idle as f64 / elapsed as f64).clamp(0.0, 1.0)
}

/// Returns the mean power of a core of this class in the mix of states, mW.
fn idle_mw(class: &CpuClass, states: &[StateBooks]) -> f64 {
    let books = class.table.states().iter().zip(states).filter(|(_, b)| b.time > 0);
    let (mut energy, mut time) = (0.0, 0.0);
    for (state, books) in books {
        energy += state.power_mw.unwrap_or(f64::NAN) * books.time as f64;
        time += books.time as f64;
    }
    energy / time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_draws_what_its_parts_draw() {
        let machine = crate::machine::presets::machine("8x-SKYLAKE-UMA").unwrap();
        let power = machine.power.clone().unwrap();
        let mut states = vec![StateBooks::default(); 8];
        states[1].time = 6_000;
        let c1 = machine.classes[0].table.states()[1].power_mw.unwrap();
        // One core of four runs all the time, its sibling and the others sleep.
        let (busy, idle) = (
            Spent { busy: 900, overhead: 100, idle: 0 },
            Spent { busy: 0, overhead: 0, idle: 1000 },
        );
        let mut spent = vec![idle; 8];
        spent[0] = busy;
        let expected = power.package_idle_mw + power.uncore_mw + power.core_active_mw + 3.0 * c1;
        assert!((watts(&machine, &spent, &states, 1000) - expected / 1e3).abs() < 1e-9);
        let expected = power.package_idle_mw + 4.0 * c1;
        assert!((watts(&machine, &[idle; 8], &states, 1000) - expected / 1e3).abs() < 1e-9);
    }

    #[test]
    fn half_the_time_on_each_of_two_siblings_is_three_quarters_of_the_core() {
        let machine = crate::machine::presets::machine("8x-SKYLAKE-UMA").unwrap();
        let power = machine.power.clone().unwrap();
        let mut states = vec![StateBooks::default(); 8];
        states[1].time = 1;
        let c1 = machine.classes[0].table.states()[1].power_mw.unwrap();
        let mut spent = vec![Spent { busy: 0, overhead: 0, idle: 1000 }; 8];
        for &c in machine.topology.core_cpus(0) {
            spent[c as usize] = Spent { busy: 500, overhead: 0, idle: 500 };
        }
        let expected =
            power.package_idle_mw + 0.75 * (power.uncore_mw + power.core_active_mw) + 3.25 * c1;
        assert!((watts(&machine, &spent, &states, 1000) - expected / 1e3).abs() < 1e-9);
    }

    #[test]
    fn a_machine_without_power_numbers_gives_none() {
        let mut machine = crate::machine::presets::machine("8x-SKYLAKE-UMA").unwrap();
        machine.power = None;
        let spent = vec![Spent::default(); 8];
        assert!(watts(&machine, &spent, &[], 1000).is_nan());
    }
}
