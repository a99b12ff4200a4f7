//! One field of a definition: what it holds, and where it stands.

use crate::error::{Error, Result};
use crate::workload::tree::Tree;

/// A value with its place, `workload.programs.client[3].send`.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub(super) place: String,
    pub(super) value: &'a Tree,
}

/// Units of time, in ns.
const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Units of size, in bytes.
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// Largest number that still is an exact integer in all formats.
const EXACT: f64 = 9.0e15;

/// Most entries of a table: every one is compared with the others by name.
const MOST_ENTRIES: usize = 20_000;

impl<'a> Field<'a> {
    pub(super) fn new(place: impl Into<String>, value: &'a Tree) -> Self {
        Self { place: place.into(), value }
    }

    /// Returns the error that the field is wrong for this reason.
    pub(super) fn wrong(&self, reason: impl Into<String>) -> Error {
        Error::invalid(self.place.clone(), reason)
    }

    fn expected(&self, what: &str) -> Error {
        self.wrong(format!("expected {what}, found {}", self.value.kind()))
    }

    /// Returns the entries of a table, each with its key.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Field<'a>)>> {
        let Tree::Table(table) = self.value else { return Err(self.expected("a table")) };
        if table.len() > MOST_ENTRIES {
            let found = table.len();
            return Err(self.wrong(format!("has {found} entries; at most {MOST_ENTRIES} can be")));
        }
        Ok(table
            .iter()
            .map(|(key, value)| (key.as_str(), Field::new(format!("{}.{key}", self.place), value)))
            .collect())
    }

    /// Refuses keys that are not known.
    pub(super) fn only(&self, known: &[&str]) -> Result<()> {
        for (key, field) in self.entries()? {
            if !known.contains(&key) {
                return Err(field.wrong(format!("is not known here; known: {}", known.join(", "))));
            }
        }
        Ok(())
    }

    /// Returns an entry of a table.
    pub(super) fn get(&self, key: &str) -> Result<Option<Field<'a>>> {
        Ok(self.entries()?.into_iter().find(|(k, _)| *k == key).map(|(_, field)| field))
    }

    /// Returns an entry that has to be there.
    pub(super) fn need(&self, key: &str) -> Result<Field<'a>> {
        self.get(key)?.ok_or_else(|| self.wrong(format!("{key} is missing")))
    }

    /// Returns the items of a list.
    pub(super) fn items(&self) -> Result<Vec<Field<'a>>> {
        let Tree::List(list) = self.value else { return Err(self.expected("a list")) };
        let item = |(i, value)| Field::new(format!("{}[{i}]", self.place), value);
        Ok(list.iter().enumerate().map(item).collect())
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        match self.value {
            Tree::Text(text) => Ok(text),
            _ => Err(self.expected("a text")),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        match self.value {
            Tree::Bool(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(super) fn number(&self) -> Result<f64> {
        match self.value {
            Tree::Int(value) => Ok(*value as f64),
            Tree::Float(value) if value.is_finite() => Ok(*value),
            _ => Err(self.expected("a number")),
        }
    }

    /// Returns an integer between two limits.
    pub(super) fn integer(&self, least: i64, most: i64) -> Result<i64> {
        let value = match self.value {
            Tree::Int(value) => *value,
            Tree::Float(value) if value.fract() == 0.0 && value.abs() < EXACT => *value as i64,
            _ => return Err(self.expected("an integer")),
        };
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(self.wrong(format!("{value} is not between {least} and {most}")))
    }

    /// Returns one of some words, by its place in the list.
    pub(super) fn word(&self, words: &[&str]) -> Result<usize> {
        let text = self.text()?;
        let unknown = || self.wrong(format!("{text:?} is none of {}", words.join(", ")));
        words.iter().position(|w| *w == text).ok_or_else(unknown)
    }

    /// Returns a time in ns: an integer, or a text such as `2.5 us`.
    pub(super) fn time(&self) -> Result<i64> {
        self.quantity(TIMES, "a time: a number, or a text such as \"2.5 us\"")
    }

    /// Returns a size in bytes: an integer, or a text such as `64 KiB`.
    pub(super) fn size(&self) -> Result<i64> {
        self.quantity(SIZES, "a size: a number of bytes, or a text such as \"64 KiB\"")
    }

    fn quantity(&self, units: &[(&str, f64)], what: &str) -> Result<i64> {
        let Tree::Text(text) = self.value else {
            return match self.value {
                Tree::Int(_) | Tree::Float(_) => self.integer(0, EXACT as i64),
                _ => Err(self.expected(what)),
            };
        };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[digits.len()..];
        let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, f)| f);
        let (Ok(value), Some(factor)) = (digits.trim().parse::<f64>(), factor) else {
            return Err(self.wrong(format!("{text:?} is not {what}")));
        };
        let value = value * factor;
        if !(0.0..EXACT).contains(&value) {
            return Err(self.wrong(format!("{text:?} is out of range")));
        }
        Ok(value.round() as i64)
    }
}

/// Returns a number of things: an integer, or a product such as `2*case` or `ncpus`.
pub(super) fn amount_of(field: &Field<'_>, case: i64, ncpus: u32) -> Result<u64> {
    let Tree::Text(text) = field.value else { return Ok(field.integer(0, i64::MAX)? as u64) };
    let mut product = 1_u64;
    for factor in text.split('*').map(str::trim) {
        let value = match factor {
            "case" => u64::try_from(case).ok(),
            "ncpus" => Some(u64::from(ncpus)),
            number => number.parse().ok(),
        };
        let Some(value) = value else {
            let reason = format!("{text:?} is not a product of numbers, \"case\" and \"ncpus\"");
            return Err(field.wrong(reason));
        };
        let too_many = || field.wrong(format!("{text:?} is more than any machine holds"));
        product = product.checked_mul(value).ok_or_else(too_many)?;
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(tree: Tree) -> Result<i64> {
        Field::new("t", &tree).time()
    }

    #[test]
    fn times_are_nanoseconds_or_carry_a_unit() {
        assert_eq!(time(Tree::Int(250)).unwrap(), 250);
        assert_eq!(time(Tree::Text("2.5 us".into())).unwrap(), 2500);
        assert_eq!(time(Tree::Text("1s".into())).unwrap(), 1_000_000_000);
        assert_eq!(time(Tree::Text("1e3 us".into())).unwrap(), 1_000_000);
        for bad in ["2.5", "us", "-1 us", "1 h", "1e30 s", "nan us", "inf s", ""] {
            assert!(time(Tree::Text(bad.into())).is_err(), "{bad}");
        }
        assert!(time(Tree::Int(-1)).is_err());
        assert!(time(Tree::Bool(true)).is_err());
    }

    #[test]
    fn numbers_of_things_are_products() {
        let of = |text: &str| amount_of(&Field::new("n", &Tree::Text(text.into())), 3, 8);
        assert_eq!(of("2*case*ncpus").unwrap(), 48);
        assert!(of("case+1").is_err());
        assert!(of("9999999999*9999999999*99").is_err());
    }
}
