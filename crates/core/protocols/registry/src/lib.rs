//! The list of protocols. A new protocol is a sibling folder of this crate and a line here.
#![no_std]

extern crate alloc;

use alloc::string::String;

pub use pullnet_d2tcp::D2tcp;
pub use pullnet_d3::{D3, Rcp};
pub use pullnet_dcqcn::Dcqcn;
pub use pullnet_dctcp::Dctcp;
pub use pullnet_fastpass::Fastpass;
pub use pullnet_go_back_n::GoBackN;
pub use pullnet_homa::Homa;
pub use pullnet_hpcc::Hpcc;
pub use pullnet_mdtcp::Mdtcp;
pub use pullnet_mptcp::Mptcp;
pub use pullnet_ndp::Ndp;
pub use pullnet_pdq::Pdq;
pub use pullnet_pfabric::Pfabric;
pub use pullnet_phost::Phost;
pub use pullnet_rdma_dctcp::RdmaDctcp;
pub use pullnet_roce::Roce;
pub use pullnet_scdp::{Polyraptor, Scdp};
use pullnet_settings::{Field, Refused, Settings, Value};
pub use pullnet_tcp::Tcp;
pub use pullnet_timely::Timely;
use pullnet_transport::{Framing, Header, Protocol, Reliance, Transport, Words};
pub use pullnet_unresponsive::Unresponsive;

/// A row of the list of protocols.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolEntry {
    /// The name in `[transport] kind = "..."`.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Its settings.
    pub fields: &'static [Field],
    /// The settings with their defaults.
    pub default: fn() -> ProtocolConfig,
    /// Settings that have an effect only where the sender chooses the path.
    pub path_settings: &'static [&'static str],
    /// Name of the setting that states the first retransmission timeout.
    pub timeout_setting: Option<&'static str>,
    /// Name of the setting that states how long a flow may be silent and still rely on what switches keep for it.
    pub renewal_setting: Option<&'static str>,
    /// Settings that name a host by its number in the topology, and become its address.
    pub host_settings: &'static [&'static str],
    /// Name of the setting that states how many addresses a rack has.
    pub rack_setting: Option<&'static str>,
    /// Whether its packets are not ECN-capable.
    pub ignores_marks: bool,
    /// What its rules expect of every switch, if anything.
    pub relies_on: Option<Reliance>,
    /// Whether one sender can serve several receivers with packets that switches copy.
    pub multicasts: bool,
    /// Whether several senders of the same data can serve one receiver together.
    pub joins_senders: bool,
}

/// Packet types that all transports of a run may have together: a packed header has four bits for them
/// ([`pullnet_transport::Packed::kind`]).
pub const MOST_KINDS: usize = 16;

type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;

macro_rules! protocols {
    ($($variant:ident),+ $(,)?) => {
        /// The settings of a transport, by protocol.
        #[derive(Clone, PartialEq, Debug)]
        pub enum ProtocolConfig {
            $(#[doc = concat!("Settings of [`", stringify!($variant), "`].")] $variant(<$variant as Protocol>::Config)),+
        }

        /// Every protocol that a scenario can name.
        pub static PROTOCOLS: &[ProtocolEntry] = &[$(ProtocolEntry {
            name: <$variant>::NAME,
            summary: <$variant>::SUMMARY,
            fields: <<$variant as Protocol>::Config as Settings>::FIELDS,
            default: || ProtocolConfig::$variant(Default::default()),
            path_settings: <$variant>::PATH_SETTINGS,
            timeout_setting: <$variant>::TIMEOUT_SETTING,
            renewal_setting: <$variant>::RENEWAL_SETTING,
            host_settings: <$variant>::HOST_SETTINGS,
            rack_setting: <$variant>::RACK_SETTING,
            ignores_marks: <$variant>::IGNORES_MARKS,
            relies_on: <$variant>::RELIES_ON,
            multicasts: <$variant>::MULTICASTS,
            joins_senders: <$variant>::JOINS_SENDERS,
        }),+];

        impl ProtocolConfig {
            /// The name in `[transport] kind = "..."`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => <$variant>::NAME),+ }
            }

            /// Its row in the list of protocols.
            pub fn entry(&self) -> &'static ProtocolEntry {
                PROTOCOLS.iter().find(|row| row.name == self.name()).expect("every protocol has a row")
            }

            /// How data is cut into packets.
            pub fn framing(&self) -> Framing {
                match self { $(Self::$variant(config) => <$variant>::framing(config)),+ }
            }

            /// Whether hosts make use of a data packet that a switch has trimmed or returned.
            pub fn hears_headers(&self) -> bool {
                match self { $(Self::$variant(config) => <$variant>::hears_headers(config)),+ }
            }

            /// Names of its packet types.
            pub fn kinds(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(_) => <HeaderOf<$variant> as Header>::KINDS),+ }
            }

            /// Words of its packed headers ([`Words::COUNT`]).
            pub fn words(&self) -> usize {
                match self { $(Self::$variant(_) => <HeaderOf<$variant> as Header>::Words::COUNT),+ }
            }

            /// Sets one setting. `None`: there is no such setting.
            pub fn set(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>> {
                match self { $(Self::$variant(config) => config.set(name, value)),+ }
            }

            /// One setting as it would be written in a file.
            pub fn get(&self, name: &str) -> Option<String> {
                match self { $(Self::$variant(config) => config.get(name)),+ }
            }
        }

        /// Calls `$body` with `$config` bound to the settings and `$P` naming the protocol: how a driver turns the
        /// run-time choice into a compiled one.
        #[macro_export]
        macro_rules! with_protocol {
            ($value:expr, |$config:ident: $P:ident| $body:expr) => {
                match $value { $($crate::ProtocolConfig::$variant($config) => { type $P = $crate::$variant; $body })+ }
            };
        }

    };
}

protocols! {
    Ndp,
    Tcp,
    Dctcp,
    GoBackN,
    Scdp,
    Mptcp,
    Mdtcp,
    Unresponsive,
    Phost,
    Pfabric,
    Homa,
    Roce,
    Dcqcn,
    Timely,
    Fastpass,
    RdmaDctcp,
    D3,
    Rcp,
    D2tcp,
    Hpcc,
    Polyraptor,
    Pdq,
}

macro_rules! framed {
    ($($variant:ident),+ $(,)?) => {
        /// Names of the protocols that have a form on the wire, and so run on Linux.
        pub static FRAMED: &[&str] = &[$(<$variant>::NAME),+];

        /// As [`with_protocol!`] for protocols with a form on the wire ([`pullnet_wire::Framed`]); `$other` for the rest.
        #[macro_export]
        macro_rules! with_framed {
            ($value:expr, |$config:ident: $P:ident| $body:expr, else $other:expr) => {
                match $value {
                    $($crate::ProtocolConfig::$variant($config) => { type $P = $crate::$variant; $body })+
                    #[allow(unreachable_patterns, reason = "there may be no others")]
                    _ => $other,
                }
            };
        }

        /// Does `$body` once for each protocol with a form on the wire, which `$P` names.
        #[macro_export]
        macro_rules! for_each_framed {
            (|$P:ident| $body:expr) => {{ $({ type $P = $crate::$variant; $body })+ }};
        }

        /// Only what has a form on the wire can be listed.
        const _: () = {
            const fn is_framed<P: pullnet_wire::Framed>() {}
            $(is_framed::<$variant>();)+
        };
    };
}

// The protocols with an implementation of `pullnet_wire::Framed`.
framed! {
    D3,
    Dctcp,
    GoBackN,
    Ndp,
    Pdq,
    Rcp,
    Scdp,
    Tcp,
}
