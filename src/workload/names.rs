//! What things are called: numbers are enough to run, names are for people.

/// Names of the things of a plan, each kind by number; a thing without one is known by its number.
///
/// Many things may share a name: the channel of each client. The words are kept once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    words: Vec<String>,
    things: [Vec<u32>; KINDS],
}

/// Kinds of things that tasks wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A channel.
    Channel,
    /// A lock.
    Lock,
    /// A contended line.
    Line,
    /// A barrier.
    Barrier,
    /// A device.
    Device,
}

const KINDS: usize = 5;

impl Names {
    /// Names the next thing of a kind.
    pub fn add(&mut self, kind: Kind, name: &str) {
        // The same name comes many times in a row, so the search begins at the end.
        let known = self.words.iter().rposition(|w| w == name);
        let word = known.unwrap_or_else(|| {
            self.words.push(name.to_owned());
            self.words.len() - 1
        });
        self.things[kind as usize].push(word as u32);
    }

    /// Returns the name of a thing, if it has one.
    pub fn get(&self, kind: Kind, number: u32) -> Option<&str> {
        let word = *self.things[kind as usize].get(number as usize)?;
        self.words.get(word as usize).map(String::as_str)
    }

    /// Returns `channel "answer"`, or `channel 3` if it has no name.
    pub fn say(&self, kind: Kind, number: u32) -> String {
        let word = kind.word();
        match self.get(kind, number) {
            Some(name) => format!("{word} {name:?}"),
            None => format!("{word} {number}"),
        }
    }
}

impl Kind {
    /// Returns the word for a thing of this kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Lock => "lock",
            Self::Line => "line",
            Self::Barrier => "barrier",
            Self::Device => "device",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_called_by_its_name_or_by_its_number() {
        let mut names = Names::default();
        for name in ["ask", "answer", "ask"] {
            names.add(Kind::Channel, name);
        }
        names.add(Kind::Lock, "answer");
        assert_eq!(names.say(Kind::Channel, 2), "channel \"ask\"");
        assert_eq!(names.say(Kind::Lock, 0), "lock \"answer\"");
        assert_eq!(names.say(Kind::Lock, 1), "lock 1");
        assert_eq!(names.get(Kind::Device, 0), None);
    }
}
