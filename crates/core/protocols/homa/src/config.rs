use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pullnet_pull::Spraying;
use pullnet_settings::{Refused, Setting, Value, settings};
use pullnet_units::{Bytes, Packets, Picos};

/// Number of network priorities.
pub(crate) const LEVELS: u8 = 8;
/// Largest number of cutoffs: one scheduled level and eight in all.
const MOST_CUTOFFS: usize = LEVELS as usize - 2;

/// Message sizes, in packets, that separate the unscheduled priorities: messages up to the first cutoff have the most
/// urgent priority, messages above the last one the least urgent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cutoffs(Vec<u32>);

impl Cutoffs {
    /// Number of unscheduled priorities.
    pub fn levels(&self) -> u8 {
        self.0.len() as u8 + 1
    }

    /// Network priority of the unscheduled packets of a message.
    pub fn priority(&self, packets: u32) -> u8 {
        let below = self.0.iter().filter(|cutoff| packets > **cutoff).count() as u8;
        LEVELS - 1 - below
    }
}

impl Setting for Cutoffs {
    const KIND: &'static str = "text";

    fn read(value: Value<'_>) -> Result<Self, Refused> {
        let refused = || {
            let what = "is not a list of at most 6 growing numbers of packets, for instance \"1, 3, 6\"";
            Refused(what.to_string())
        };
        let Value::Text(text) = value else { return Err(refused()) };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let cutoffs: Vec<u32> =
            parts.map(|part| part.parse().map_err(|_| refused())).collect::<Result<_, _>>()?;
        let grows = cutoffs.is_sorted_by(|one, next| one < next);
        if grows && cutoffs.len() <= MOST_CUTOFFS { Ok(Self(cutoffs)) } else { Err(refused()) }
    }

    fn write(&self) -> String {
        let numbers: Vec<_> = self.0.iter().map(u32::to_string).collect();
        alloc::format!("\"{}\"", numbers.join(", "))
    }
}

settings! {
    /// Settings of Homa hosts.
    pub struct HomaConfig {
        /// Payload of a full packet. Bytes.
        mtu: Bytes = "1460 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a data packet.
        header: Bytes = "40 B" in "1 B" => "128 B",
        /// Packets that a message may send before its first grant, and packets that are granted and not yet there; should
        /// cover one round trip. Source: Homa section 3.2, 9.7 kB at 10 Gb/s.
        unscheduled: Packets = "7 packets" in "1 packets" => "65535 packets",
        /// Sizes in packets that divide messages among the unscheduled priorities, one more than there are numbers; the rest
        /// of the eight priorities is for granted packets. Each should carry as many unscheduled bytes. Source: Homa section
        /// 3.4, from the sizes of the workload; these are for no workload in particular.
        cutoffs: Cutoffs = "1, 3, 6",
        /// Messages to which grants are given at a time. 0: as many as there are priorities for granted packets. Source:
        /// Homa section 3.5.
        overcommitment: u32 = 0 in 0 => 1000,
        /// How packets are spread over the paths. Source: Homa section 2.1, spraying.
        paths: Spraying = "random",
        /// Time without a granted packet after which the receiver asks for the missing ones, and without a word from the
        /// receiver after which the sender asks. Source: Homa section 3.7, a few milliseconds.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Longest time that a packet can be on its way and back. A message is remembered that much longer than its sender
        /// may ask for it (`give_up`).
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without any word from the other side after which a message fails. Should exceed the time that packets wait in queues.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}

impl HomaConfig {
    /// Number of priorities for granted packets.
    pub(crate) fn scheduled_levels(&self) -> u8 {
        LEVELS - self.cutoffs.levels()
    }

    /// Largest number of messages with grants at a time.
    pub(crate) fn degree(&self) -> usize {
        match self.overcommitment {
            0 => self.scheduled_levels().into(),
            stated => stated as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutoffs_divide_the_unscheduled_priorities() {
        let config = HomaConfig::default();
        assert_eq!([1, 2, 3, 4, 7, 1000].map(|packets| config.cutoffs.priority(packets)), [7, 6, 6, 5, 4, 4]);
        assert_eq!((config.scheduled_levels(), config.degree()), (4, 4));
        let none = Cutoffs::read(Value::Text("")).unwrap();
        assert_eq!((none.levels(), none.priority(9)), (1, 7));
        assert_eq!(config.cutoffs.write(), "\"1, 3, 6\"");
        for wrong in ["3, 1", "1, 1", "x", "1,2,3,4,5,6,7"] {
            assert!(Cutoffs::read(Value::Text(wrong)).is_err(), "{wrong}");
        }
    }
}
