use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, Picos};

choice! {
    /// Treatment of a flow that cannot meet its deadline.
    pub enum Late {
        /// The flow is given up, which frees its rate for others (flow quenching).
        Quench = "quench",
        /// The flow continues with a fair share.
        FairShare = "fair-share",
        /// The deadline is postponed by the time that the flow had at its start.
        Extend = "extend",
    }
}

/// Declares the settings of D3 or RCP: the common ones, and the transport's own.
macro_rules! granted_settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        settings! {
            $(#[$doc])*
            pub struct $name {
                /// Payload of a full packet. Bytes. Source: none stated; with the header a packet of 1500 B.
                mtu: Bytes = "1440 B" in "1 B" => "60000 B",
                /// Bytes on the wire of a packet without payload. Source: none stated; 40 B as TCP and IP, and 20 B for a
                /// rate request and grants.
                header: Bytes = "60 B" in "1 B" => "512 B",
                $($own)*
                /// Minimum interval from a flow's rate request to its next one, if that is a separate packet because no
                /// data packet may leave to carry it. Source: none stated; the paper has a request every round trip.
                ask_interval: Picos = "100 us" in "1 us" => "1 s",
                /// Time for which a grant may be used, from the departure of its rate request. Must be shorter than the
                /// switches' `epoch` by the one-way delay of a packet. Source: none; in the paper grants do not expire.
                lease: Picos = "5 ms" in "10 us" => "50 s",
                /// Longest delay of a departure that the next packets make up for, by leaving together: for hosts whose timers are
                /// late. Source: none. Absent: 0 in the simulator, where no timer is late; 1 ms on the testbed, which is what
                /// Linux lets TCP send at once.
                catch_up: Option<Picos> = "" in "0 us" => "1 s",
                /// Round-trip time assumed before the first measurement. Source: none stated.
                initial_rtt: Picos = "200 us" in "1 us" => "1 s",
                /// Minimum time after which an unanswered packet counts as lost; three round trips if that is longer.
                /// Source: none stated.
                timeout: Picos = "2 ms" in "1 us" => "100 s",
                /// Longest possible round trip of a packet. A connection is remembered for this time beyond `give_up`,
                /// within which its sender may retransmit.
                time_wait: Picos = "50 ms" in "1 us" => "100 s",
                /// Time without a packet from the receiver after which a flow fails.
                give_up: Picos = "5 s" in "1 ms" => "10000 s",
            }
        }
    };
}

granted_settings! {
    /// Settings of D3 hosts.
    pub struct D3Config {
        /// Treatment of a flow that cannot meet its deadline. Source: D3 section 6.1.3, quench.
        late: Late = "quench",
        /// Round trips before the deadline by which the flow aims to have sent everything. Source: D3 section 4 as we know
        /// it, 2.
        allowance: u32 = 2 in 0 => 100,
    }
}

granted_settings! {
    /// Settings of RCP hosts.
    pub struct RcpConfig {}
}

/// The settings of D3 or RCP, converted for use by hosts.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Payload of a full packet.
    pub mtu: u32,
    /// Bytes on the wire of a packet without payload.
    pub header: u32,
    /// Treatment of late flows; `None`: deadlines are ignored (RCP).
    pub late: Option<Late>,
    /// See [`D3Config::allowance`].
    pub allowance: u32,
    /// See [`D3Config::ask_interval`].
    pub ask_interval: Picos,
    /// See [`D3Config::lease`].
    pub lease: Picos,
    /// See [`D3Config::catch_up`].
    pub catch_up: Picos,
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
                    catch_up: config.catch_up.unwrap_or(Picos::ZERO),
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
