//! The layers of the core: who may use whom, the wall around Python, and the size of files.

use std::fs;
use std::path::{Path, PathBuf};

/// Level of every top-level module; a module may use modules of a lower level, and itself.
/// Modules of one level do not know each other.
const LEVELS: &[(&str, u8)] = &[
    ("error", 0),
    ("watch", 0),
    ("catalogue", 1),
    ("rng", 1),
    ("machine", 2),
    ("periods", 2),
    ("idle", 3),
    ("sched", 3),
    ("input", 3),
    ("workload", 3),
    ("kernel", 4),
    ("engine", 5),
    ("python", 6),
];

/// Level 0 and 1 modules of one level may use `error`, which everything uses.
const COMMON: &[&str] = &["error", "watch"];

/// Files that may be longer than the limit, each with its reason.
const LONG: &[(&str, &str)] = &[];

const MOST_CODE_LINES: usize = 400;

#[test]
fn modules_use_only_lower_levels() {
    let mut offences = Vec::new();
    for (path, module) in sources() {
        let level = level_of(&module).unwrap_or_else(|| {
            panic!("{}: module {module:?} is not in the level table", path.display())
        });
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            for used in crate_paths(line) {
                let Some(other) = level_of(&used) else { continue };
                if used != module && other >= level && !COMMON.contains(&used.as_str()) {
                    offences.push(format!(
                        "{}:{}: {module} (level {level}) uses {used} (level {other})",
                        path.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn only_the_border_knows_python() {
    for (path, module) in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let named = code.contains("pyo3") || code.contains("numpy");
            assert!(
                !named || module == "python",
                "{}:{}: pyo3 and numpy belong under src/python/",
                path.display(),
                number + 1
            );
        }
    }
}

#[test]
fn every_module_of_the_table_exists() {
    let modules: Vec<String> = sources().into_iter().map(|(_, m)| m).collect();
    for (name, _) in LEVELS {
        assert!(modules.iter().any(|m| m == name), "{name} is in the level table but not in src/");
    }
}

#[test]
fn a_file_is_one_room() {
    for (path, _) in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let code = code_lines(&text);
        let name = path.to_string_lossy().replace('\\', "/");
        let reason = LONG.iter().find(|(long, _)| name.ends_with(long));
        assert!(
            code <= MOST_CODE_LINES || reason.is_some(),
            "{name} has {code} lines of code; split it, or give the reason in LONG"
        );
    }
}

/// Lines that are neither blank nor comments, up to the in-file tests.
fn code_lines(text: &str) -> usize {
    text.split("#[cfg(test)]")
        .next()
        .unwrap_or("")
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with("//"))
        .count()
}

fn level_of(module: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == module).map(|&(_, level)| level)
}

/// Returns the modules that a line names as `crate::module`.
fn crate_paths(line: &str) -> Vec<String> {
    if line.trim_start().starts_with("//") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for rest in line.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').map_or(rest, |l| l.split('}').next().unwrap_or(l));
        let many = rest.starts_with('{');
        for part in list.split(',').take(if many { usize::MAX } else { 1 }) {
            let name: String =
                part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push(name);
        }
    }
    found
}

/// Returns every Rust file under `src/` except `lib.rs`, with its top-level module.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("lib.rs") {
                let inside = path.strip_prefix(&root).unwrap();
                let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
                found.push((path.clone(), first.trim_end_matches(".rs").to_owned()));
            }
        }
    }
    found.sort();
    found
}
