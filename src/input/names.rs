//! Names kept once: task names, state letters, functions. Columns hold a number instead.

use std::collections::HashMap;

/// Longest name kept in one machine word pair; task names have at most 15 bytes.
const SHORT: usize = 16;

/// The first n bytes of a little-endian number, for every n below [`SHORT`].
const MASKS: [u128; SHORT] = {
    let mut masks = [0; SHORT];
    let mut n = 1;
    while n < SHORT {
        masks[n] = (1 << (8 * n)) - 1;
        n += 1;
    }
    masks
};

/// A table of distinct byte strings, numbered in order of first appearance.
#[derive(Default, Clone)]
pub struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Open addressing, a power of two of slots; `id + 1`, 0 = free.
    slots: Vec<u32>,
    /// The name as one number, per id; `u128::MAX` for long ones.
    keys: Vec<u128>,
    long: HashMap<Box<[u8]>, u32>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.texts()).finish()
    }
}

impl Names {
    /// Returns the number of `name`, a new one if it was never seen.
    #[inline(never)]
    pub fn id(&mut self, name: &[u8]) -> u32 {
        if name.len() >= SHORT {
            return self.long_id(name);
        }
        let mut key = [0; SHORT];
        key[..name.len()].copy_from_slice(name);
        key[SHORT - 1] = name.len() as u8;
        self.short_id(u128::from_le_bytes(key), name)
    }

    /// As [`Names::id`] of `line[start..end]`, faster where 16 bytes can be looked at.
    #[inline(always)]
    pub fn id_in(&mut self, line: &[u8], start: usize, end: usize) -> u32 {
        let n = end - start;
        match line.get(start..).and_then(|s| s.first_chunk::<SHORT>()) {
            Some(chunk) if n < SHORT => {
                let key = u128::from_le_bytes(*chunk) & MASKS[n] | (n as u128) << (8 * (SHORT - 1));
                self.short_id(key, &line[start..end])
            }
            _ => self.id(&line[start..end]),
        }
    }

    /// Number of distinct names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if no name was seen.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name numbered `id`.
    pub fn get(&self, id: u32) -> &[u8] {
        let i = id as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// All names in order of their numbers, as text with replacement characters where needed.
    pub fn texts(&self) -> Vec<String> {
        (0..self.len() as u32)
            .map(|id| String::from_utf8_lossy(self.get(id)).into_owned())
            .collect()
    }

    #[inline(always)]
    fn short_id(&mut self, key: u128, name: &[u8]) -> u32 {
        if !self.slots.is_empty() {
            let mask = self.slots.len() - 1;
            let mut i = hash(key) & mask;
            while let Some(id) = self.slots[i].checked_sub(1) {
                if self.keys[id as usize] == key {
                    return id;
                }
                i = (i + 1) & mask;
            }
        }
        self.insert_short(key, name)
    }

    #[cold]
    fn insert_short(&mut self, key: u128, name: &[u8]) -> u32 {
        let id = self.push(key, name);
        // Half full at most: probes stay short.
        if 2 * (self.len() + 1) > self.slots.len() {
            self.slots = vec![0; (4 * (self.len() + 1)).next_power_of_two().max(64)];
            for i in 0..self.keys.len() {
                if self.keys[i] != u128::MAX {
                    self.place(i as u32);
                }
            }
        } else {
            self.place(id);
        }
        id
    }

    fn place(&mut self, id: u32) {
        let mask = self.slots.len() - 1;
        let mut i = hash(self.keys[id as usize]) & mask;
        while self.slots[i] != 0 {
            i = (i + 1) & mask;
        }
        self.slots[i] = id + 1;
    }

    #[cold]
    fn long_id(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.long.get(name) {
            return id;
        }
        let id = self.push(u128::MAX, name);
        self.long.insert(name.into(), id);
        id
    }

    fn push(&mut self, key: u128, name: &[u8]) -> u32 {
        let id = self.ends.len() as u32;
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
        self.keys.push(key);
        id
    }
}

/// Mixes the two halves; the multiplier is 2^64 / golden ratio, odd (Fibonacci hashing).
#[inline]
fn hash(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_a_number_whatever_their_place_and_length() {
        let mut names = Names::default();
        let mut expected: Vec<Vec<u8>> = Vec::new();
        for i in 0..3000u32 {
            let name = format!("{}{}", "x".repeat((i % 23) as usize), i % 700).into_bytes();
            let id = match expected.iter().position(|e| *e == name) {
                Some(at) => at,
                None => {
                    expected.push(name.clone());
                    expected.len() - 1
                }
            };
            let line = [b"comm=", &name[..], b" pid=1 prio=120 target_cpu=0"].concat();
            assert_eq!(names.id_in(&line, 5, 5 + name.len()), id as u32);
            assert_eq!(names.id(&name), id as u32);
            assert_eq!(names.get(id as u32), name);
        }
    }

    #[test]
    fn a_name_with_zero_bytes_is_not_its_shorter_neighbour() {
        let mut names = Names::default();
        assert_ne!(names.id(b"a"), names.id(b"a\0"));
        assert_ne!(names.id(b""), names.id(b"\0"));
    }
}
