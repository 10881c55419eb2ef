//! Which arbiter a host turns to: rules H1 to H3 of the README.

use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};

/// Effects of an arbiter's message, or of its silence, on the flows of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// All flows move to the current arbiter; the previous arbiter is told, if there was one.
    Ask { leave: Option<HostAddr> },
    /// No arbiter answers: flows do without.
    FallBack,
}

/// The arbiters of a host, and which of them answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Liaison {
    arbiters: [Option<HostAddr>; 2],
    /// Paths to each; 1 until it has spoken, for the first path always exists.
    ways: [u16; 2],
    /// `None`: none answers.
    current: Option<usize>,
    /// When the first request was made that the current arbiter has not answered.
    unanswered: Option<Instant>,
    /// Next probe of the arbiters that count as dead; [`Instant::NEVER`] if no flow depends on it.
    pub probe_at: Instant,
}

impl Liaison {
    pub fn new(arbiters: [Option<HostAddr>; 2]) -> Self {
        Self { arbiters, ways: [1; 2], current: Some(0), unanswered: None, probe_at: Instant::NEVER }
    }

    /// The arbiter that requests go to.
    pub fn current(&self) -> Option<HostAddr> {
        self.arbiters[self.current?]
    }

    fn place(&self, addr: HostAddr) -> Option<usize> {
        self.arbiters.iter().position(|arbiter| *arbiter == Some(addr))
    }

    /// Whether this host is one of the arbiters.
    pub fn knows(&self, addr: HostAddr) -> bool {
        self.place(addr).is_some()
    }

    /// Paths to an arbiter, as far as it is known.
    pub fn ways(&self, addr: HostAddr) -> u16 {
        self.place(addr).map_or(1, |place| self.ways[place])
    }

    /// A request was sent to the current arbiter.
    pub fn asked(&mut self, now: Instant) {
        self.unanswered = self.unanswered.or(Some(now));
    }

    /// No flow is open: there is no answer that anybody waits for.
    pub fn rest(&mut self) {
        (self.unanswered, self.probe_at) = (None, Instant::NEVER);
    }

    /// Rule H1: an arbiter that leaves requests unanswered for `timeout` counts as dead; the backup is next, and after it there is no arbiter.
    pub fn check(&mut self, now: Instant, timeout: Picos) -> Change {
        let (Some(current), Some(since)) = (self.current, self.unanswered) else { return Change::None };
        if now.since(since) < timeout {
            return Change::None;
        }
        self.unanswered = None;
        self.current = Some(current + 1).filter(|next| self.arbiters.get(*next).is_some_and(Option::is_some));
        if self.current.is_some() { Change::Ask { leave: None } } else { Change::FallBack }
    }

    /// Rule H3: an arbiter has spoken. The first of the list that answers is the current one.
    pub fn heard(&mut self, from: HostAddr, ways: u16) -> Change {
        let Some(place) = self.place(from) else { return Change::None };
        self.ways[place] = ways;
        match self.current {
            Some(current) if current < place => Change::None,
            Some(current) if current == place => {
                self.unanswered = None;
                Change::None
            }
            before => {
                (self.current, self.unanswered) = (Some(place), None);
                Change::Ask { leave: before.and_then(|before| self.arbiters[before]) }
            }
        }
    }

    /// The arbiters that count as dead: those before the current one.
    pub fn dead(&self) -> impl Iterator<Item = HostAddr> + use<> {
        let count = self.current.unwrap_or(self.arbiters.len());
        self.arbiters.into_iter().take(count).flatten()
    }

    /// Whether every request goes to the arbiter of the list that comes first.
    pub fn is_regular(&self) -> bool {
        self.current == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: HostAddr = HostAddr(7);
    const SECOND: HostAddr = HostAddr(8);
    const TIMEOUT: Picos = Picos(100);

    fn at(time: u64) -> Instant {
        Instant(time)
    }

    #[test]
    fn a_silent_arbiter_is_replaced_and_returns() {
        let mut liaison = Liaison::new([Some(FIRST), Some(SECOND)]);
        liaison.asked(at(10));
        liaison.asked(at(60));
        assert_eq!(liaison.check(at(109), TIMEOUT), Change::None);
        assert_eq!(liaison.check(at(110), TIMEOUT), Change::Ask { leave: None });
        assert_eq!((liaison.current(), liaison.dead().next()), (Some(SECOND), Some(FIRST)));
        liaison.asked(at(110));
        assert_eq!(liaison.check(at(210), TIMEOUT), Change::FallBack);
        assert_eq!((liaison.current(), liaison.dead().count()), (None, 2));
        assert_eq!(liaison.heard(SECOND, 1), Change::Ask { leave: None });
        assert_eq!(liaison.heard(FIRST, 1), Change::Ask { leave: Some(SECOND) });
        assert_eq!((liaison.heard(SECOND, 1), liaison.is_regular()), (Change::None, true));
    }

    #[test]
    fn an_answer_ends_the_wait() {
        let mut liaison = Liaison::new([Some(FIRST), None]);
        liaison.asked(at(0));
        assert_eq!((liaison.heard(HostAddr(1), 1), liaison.heard(FIRST, 1)), (Change::None, Change::None));
        assert_eq!(liaison.check(at(500), TIMEOUT), Change::None);
        liaison.asked(at(500));
        assert_eq!(liaison.check(at(600), TIMEOUT), Change::FallBack);
    }
}
