//! What every conversation has: a name, a network that plays a script, and what must come out.

use crate::script::{Fate, Kind, Line, Passage, Player, Which};

/// That part of a conversation which does not depend on what its hosts do.
pub struct Outline {
    /// What it shows.
    pub name: &'static str,
    script: Vec<Line>,
    lost: Vec<Kind>,
    expected: &'static str,
}

impl Outline {
    /// A network that carries everything.
    pub fn new(name: &'static str) -> Self {
        Self { name, script: Vec::new(), lost: Vec::new(), expected: "" }
    }

    /// The network of this conversation.
    pub fn player<T: Clone>(&self) -> Player<T> {
        Player::new(self.script.clone(), self.lost.clone())
    }

    /// What went otherwise than it must, if anything did.
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

/// A conversation while it is written down.
pub trait Conversation: Sized {
    /// What is the same for all.
    fn outline(&mut self) -> &mut Outline;

    /// A packet leaves the network so often, and so.
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

    /// A packet loses its payload.
    fn trims(self, which: Which) -> Self {
        self.passes(which, [Fate::Trimmed.into()])
    }

    /// A packet loses its payload, and its header goes back.
    fn returns(self, which: Which) -> Self {
        self.passes(which, [Fate::Returned.into()])
    }

    /// A packet's payload is not what was sent.
    fn damages(self, which: Which) -> Self {
        self.passes(which, [Fate::Damaged.into()])
    }

    /// A packet arrives twice.
    fn doubles(self, which: Which) -> Self {
        self.passes(which, [Fate::Whole.into(); 2])
    }

    /// A packet's header arrives twice.
    fn doubles_trimmed(self, which: Which) -> Self {
        self.passes(which, [Fate::Trimmed.into(); 2])
    }

    /// A packet is overtaken by another.
    fn delays(self, which: Which, after: Which) -> Self {
        self.passes(which, [Passage { fate: Fate::Whole, after: Some(after) }])
    }

    /// A packet arrives, and once more behind another.
    fn repeats(self, which: Which, after: Which) -> Self {
        self.passes(which, [Fate::Whole.into(), Passage { fate: Fate::Whole, after: Some(after) }])
    }

    /// What comes out: what the hosts have sent, and how everything ended.
    fn must_see(mut self, expected: &'static str) -> Self {
        self.outline().expected = expected;
        self
    }
}
