//! Text formats as one kind of tree: order is kept, and so are keys that come twice.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, InputError, Result};

/// A value of JSON or TOML.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// Returns a word for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> std::result::Result<Tree, E> {
        Ok(Tree::Null)
    }
    fn visit_bool<E>(self, v: bool) -> std::result::Result<Tree, E> {
        Ok(Tree::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> std::result::Result<Tree, E> {
        Ok(Tree::Int(v))
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> std::result::Result<Tree, E> {
        i64::try_from(v).map(Tree::Int).map_err(|_| E::custom(format!("{v} is too large")))
    }
    fn visit_f64<E>(self, v: f64) -> std::result::Result<Tree, E> {
        Ok(Tree::Float(v))
    }
    fn visit_str<E>(self, v: &str) -> std::result::Result<Tree, E> {
        Ok(Tree::Text(v.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> std::result::Result<Tree, A::Error> {
        let mut table = Vec::new();
        while let Some(item) = items.next_entry()? {
            table.push(item);
        }
        Ok(Tree::Table(table))
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

/// Reads JSON.
///
/// # Errors
/// [`Error::Input`] with the line.
pub(super) fn json(text: &str, path: &str) -> Result<Tree> {
    serde_json::from_str(text).map_err(|e| {
        let line = (e.line() > 0).then_some(e.line());
        syntax(text, path, line, "json-syntax", e.to_string())
    })
}

/// Reads TOML.
///
/// # Errors
/// [`Error::Input`] with the line.
pub(super) fn toml(text: &str, path: &str) -> Result<Tree> {
    toml::from_str(text).map_err(|e| {
        let before = e.span().and_then(|span| text.get(..span.start));
        let line = before.map(|t| t.matches('\n').count() + 1);
        syntax(text, path, line, "toml-syntax", e.message().to_owned())
    })
}

fn syntax(
    text: &str,
    path: &str,
    line: Option<usize>,
    code: &'static str,
    reason: String,
) -> Error {
    let excerpt = line.and_then(|n| text.lines().nth(n - 1)).unwrap_or("").trim();
    InputError {
        path: path.to_owned(),
        line: line.map(|n| n as u64),
        code,
        reason,
        excerpt: excerpt.chars().take(80).collect(),
        remedy: String::new(),
    }
    .into()
}
