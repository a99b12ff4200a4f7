//! Finding an entry of a family by name or alias, and suggesting the nearest when there is none.

use crate::error::{Error, Result};

/// Anything that is listed under a name.
pub trait Named {
    /// The registered name.
    fn name(&self) -> &str;
    /// Other spellings that mean the same entry.
    fn aliases(&self) -> &[&str];
}

/// A plain word is its own entry.
impl Named for &str {
    fn name(&self) -> &str {
        self
    }
    fn aliases(&self) -> &[&str] {
        &[]
    }
}

/// Returns the entry of `list` called `name`, by name or alias.
///
/// # Errors
/// [`Error::UnknownName`] with the nearest names.
pub fn find<'a, T: Named>(kind: &'static str, list: &'a [T], name: &str) -> Result<&'a T> {
    list.iter()
        .find(|e| e.name() == name || e.aliases().contains(&name))
        .ok_or_else(|| unknown(kind, list, name))
}

fn unknown<T: Named>(kind: &'static str, list: &[T], name: &str) -> Error {
    let names = |e: &'_ T| -> Vec<String> {
        std::iter::once(e.name()).chain(e.aliases().iter().copied()).map(str::to_owned).collect()
    };
    unknown_of(kind, &list.iter().flat_map(names).collect::<Vec<_>>(), name)
}

/// The error for a name that is none of `known`, with the nearest of them.
pub fn unknown_of(kind: &'static str, known: &[String], name: &str) -> Error {
    let mut scored: Vec<(usize, &str)> =
        known.iter().map(|known| (distance(name, known), known.as_str())).collect();
    scored.sort_by_key(|&(d, _)| d);
    let nearest = scored.iter().take(4).map(|&(_, known)| known.to_owned()).collect();
    Error::UnknownName { kind, name: name.to_owned(), nearest }
}

/// Edit distance that ignores case; a common prefix halves it, since versions differ at the end.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(80).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    let prefix = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    2 * row[b.len()] - row[b.len()].min(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entry(&'static str, &'static [&'static str]);
    impl Named for Entry {
        fn name(&self) -> &str {
            self.0
        }
        fn aliases(&self) -> &[&str] {
            self.1
        }
    }
    const LIST: &[Entry] =
        &[Entry("menu-6.12", &["menu"]), Entry("teo-6.12", &["teo"]), Entry("ladder-6.1", &[])];

    #[test]
    fn an_alias_finds_its_entry() {
        assert_eq!(find("governor", LIST, "teo").unwrap().0, "teo-6.12");
    }

    #[test]
    fn an_unknown_name_lists_the_nearest_first() {
        let Err(Error::UnknownName { nearest, .. }) = find("governor", LIST, "Teo-6.13") else {
            panic!("found a governor that does not exist");
        };
        assert_eq!(nearest[0], "teo-6.12");
    }
}
