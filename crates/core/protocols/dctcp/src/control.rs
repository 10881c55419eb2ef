use pullnet_settings::choice;
use pullnet_window::{Acked, Control, Growth, NewReno};

choice! {
    /// When the window is reduced.
    pub enum Reaction {
        /// At the first echoed mark, at most once per window of data (RFC 8257, section 3.3; Linux).
        Mark = "mark",
        /// At the end of each window of data in which a mark was echoed.
        Window = "window",
        /// At the end of each window of data as long as alpha is above 0, marks or not (public NDP code).
        Always = "always",
    }
}

/// Rules of DCTCP's congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct DctcpRules {
    /// Growth, as that of TCP.
    pub growth: Growth,
    /// Weight of the latest window in alpha (g).
    pub gain: f64,
    /// Alpha of a new connection.
    pub initial_alpha: f64,
    /// When the window is reduced.
    pub reaction: Reaction,
    /// Whether the first mark of a window ends slow start before the window is reduced.
    pub leave_slow_start: bool,
}

/// Least congestion window after a reduction, packets (as after any loss: RFC 5681, equation 4).
const LEAST_WINDOW: f64 = 2.0;

/// DCTCP's congestion control of one connection: RFC 8257, sections 3.3 and 3.4, step by step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dctcp {
    /// Slow start, congestion avoidance and the reaction to losses.
    pub reno: NewReno,
    /// DCTCP.Alpha: estimate of the share of packets that are marked, 0 to 1.
    pub alpha: f64,
    /// The window shrinks by half of alpha to this power: 1, unless deadlines say otherwise (D2TCP).
    pub exponent: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked, in packets.
    acked: u32,
    marked: u32,
    /// DCTCP.WindowEnd: the observation ends when this packet is acknowledged.
    window_end: u32,
    /// No mark reduces the window again before this packet is acknowledged. `None` after a loss: the window of data in which
    /// the loss was found is known with the next ACK.
    reduced_until: Option<u32>,
}

impl Dctcp {
    /// RFC 8257, section 3.3, steps 1 to 8.
    fn observe(&mut self, rules: &DctcpRules, ack: &Acked) {
        self.acked += ack.packets;
        self.marked += if ack.echo { ack.packets } else { 0 };
        if ack.first <= self.window_end || self.acked == 0 {
            return;
        }
        let share = f64::from(self.marked) / f64::from(self.acked);
        self.alpha = self.alpha * (1.0 - rules.gain) + rules.gain * share;
        let reduces = match rules.reaction {
            Reaction::Mark => false,
            Reaction::Window => self.marked > 0,
            Reaction::Always => self.alpha > 0.0,
        };
        if reduces {
            self.reduce();
        }
        (self.acked, self.marked, self.window_end) = (0, 0, ack.next);
    }

    /// A loss has reduced the window: marks of the same window of data do not reduce it again (RFC 3168, section 6.1.2).
    fn settle_loss(&mut self, ack: &Acked) {
        self.reduced_until.get_or_insert(ack.next);
    }

    /// Step 9: the window shrinks by half of alpha, and slow start is over.
    fn reduce(&mut self) {
        let plain = self.exponent.to_bits() == 1f64.to_bits();
        let penalty = if plain { self.alpha } else { libm::pow(self.alpha, self.exponent) };
        let reduced = self.reno.window * (1.0 - penalty / 2.0);
        self.reno.window = reduced.max(LEAST_WINDOW.min(self.reno.window));
        self.reno.threshold = self.reno.window.max(LEAST_WINDOW);
    }
}

impl Control for Dctcp {
    type Rules = DctcpRules;

    fn open(rules: &DctcpRules, window: u32) -> Self {
        Self {
            reno: NewReno::open(&rules.growth, window),
            alpha: rules.initial_alpha,
            exponent: 1.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            reduced_until: Some(0),
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        self.reno.window()
    }

    /// An ACK that echoes a mark does not grow the window: it is the answer to a reduction.
    #[inline]
    fn on_ack(&mut self, rules: &DctcpRules, ack: &Acked) {
        self.settle_loss(ack);
        if rules.reaction != Reaction::Mark || !ack.echo {
            self.observe(rules, ack);
        }
        if !ack.echo {
            self.reno.on_ack(&rules.growth, ack);
        }
    }

    /// Step 9, as RFC 3168, section 6.1.2: once per window of data. Alpha is brought up to date first.
    fn on_mark(&mut self, rules: &DctcpRules, ack: &Acked) {
        self.settle_loss(ack);
        if rules.reaction == Reaction::Mark {
            self.observe(rules, ack);
            if self.reduced_until.is_none_or(|until| ack.first > until) {
                self.reduce();
                self.reduced_until = Some(ack.next);
            }
        } else if rules.leave_slow_start && self.reno.in_slow_start() {
            self.reno.threshold = self.reno.window;
        }
    }

    /// RFC 8257, section 3.5: losses are treated as by TCP.
    fn on_loss(&mut self, rules: &DctcpRules, flight: u32) {
        self.reno.on_loss(&rules.growth, flight);
        self.reduced_until = None;
    }

    fn on_timeout(&mut self, rules: &DctcpRules, flight: u32, repeated: bool) {
        self.reno.on_timeout(&rules.growth, flight, repeated);
        self.reduced_until = None;
    }

    fn cwnd(&self) -> f64 {
        self.reno.window
    }

    fn limit_growth(&mut self, step: f64) {
        self.reno.step_limit = step;
    }
}
