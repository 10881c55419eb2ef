//! Impairments of a network for a limited time.

use proptest::prelude::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::RandomStream;
use pullnet_transport::channel::{Channel, Passage};
use pullnet_transport::{Class, Fate, Transmit};
use pullnet_units::{BitsPerSec, Instant, Picos};

use super::*;

/// Two hosts with four paths between them.
pub fn channel(config: &NdpConfig, seed: u64) -> Channel<NdpEndpoint> {
    let sides = [(HERE, endpoint(config, HERE, seed)), (THERE, endpoint(config, THERE, seed))];
    Channel::new(sides, BitsPerSec::gbps(10), 4)
}

/// A perfect network.
pub fn clear() -> Vec<Passage> {
    vec![Passage::whole(us(5))]
}

/// Chances in percent of what happens to a packet, and how late it may be.
#[derive(Clone, Debug)]
pub struct Weather {
    pub lose: u32,
    pub double: u32,
    pub trim: u32,
    pub give_back: u32,
    pub latest: Picos,
    /// When all of this is over; the network is perfect afterwards.
    pub clears: Picos,
}

impl Weather {
    pub fn passages(
        &self,
        now: Instant,
        packet: &Transmit<NdpHeader>,
        chance: &mut RandomStream,
    ) -> Vec<Passage> {
        if now > Instant::ZERO.after(self.clears) {
            return clear();
        }
        if chance.below(100) < self.lose {
            return Vec::new();
        }
        let copies = if chance.below(100) < self.double { 2 } else { 1 };
        (0..copies).map(|_| self.passage(packet, chance)).collect()
    }

    fn passage(&self, packet: &Transmit<NdpHeader>, chance: &mut RandomStream) -> Passage {
        let drawn = chance.below(100);
        let fate = match packet.class {
            Class::Data if drawn < self.trim => Fate::Trimmed,
            Class::Data if drawn < self.trim + self.give_back => Fate::Returned,
            _ => Fate::Whole,
        };
        let late = (chance.unit() * self.latest.0 as f64) as u64;
        Passage { delay: Picos(5_000_000 + late), fate, ce: false }
    }
}

pub fn weather() -> impl Strategy<Value = Weather> {
    let late = prop::sample::select(vec![Picos(0), us(10), us(300), ms(3)]);
    let clears = prop::sample::select(vec![us(100), ms(20), ms(400)]);
    (0..70u32, 0..50u32, 0..60u32, 0..40u32, late, clears).prop_map(
        |(lose, double, trim, give_back, latest, clears)| Weather {
            lose,
            double,
            trim,
            give_back,
            latest,
            clears,
        },
    )
}
