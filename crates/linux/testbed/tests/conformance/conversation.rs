//! Common parts of all conversations: a name, a network that plays a script, and the expected result.

use crate::script::{Fate, Kind, Line, Passage, Player, Which};

/// The part of a conversation that is independent of the hosts' actions.
pub struct Outline {
    /// The behaviour under test.
    pub name: &'static str,
    script: Vec<Line>,
    lost: Vec<Kind>,
    expected: &'static str,
}

impl Outline {
    /// A network that delivers everything.
    pub fn new(name: &'static str) -> Self {
        Self { name, script: Vec::new(), lost: Vec::new(), expected: "" }
    }

    /// A player of this conversation's script.
    pub fn player<T: Clone>(&self) -> Player<T> {
        Player::new(self.script.clone(), self.lost.clone())
    }

    /// Describes the difference from the expected result, if any.
    pub fn check(&self, seen: &str, unplayed: &[Which]) -> Option<String> {
        let lines =
            |text: &str| text.lines().map(|line| format!("    {}\n", line.trim())).collect::<String>();
        let (expected, seen) = (lines(self.expected.trim()), lines(seen.trim()));
        let never: String = unplayed.iter().map(|which| format!("    {which} never came\n")).collect();
        let name = self.name;
        (expected != seen || !never.is_empty())
            .then(|| format!("{name}\n  must see\n{expected}  has seen\n{seen}{never}"))
    }
}

/// Builder of a conversation.
pub trait Conversation: Sized {
    /// The common part.
    fn outline(&mut self) -> &mut Outline;

    /// Sets the passages of a packet through the network.
    fn passes(mut self, which: Which, passages: impl IntoIterator<Item = Passage>) -> Self {
        self.outline().script.push((which, passages.into_iter().collect()));
        self
    }

    /// A packet is lost.
    fn loses(self, which: Which) -> Self {
        self.passes(which, [])
    }

    /// All packets of a kind are lost.
    fn loses_every(mut self, kind: Kind) -> Self {
        self.outline().lost.push(kind);
        self
    }

    /// The network trims a packet.
    fn trims(self, which: Which) -> Self {
        self.passes(which, [Fate::Trimmed.into()])
    }

    /// The network trims a packet and returns its header.
    fn returns(self, which: Which) -> Self {
        self.passes(which, [Fate::Returned.into()])
    }

    /// The network corrupts a packet's payload.
    fn damages(self, which: Which) -> Self {
        self.passes(which, [Fate::Damaged.into()])
    }

    /// The network duplicates a packet.
    fn doubles(self, which: Which) -> Self {
        self.passes(which, [Fate::Whole.into(); 2])
    }

    /// The network delivers a packet's header twice.
    fn doubles_trimmed(self, which: Which) -> Self {
        self.passes(which, [Fate::Trimmed.into(); 2])
    }

    /// The network delays a packet until after another one.
    fn delays(self, which: Which, after: Which) -> Self {
        self.passes(which, [Passage { fate: Fate::Whole, after: Some(after) }])
    }

    /// The network delivers a packet, and a copy of it after another one.
    fn repeats(self, which: Which, after: Which) -> Self {
        self.passes(which, [Fate::Whole.into(), Passage { fate: Fate::Whole, after: Some(after) }])
    }

    /// Sets the expected result: the packets sent by the hosts, and how everything ended.
    fn must_see(mut self, expected: &'static str) -> Self {
        self.outline().expected = expected;
        self
    }
}
