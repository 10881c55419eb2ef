use alloc::vec::Vec;

use pullnet_settings::{Field, Settings};
use pullnet_transport::Reliance;
use pullnet_units::{BitsPerSec, Bytes, Picos, QueueSize};

use crate::cut_payload::CutPayloadConfig;
use crate::d3::D3Config;
use crate::drop_tail::DropTailConfig;
use crate::pdq::PdqConfig;
use crate::pfabric::PfabricConfig;
use crate::pfc::PfcConfig;
use crate::priority::PriorityConfig;
use crate::queue_settings::{Capacity, Divided, QueueSettings};
use crate::red::RedConfig;
use crate::scdp::ScdpSwitchConfig;
use crate::shared_buffer::SharedBufferConfig;
use crate::split::SplitConfig;
use crate::trim::TrimConfig;

/// A row of the list of disciplines.
#[derive(Clone, Copy, Debug)]
pub struct SwitchEntry {
    /// The name in `[switch] kind = "..."`.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Its settings.
    pub fields: &'static [Field],
    /// The settings with their defaults.
    pub default: fn() -> SwitchConfig,
}

macro_rules! switches {
    ($($variant:ident($config:ty) = $name:literal: $summary:literal),+ $(,)?) => {
        /// The settings of a switch, by discipline.
        #[derive(Clone, PartialEq, Debug)]
        pub enum SwitchConfig {
            $(#[doc = $summary] $variant($config)),+
        }

        /// Every discipline that a scenario can name. A new one is one line, which begins with the name of its type.
        pub static SWITCHES: &[SwitchEntry] = &[$(SwitchEntry {
            name: $name,
            summary: $summary,
            fields: <$config as Settings>::FIELDS,
            default: || SwitchConfig::$variant(<$config>::default()),
        }),+];

        impl SwitchConfig {
            /// The name in `[switch] kind = "..."`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),+ }
            }

            /// Rooms of the queues.
            pub fn capacities(&self) -> Vec<Capacity> {
                match self { $(Self::$variant(config) => config.capacities()),+ }
            }

            /// Bytes on the wire that a trim leaves; `None` if nothing is ever trimmed.
            pub fn trim_to(&self) -> Option<Bytes> {
                match self { $(Self::$variant(config) => config.trim_to()),+ }
            }

            /// The memory that the ports of a switch with links of these rates divide; `None` if each has its own.
            pub fn divided(&self, rates: &[BitsPerSec]) -> Option<Divided> {
                match self { $(Self::$variant(config) => config.divided(rates)),+ }
            }

            /// Whether ports do what a transport relies on.
            pub fn supports(&self, reliance: Reliance) -> bool {
                match self { $(Self::$variant(config) => config.supports(reliance)),+ }
            }

            /// The setting that says for how long ports keep what they granted to a silent flow, and its value; `None` if they keep
            /// nothing.
            pub fn forgets_after(&self) -> Option<(&'static str, Picos)> {
                match self { $(Self::$variant(config) => config.forgets_after()),+ }
            }

            /// Bytes that may still arrive on a link of this rate after the port has asked its sender to pause, and the setting
            /// that says so; `None` if ports do not pause senders.
            pub fn headroom(&self, rate: BitsPerSec) -> Option<(&'static str, Bytes)> {
                match self { $(Self::$variant(config) => config.headroom(rate)),+ }
            }

            /// Thresholds between which the probability of a mark or a drop rises, by their settings; `None` if there are none.
            pub fn thresholds(&self) -> Option<[(&'static str, QueueSize); 2]> {
                match self { $(Self::$variant(config) => config.thresholds()),+ }
            }

            /// Number of classes that tell packets apart by their priority.
            pub fn classes(&self) -> u8 {
                match self { $(Self::$variant(config) => config.classes()),+ }
            }

            /// Sets one setting. `None`: there is no such setting.
            pub fn set(&mut self, name: &str, value: pullnet_settings::Value<'_>) -> Option<Result<(), pullnet_settings::Refused>> {
                match self { $(Self::$variant(config) => config.set(name, value)),+ }
            }

            /// One setting as it would be written in a file.
            pub fn get(&self, name: &str) -> Option<alloc::string::String> {
                match self { $(Self::$variant(config) => config.get(name)),+ }
            }
        }

        // A type that `lib.rs` does not export is an error here, and not only in the crates that use the macro below.
        const _: () = {
            $(#[allow(unused_imports, reason = "only its existence matters")] use crate::$variant as _;)+
        };

        /// Calls `$body` with `$settings` bound to them and `$Q<P>` naming the discipline for packets `P`: how a
        /// driver turns the run-time choice into a compiled one.
        #[macro_export]
        macro_rules! with_discipline {
            ($value:expr, |$settings:ident: $Q:ident| $body:expr) => {
                match $value { $($crate::SwitchConfig::$variant($settings) => { type $Q<P> = $crate::$variant<P>; $body })+ }
            };
        }
    };
}

switches! {
    Trim(TrimConfig) = "trim": "NDP switch: shallow data queue, trims to headers, control first 10:1, returns to sender",
    CutPayload(CutPayloadConfig) = "cut-payload": "Cut Payload: one FIFO per port; above a threshold arriving packets lose their payload",
    D3(D3Config) = "d3": "D3: one FIFO per port, which allocates rates to flows with deadlines and shares the rest (RCP)",
    DropTail(DropTailConfig) = "drop-tail": "One FIFO per port; a packet without room is dropped; marks above a threshold (ECN)",
    Pdq(PdqConfig) = "pdq": "PDQ: one FIFO per port, which lets the most critical flows send and pauses the others",
    Pfabric(PfabricConfig) = "pfabric": "pFabric: serves the flow with the fewest packets left, evicts that with the most",
    Priority(PriorityConfig) = "priority": "Strict priority: eight FIFOs per port, the most urgent served first; marks above a threshold (ECN)",
    Red(RedConfig) = "red": "Random early detection: one FIFO per port, marks or drops before it is full",
    ScdpSwitch(ScdpSwitchConfig) = "scdp": "SCDP switch: five strict priorities for symbols below a queue for control 10:1, trims to headers",
    SharedBuffer(SharedBufferConfig) = "shared-buffer": "Drop-tail ports that share one memory per switch",
    Pfc(PfcConfig) = "pfc": "Lossless: pauses the senders of a link before its memory is full (802.1Qbb or 802.3x)",
    Split(SplitConfig) = "split": "Two classes by priority: an NDP switch and a drop-tail queue that divide each link",
}
