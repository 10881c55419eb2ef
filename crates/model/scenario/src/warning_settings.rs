use pullnet_settings::{Settings, settings};

settings! {
    /// Which warnings are given.
    pub struct WarningSettings {
        /// Flows were unfinished at the end of the run: percentiles cover completed flows only and are biased towards short ones.
        unfinished_flows: bool = true,
        /// No flow started: the run ended before the first one, or its traffic is too rare.
        no_flows: bool = true,
        /// The run ended before its measurement window began: goodput and utilisation have no value.
        empty_window: bool = true,
        /// A flow that `probes.hops` names did not come about: the table of hops has no row of it.
        unknown_flow: bool = true,
        /// Ports of lossless switches had paused each other in a circle at the end of the run: a deadlock.
        deadlock: bool = true,
        /// Traffic offers more than the links of its senders carry: queues grow until the run ends.
        load_above_one: bool = true,
        /// Flows of a list are to start when the run has ended: they are left out.
        late_flows: bool = true,
        /// The first retransmission timeout is below the round trip of an unloaded network: every packet is sent twice.
        timeout_below_round_trip: bool = true,
        /// Receivers delay ACKs as long as the least retransmission timeout, or longer: senders time out without a loss.
        ack_delay_above_timeout: bool = true,
        /// The least rate of a transport is not below the rate of a host's link: its flows never slow down there.
        min_rate_at_link_rate: bool = true,
        /// The header of a data packet is larger than its payload.
        header_above_payload: bool = true,
        /// A trim leaves more than half of a full packet.
        shallow_trim: bool = true,
        /// The control queue has room for fewer than ten headers.
        small_control_queue: bool = true,
        /// Lossless switches have less headroom than a link can bring before a pause takes effect: they drop packets.
        small_headroom: bool = true,
        /// Pauses end only when they are taken back, and links with faults may lose that word: they stop for ever.
        endless_pause: bool = true,
        /// Pauses end before lossless switches can repeat them: they drop packets.
        short_pause: bool = true,
        /// The switches do not do what the transport relies on: marks, rates in headers, or service by priority or urgency.
        missing_support: bool = true,
        /// A setting was written that no part of the scenario uses.
        unused_setting: bool = true,
        /// A run with other settings had the same fingerprint: the settings changed nothing.
        unchanged_result: bool = true,
        /// The run will probably need more memory than is free.
        memory: bool = true,
    }
}

impl WarningSettings {
    /// Whether warnings of the name `name` are given.
    pub fn gives(&self, name: &str) -> bool {
        self.get(name).is_none_or(|value| value == "true")
    }

    /// Names of the warnings that are silenced.
    pub fn silenced(&self) -> Vec<&'static str> {
        Self::FIELDS.iter().map(|field| field.name).filter(|name| !self.gives(name)).collect()
    }
}
