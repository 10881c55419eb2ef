use pullnet_rdma::{Acked, Control, RdmaHeader};
use pullnet_settings::choice;
use pullnet_units::{Instant, Picos};

choice! {
    /// When the rate is cut.
    pub enum Reaction {
        /// At each notification.
        Notification = "notification",
        /// At most once per `cut_interval`, at its end, if there was a notification in it.
        Timer = "timer",
    }
}

/// Rules of DCQCN's reaction point. Rates in bits per second.
#[derive(Clone, PartialEq, Debug)]
pub struct DcqcnRules {
    /// When the rate is cut.
    pub reaction: Reaction,
    /// Interval of cuts by the timer.
    pub cut_interval: Picos,
    /// Interval of alpha updates (K).
    pub alpha_interval: Picos,
    /// Interval of the increase timer (T).
    pub increase_interval: Picos,
    /// Bytes between two increases by the byte counter (B); 0: no byte counter.
    pub byte_counter: u64,
    /// Weight of a notification in alpha (g).
    pub gain: f64,
    /// Increases of fast recovery (F).
    pub fast_recovery: u32,
    /// Additive increase (R_AI).
    pub additive: f64,
    /// Hyper increase (R_HAI).
    pub hyper: f64,
    /// Least rate.
    pub min_rate: f64,
}

/// The state of the reaction point after the first notification.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Running {
    /// End of the latest interval by which alpha was updated.
    alpha_at: Instant,
    /// A notification has come since.
    notified: bool,
    /// End of the latest interval of cuts that has passed.
    cuts_from: Instant,
    /// When the timer cuts the rate, if there was a notification.
    cut_at: Option<Instant>,
    /// When the timer next increases the rate.
    increase_at: Instant,
    /// Increases since the last cut, by the timer and by the byte counter.
    by_timer: u32,
    by_bytes: u32,
    /// Bytes sent since the byte counter last increased the rate.
    bytes: u64,
}

/// DCQCN's reaction point: the rate of one flow (DCQCN section 3.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReactionPoint {
    /// Rate of the link, bits per second.
    line: f64,
    /// Current rate (R_C).
    current: f64,
    /// Target rate (R_T).
    target: f64,
    /// Estimate of the congestion, 0 to 1.
    alpha: f64,
    /// `None` before the first notification: the flow is sent at the rate of the link.
    running: Option<Running>,
}

/// `base` to the power of `exponent`; the standard library's function needs std.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 != 0 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl ReactionPoint {
    /// Alpha as it was last updated.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Updates alpha by the intervals that have ended by `now`: the first one knows of the notification.
    fn update_alpha(&mut self, rules: &DcqcnRules, now: Instant) {
        let Some(running) = &mut self.running else { return };
        let ended = now.since(running.alpha_at).0 / rules.alpha_interval.0;
        if ended == 0 {
            return;
        }
        if running.notified {
            self.alpha = (1.0 - rules.gain) * self.alpha + rules.gain;
        } else {
            self.alpha *= 1.0 - rules.gain;
        }
        self.alpha *= power(1.0 - rules.gain, ended - 1);
        running.notified = false;
        running.alpha_at = running.alpha_at.after(Picos(ended * rules.alpha_interval.0));
    }

    /// Cuts the rate by half of alpha and restarts fast recovery.
    fn cut(&mut self, rules: &DcqcnRules, now: Instant) {
        let Some(running) = &mut self.running else { return };
        // The timer does not move the target before the first increase: two cuts in a row aim at the rate before both.
        if rules.reaction == Reaction::Notification || running.by_timer + running.by_bytes > 0 {
            self.target = self.current;
        }
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(rules.min_rate.min(self.current));
        (running.by_timer, running.by_bytes, running.bytes) = (0, 0, 0);
        running.increase_at = now.after(rules.increase_interval);
    }

    /// One increase, which timer and byte counter have counted already.
    fn increase(&mut self, rules: &DcqcnRules) {
        let Some(Running { by_timer, by_bytes, .. }) = self.running else { return };
        let most = by_timer.max(by_bytes);
        // Without a byte counter the first increase after fast recovery is additive, all later ones are hyper.
        let least = if rules.byte_counter == 0 { most.saturating_sub(1) } else { by_timer.min(by_bytes) };
        if least > rules.fast_recovery {
            self.target += rules.hyper;
        } else if most > rules.fast_recovery {
            self.target += rules.additive;
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target) / 2.0;
    }

    /// Does what the timers would have done by `now`, in order of time.
    fn catch_up(&mut self, rules: &DcqcnRules, now: Instant) {
        while let Some(running) = &mut self.running {
            let cut_at = running.cut_at.unwrap_or(Instant::NEVER);
            if cut_at <= now && cut_at <= running.increase_at {
                running.cut_at = None;
                running.cuts_from = cut_at;
                self.update_alpha(rules, cut_at);
                self.cut(rules, cut_at);
            } else if running.increase_at <= now {
                if self.current >= self.line && self.target >= self.line {
                    // Nothing left to increase. The counters go on, for what they say after the next cut is 0 anyway.
                    let missed = now.since(running.increase_at).0 / rules.increase_interval.0 + 1;
                    running.increase_at =
                        running.increase_at.after(Picos(missed * rules.increase_interval.0));
                    running.by_timer = running.by_timer.saturating_add(missed.min(u32::MAX.into()) as u32);
                    continue;
                }
                running.increase_at = running.increase_at.after(rules.increase_interval);
                running.by_timer = running.by_timer.saturating_add(1);
                self.increase(rules);
            } else {
                break;
            }
        }
    }

    /// The first notification: the timers start.
    fn start(&mut self, now: Instant) -> &mut Running {
        self.running.get_or_insert(Running {
            alpha_at: now,
            notified: false,
            cuts_from: now,
            cut_at: None,
            increase_at: Instant::NEVER,
            by_timer: 0,
            by_bytes: 0,
            bytes: 0,
        })
    }

    /// A notification where each one cuts the rate (DCQCN section 3.1, equations 1 and 2).
    fn cut_at_once(&mut self, rules: &DcqcnRules, now: Instant) {
        self.update_alpha(rules, now);
        self.start(now).alpha_at = now;
        self.cut(rules, now);
        self.alpha = (1.0 - rules.gain) * self.alpha + rules.gain;
    }

    /// A notification that the timer acts upon.
    fn note(&mut self, rules: &DcqcnRules, now: Instant) {
        self.update_alpha(rules, now);
        let first = self.running.is_none();
        let running = self.start(now);
        running.notified = !first;
        if running.cut_at.is_none() {
            let passed = now.since(running.cuts_from).0 / rules.cut_interval.0;
            running.cut_at = Some(running.cuts_from.after(Picos((passed + 1) * rules.cut_interval.0)));
        }
    }

    fn notified(&mut self, rules: &DcqcnRules, now: Instant) {
        self.catch_up(rules, now);
        match rules.reaction {
            Reaction::Notification => self.cut_at_once(rules, now),
            Reaction::Timer => self.note(rules, now),
        }
    }
}

impl Control for ReactionPoint {
    type Header = RdmaHeader;
    type Rules = DcqcnRules;

    fn open(_: &DcqcnRules, line: f64) -> Self {
        Self { line, current: line, target: line, alpha: 1.0, running: None }
    }

    #[inline]
    fn rate(&mut self, rules: &DcqcnRules, now: Instant) -> f64 {
        if self.running.is_some() {
            self.catch_up(rules, now);
        }
        self.current
    }

    #[inline]
    fn on_sent(&mut self, rules: &DcqcnRules, now: Instant, bytes: u32) {
        if rules.byte_counter == 0 || self.running.is_none() {
            return;
        }
        self.catch_up(rules, now);
        let Some(running) = &mut self.running else { return };
        running.bytes += u64::from(bytes);
        if running.bytes >= rules.byte_counter {
            running.bytes -= rules.byte_counter;
            running.by_bytes = running.by_bytes.saturating_add(1);
            self.increase(rules);
        }
    }

    #[inline]
    fn on_ack(&mut self, rules: &DcqcnRules, ack: &Acked) {
        if ack.marked {
            self.notified(rules, ack.now);
        }
    }

    fn on_cnp(&mut self, rules: &DcqcnRules, now: Instant) {
        self.notified(rules, now);
    }
}
