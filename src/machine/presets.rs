//! The machines that ship: one TOML file each in `presets/`, embedded at build time.

use super::{Machine, preset_file};
use crate::catalogue::{self, Named};
use crate::error::Result;

/// One preset before it is parsed.
#[derive(Debug)]
pub struct Preset {
    /// Registered name.
    pub name: &'static str,
    /// Short name, and spellings of reports.
    pub aliases: &'static [&'static str],
    text: &'static str,
}

impl Named for Preset {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
}

impl Preset {
    /// Parses the embedded file.
    ///
    /// # Errors
    /// Never for the files that ship: a test parses all of them.
    pub fn machine(&self) -> Result<Machine> {
        preset_file::parse(self.text, self.aliases)
    }
}

/// Returns the machine called `name`, by name or alias.
///
/// # Errors
/// [`crate::error::Error::UnknownName`] with the nearest names.
pub fn machine(name: &str) -> Result<Machine> {
    catalogue::find("machine", PRESETS, name)?.machine()
}

/// Every machine that ships, in the order of the docs: first those of the published reports.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "8x-SKYLAKE-UMA",
        aliases: &["skl-e3-1240v5"],
        text: include_str!("presets/8x-skylake-uma.toml"),
    },
    Preset {
        name: "80x-BROADWELL-NUMA",
        aliases: &["bdx-2x-e5-2698v4"],
        text: include_str!("presets/80x-broadwell-numa.toml"),
    },
    Preset {
        name: "48x-HASWELL-NUMA",
        aliases: &["hsx-2x-e5-2670v3"],
        text: include_str!("presets/48x-haswell-numa.toml"),
    },
    Preset {
        name: "i7-2600k",
        aliases: &["snb-i7-2600k"],
        text: include_str!("presets/i7-2600k.toml"),
    },
    Preset {
        name: "epyc-2x64-nps1",
        aliases: &["milan-2x64c"],
        text: include_str!("presets/epyc-2x64-nps1.toml"),
    },
    Preset {
        name: "dual-p4-1700",
        aliases: &["p4-dual-1700"],
        text: include_str!("presets/dual-p4-1700.toml"),
    },
    Preset {
        name: "piii-500",
        aliases: &["p3-500-up"],
        text: include_str!("presets/piii-500.toml"),
    },
    Preset {
        name: "skylake-sp-2x28",
        aliases: &["skx-2x-8180"],
        text: include_str!("presets/skylake-sp-2x28.toml"),
    },
    Preset {
        name: "icelake-sp-2x40",
        aliases: &["icx-2x-8380"],
        text: include_str!("presets/icelake-sp-2x40.toml"),
    },
    Preset {
        name: "sapphire-rapids-2x56",
        aliases: &["spr-2x-8480"],
        text: include_str!("presets/sapphire-rapids-2x56.toml"),
    },
    Preset {
        name: "epyc-genoa-2x96",
        aliases: &["genoa-2x96c"],
        text: include_str!("presets/epyc-genoa-2x96.toml"),
    },
    Preset {
        name: "snapdragon-845",
        aliases: &["arm-sdm845"],
        text: include_str!("presets/snapdragon-845.toml"),
    },
    Preset {
        name: "juno-r1",
        aliases: &["arm-juno-r1"],
        text: include_str!("presets/juno-r1.toml"),
    },
    Preset { name: "vm-2cpu", aliases: &[], text: include_str!("presets/vm-2cpu.toml") },
    Preset {
        name: "emulated-1cpu",
        aliases: &["icount"],
        text: include_str!("presets/emulated-1cpu.toml"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_parses_under_its_own_name() {
        for preset in PRESETS {
            let machine = preset.machine().unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            assert_eq!(machine.name, preset.name);
            for class in &machine.classes {
                assert!(class.table.warnings().is_empty(), "{}: unordered", preset.name);
            }
        }
    }

    #[test]
    fn every_cpu_of_a_hybrid_is_in_one_class() {
        let juno = machine("juno-r1").unwrap();
        let mut cpus: Vec<u32> = juno.classes.iter().flat_map(|c| c.cpus.clone()).collect();
        cpus.sort_unstable();
        assert_eq!(cpus, (0..juno.ncpus).collect::<Vec<_>>());
    }

    #[test]
    fn table_values_are_those_of_the_intel_idle_driver() {
        let skl = machine("8x-SKYLAKE-UMA").unwrap();
        let c6 = &skl.classes[0].table.states()[4];
        assert_eq!(
            (c6.name.as_str(), c6.exit_latency, c6.target_residency),
            ("C6", 85_000, 200_000)
        );
    }
}
