//! Every governor makes the recorded decisions: state, tick and verdict of every period.

use std::fs::File;
use std::path::{Path, PathBuf};

use ndarray::{Array1, OwnedRepr};
use ndarray_npy::{NpzReader, ReadableElement};
use tickless::catalogue::find;
use tickless::idle::{Chosen, GOVERNORS, Options, replay};
use tickless::machine::{IdleState, IdleTable};
use tickless::periods::{Column, Columns, Periods};
use tickless::watch::Watch;

type Npz = NpzReader<File>;

fn column<T: ReadableElement + Clone>(npz: &mut Npz, name: &str) -> Vec<T> {
    let array: Array1<T> =
        npz.by_name::<OwnedRepr<T>, _>(name).unwrap_or_else(|e| panic!("{name}: {e}"));
    array.to_vec()
}

fn scalar(npz: &mut Npz, name: &str) -> i64 {
    let array: ndarray::Array0<i64> = npz.by_name::<OwnedRepr<i64>, _>(name).unwrap();
    array.into_scalar()
}

fn table(npz: &mut Npz) -> IdleTable {
    let exit: Vec<i64> = column(npz, "exit_latency_ns");
    let target: Vec<i64> = column(npz, "target_residency_ns");
    let polling: Vec<u8> = column(npz, "polling");
    let states = (0..exit.len())
        .map(|i| IdleState {
            name: format!("state {i}"),
            exit_latency: exit[i],
            target_residency: target[i],
            polling: polling[i] != 0,
            disabled: false,
            power_mw: None,
        })
        .collect();
    IdleTable::new(states).unwrap()
}

struct Stream {
    times: [Vec<i64>; 5],
    numbers: [Vec<u32>; 3],
    disabled: Vec<u16>,
    flags: [Vec<u8>; 3],
}

impl Stream {
    fn read(npz: &mut Npz) -> Self {
        Self {
            times: ["delta_next", "wake", "delta_tick", "latency", "overhead"]
                .map(|n| column(npz, n)),
            numbers: ["nr_iowait", "cpu_util", "cpu_load"].map(|n| column(npz, n)),
            disabled: column(npz, "disabled"),
            flags: ["tick_stopped", "got_tick", "poll_timeout"].map(|n| column(npz, n)),
        }
    }

    fn periods(&self) -> Periods<'_> {
        let [sleep_length, wake, delta_tick, latency_limit, overhead] =
            self.times.each_ref().map(|c| Column::Slice(c.as_slice()));
        let [nr_iowait, cpu_util, cpu_load] =
            self.numbers.each_ref().map(|c| Column::Slice(c.as_slice()));
        let [tick_stopped, got_tick, poll_timeout] =
            self.flags.each_ref().map(|c| Column::Slice(c.as_slice()));
        Periods::new(Columns {
            delta_tick: Some(delta_tick),
            latency_limit,
            overhead,
            nr_iowait,
            cpu_util,
            cpu_load,
            disabled: Column::Slice(&self.disabled),
            tick_stopped,
            got_tick: Some(got_tick),
            poll_timeout,
            ..Columns::new(sleep_length, wake)
        })
        .unwrap()
    }
}

/// Name of a governor from the name of its arrays: `teo_rfc_v5`, `menu_4_18_20`.
fn registered(id: &str) -> String {
    let (mut name, mut digits) = (String::new(), false);
    for part in id.split('_') {
        let number = part.bytes().all(|b| b.is_ascii_digit());
        if !name.is_empty() {
            name.push(if number && digits { '.' } else { '-' });
        }
        name.push_str(part);
        digits = number;
    }
    name
}

fn compare(path: &Path) -> usize {
    let mut npz = NpzReader::new(File::open(path).unwrap()).unwrap();
    let ids: Vec<String> = npz
        .names()
        .unwrap()
        .iter()
        .filter_map(|n| n.trim_end_matches(".npy").strip_prefix("sel__").map(str::to_owned))
        .collect();
    let table = table(&mut npz);
    let stream = Stream::read(&mut npz);
    let options = Options {
        hz: u32::try_from(scalar(&mut npz, "hz")).unwrap(),
        add_exit_latency: scalar(&mut npz, "add_exit_latency") != 0,
        recorded: None,
        trace: false,
        threads: None,
    };
    for id in &ids {
        let chosen = [Chosen::Entry(find("governor", GOVERNORS, &registered(id)).unwrap())];
        let found = replay(&chosen, &table, &stream.periods(), &options, &Watch::new()).unwrap();
        let file = path.display();
        assert_eq!(found.state, column::<u8>(&mut npz, &format!("sel__{id}")), "{id} in {file}");
        let stop: Vec<u8> = found.stop_tick.iter().map(|&s| u8::from(s)).collect();
        assert_eq!(stop, column::<u8>(&mut npz, &format!("stop__{id}")), "{id} in {file}");
        assert_eq!(
            found.verdict,
            column::<u8>(&mut npz, &format!("verdict__{id}")),
            "{id} in {file}"
        );
    }
    ids.len()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "npz"))
        .collect();
    files.sort();
    files
}

#[test]
fn thirty_governors_decide_as_recorded_in_the_first_periods_of_six_machines() {
    let found: Vec<usize> =
        files(Path::new("tests/data/governors")).iter().map(|f| compare(f)).collect();
    assert_eq!(found, [30; 6]);
}

#[test]
fn thirty_governors_decide_as_recorded_in_the_full_streams() {
    let full = Path::new("../shared/data/governors");
    if !full.is_dir() {
        let required = std::env::var_os("TICKLESS_REQUIRE_SHARED").is_some_and(|v| v == "1");
        assert!(!required, "{} is missing", full.display());
        eprintln!("skipped: {} is not there", full.display());
        return;
    }
    let found: Vec<usize> = files(full).iter().map(|f| compare(f)).collect();
    assert_eq!(found, [30; 6]);
}
