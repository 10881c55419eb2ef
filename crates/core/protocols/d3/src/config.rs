use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, Picos};

choice! {
    /// What becomes of a flow that cannot meet its deadline.
    pub enum Late {
        /// It is given up, and its rate is free for others (flow quenching).
        Quench = "quench",
        /// It goes on with a fair share.
        FairShare = "fair-share",
        /// Its deadline moves on by the time that it had from the start.
        Extend = "extend",
    }
}

/// Settings that D3 and RCP have in common, and those of one of them.
macro_rules! granted_settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        settings! {
            $(#[$doc])*
            pub struct $name {
                /// Payload of a full packet. Bytes. Source: none stated; with the header a packet of 1500 B.
                mtu: Bytes = "1440 B" in "1 B" => "60000 B",
                /// Bytes on the wire of a packet without payload. Source: none stated; 40 B as TCP and IP, and 20 B for an ask and
                /// grants.
                header: Bytes = "60 B" in "1 B" => "512 B",
                $($own)*
                /// Least time between two asks of a flow of which the second is a packet of its own, since no data may leave to carry
                /// it. Source: none stated; the paper asks every round trip.
                ask_interval: Picos = "100 us" in "1 us" => "1 s",
                /// How long a grant may be used after it was asked for. Must be shorter than the switches' `epoch` by the way of a
                /// packet. Source: none; in the paper grants have no end.
                lease: Picos = "5 ms" in "10 us" => "50 s",
                /// Round trip before one was measured. Source: none stated.
                initial_rtt: Picos = "200 us" in "1 us" => "1 s",
                /// Least time after which a packet without an answer counts as lost; three round trips if that is more. Source: none
                /// stated.
                timeout: Picos = "2 ms" in "1 us" => "100 s",
                /// Longest time that a packet can be on its way and back. A connection is remembered that much longer than its
                /// sender may repeat packets (`give_up`).
                time_wait: Picos = "50 ms" in "1 us" => "100 s",
                /// Time without any word from the receiver after which a flow fails.
                give_up: Picos = "5 s" in "1 ms" => "10000 s",
            }
        }
    };
}

granted_settings! {
    /// Settings of D3 hosts.
    pub struct D3Config {
        /// What becomes of a flow that cannot meet its deadline. Source: D3 section 6.1.3, quench.
        late: Late = "quench",
        /// Round trips before the deadline in which nothing is to be left to send. Source: D3 section 4 as we know it, 2.
        allowance: u32 = 2 in 0 => 100,
    }
}

granted_settings! {
    /// Settings of RCP hosts.
    pub struct RcpConfig {}
}

/// The settings in the form in which hosts use them.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Payload of a full packet.
    pub mtu: u32,
    /// Bytes beside it.
    pub header: u32,
    /// What becomes of late flows; `None`: deadlines are ignored (RCP).
    pub late: Option<Late>,
    /// See [`D3Config::allowance`].
    pub allowance: u32,
    /// See [`D3Config::ask_interval`].
    pub ask_interval: Picos,
    /// See [`D3Config::lease`].
    pub lease: Picos,
    /// See [`D3Config::initial_rtt`].
    pub initial_rtt: Picos,
    /// See [`D3Config::timeout`].
    pub timeout: Picos,
    /// See [`D3Config::time_wait`].
    pub time_wait: Picos,
    /// See [`D3Config::give_up`].
    pub give_up: Picos,
}

macro_rules! parameters_of {
    ($config:ty, $late:expr, $allowance:expr) => {
        impl From<&$config> for Parameters {
            fn from(config: &$config) -> Self {
                Self {
                    mtu: config.mtu.0 as u32,
                    header: config.header.0 as u32,
                    late: $late(config),
                    allowance: $allowance(config),
                    ask_interval: config.ask_interval,
                    lease: config.lease,
                    initial_rtt: config.initial_rtt,
                    timeout: config.timeout,
                    time_wait: config.time_wait,
                    give_up: config.give_up,
                }
            }
        }
    };
}

parameters_of!(D3Config, |config: &D3Config| Some(config.late), |config: &D3Config| config.allowance);
parameters_of!(RcpConfig, |_| None, |_| 0);
