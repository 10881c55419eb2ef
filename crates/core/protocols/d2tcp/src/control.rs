use pullnet_dctcp::{DctcpControl, DctcpRules};
use pullnet_window::{Acked, Control, Plan};

/// Rules of D2TCP's congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct D2tcpRules {
    /// Everything but the deadlines.
    pub dctcp: DctcpRules,
    /// Least and largest urgency.
    pub least: f64,
    /// See `least`.
    pub most: f64,
}

/// The mean window over a sawtooth from half the window to the whole: what a flow sends at in a round trip.
const MEAN_WINDOW: f64 = 0.75;

/// D2TCP's congestion control of one connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct D2tcpControl(pub DctcpControl);

impl Control for D2tcpControl {
    type Rules = D2tcpRules;

    fn open(rules: &D2tcpRules, window: u32) -> Self {
        Self(DctcpControl::open(&rules.dctcp, window))
    }

    #[inline]
    fn window(&self) -> u32 {
        self.0.window()
    }

    #[inline]
    fn on_ack(&mut self, rules: &D2tcpRules, ack: &Acked) {
        self.0.on_ack(&rules.dctcp, ack);
    }

    /// Rules 1 to 3: the urgency is the time that the flow needs over the time that it has.
    fn plan(&mut self, rules: &D2tcpRules, plan: &Plan) {
        let Plan { now, deadline, left, round_trip } = *plan;
        self.0.exponent = if deadline <= now {
            1.0
        } else {
            let rounds = f64::from(left) / (MEAN_WINDOW * self.0.cwnd().max(1.0));
            let needed = rounds * round_trip.as_secs_f64();
            (needed / deadline.since(now).as_secs_f64()).clamp(rules.least, rules.most)
        };
    }

    fn on_mark(&mut self, rules: &D2tcpRules, ack: &Acked) {
        self.0.on_mark(&rules.dctcp, ack);
    }

    fn on_loss(&mut self, rules: &D2tcpRules, flight: u32) {
        self.0.on_loss(&rules.dctcp, flight);
    }

    fn on_timeout(&mut self, rules: &D2tcpRules, flight: u32, repeated: bool) {
        self.0.on_timeout(&rules.dctcp, flight, repeated);
    }

    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    fn limit_growth(&mut self, step: f64) {
        self.0.limit_growth(step);
    }
}
