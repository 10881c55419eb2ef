//! The receivers of one session as their sender sees them.

use alloc::vec::Vec;

use pullnet_transport::{GroupMember, HostAddr};
use pullnet_units::Instant;

/// Content of a receiver's latest pull, or the common content of the pulls of all receivers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Word {
    /// Pulls sent so far.
    pub number: u32,
    /// The first block that cannot be decoded.
    pub first: u32,
    /// Whether no further symbol is needed.
    pub fin: bool,
}

/// A receiver that does not have everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub addr: HostAddr,
    pub paths: u16,
    /// Its number among all receivers of the session.
    pub row: u32,
    pub pulled: Word,
    pub heard: bool,
}

/// Receivers that do not have everything and have not been detached.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    members: Vec<Member>,
    /// Whether the group was probed since symbols last left.
    pub asked: bool,
    /// When some receivers began to wait for others.
    pub waits_since: Instant,
}

impl Group {
    pub fn new(members: &[GroupMember]) -> Self {
        let member = |(row, member): (u32, &GroupMember)| Member {
            addr: member.addr,
            paths: member.paths,
            row,
            pulled: Word::default(),
            heard: false,
        };
        Self { members: (0..).zip(members).map(member).collect(), asked: false, waits_since: Instant::ZERO }
    }

    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Records a pull that arrives when `served` symbols have been served. Returns whether its number is new; `None` if it is
    /// not a member's. Its first undecodable block counts even if its number is old.
    pub fn note(&mut self, now: Instant, from: HostAddr, pull: Word, served: u32) -> Option<bool> {
        let waited = self.waits(served);
        let member = self.members.iter_mut().find(|member| member.addr == from)?;
        member.heard = true;
        let ahead = pull.number.wrapping_sub(member.pulled.number);
        let new = ahead > 0 && ahead <= u32::MAX / 2;
        if new {
            (member.pulled.number, member.pulled.fin) = (pull.number, pull.fin);
        }
        member.pulled.first = member.pulled.first.max(pull.first);
        if !waited && self.waits(served) {
            self.waits_since = now;
        }
        Some(new)
    }

    /// The pulls common to all members; `None` if there is no member.
    pub fn all(&self) -> Option<Word> {
        let pulls = || self.members.iter().map(|member| member.pulled);
        Some(Word {
            number: pulls().map(|pull| pull.number).min()?,
            first: pulls().map(|pull| pull.first).min()?,
            fin: pulls().all(|pull| pull.fin),
        })
    }

    /// Whether some receivers have pulled more than the `served` symbols and others have not.
    pub fn waits(&self, served: u32) -> bool {
        let ahead = |member: &Member| member.pulled.number > served;
        self.members.iter().any(ahead) && !self.members.iter().all(ahead)
    }

    /// Removes and returns the members that have pulled at most `served` symbols.
    pub fn take_behind(&mut self, served: u32) -> Vec<Member> {
        self.members.extract_if(.., |member| member.pulled.number <= served).collect()
    }

    /// Removes the receiver `addr` and returns its number in the session.
    pub fn remove(&mut self, addr: HostAddr) -> Option<u32> {
        let at = self.members.iter().position(|member| member.addr == addr)?;
        Some(self.members.remove(at).row)
    }
}
