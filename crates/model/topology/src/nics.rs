//! Hosts with several links, as a host and the set of its NICs.

use pullnet_units::{BitsPerSec, Picos};

use crate::error::TopologyError;
use crate::graph::{Cable, Graph};
use crate::model::Link;

impl Graph {
    /// Gives every host with several links a node for its NICs.
    pub(crate) fn join_nics(&mut self) -> Result<(), TopologyError> {
        for host in 0..self.vertices.len() {
            if self.vertices[host].host && self.vertices[host].cables > 1 {
                self.join_nics_of(host)?;
            }
        }
        Ok(())
    }

    fn join_nics_of(&mut self, host: usize) -> Result<(), TopologyError> {
        let name = self.vertices[host].name.clone();
        let nics = self.switch_of("nics", &format!("{name} nics"))?.0;
        let mine = |cable: &Cable| cable.ends.iter().position(|end| *end == host);
        let own: Vec<(usize, usize)> =
            self.cables.iter().enumerate().filter_map(|(at, cable)| Some((at, mine(cable)?))).collect();
        // Away from the host, and towards it.
        let links =
            [0, 1].map(|way| own.iter().map(|(at, side)| self.cables[*at].links[side ^ way]).collect());
        let [out, back] = links.map(|links: Vec<Link>| together(&links));
        let (Some(out), Some(back)) = (out, back) else {
            let what = format!("the NICs of host \"{name}\" cannot be joined");
            return Err(self.refuse(
                what,
                "give each a delay of 2 ps or more, and all together a rate that can be written",
            ));
        };
        for (at, side) in own {
            let cable = &mut self.cables[at];
            cable.ends[side] = nics;
            for (way, joint) in [(side, out), (1 - side, back)] {
                cable.links[way].delay = Picos(cable.links[way].delay.0 - joint.delay.0);
            }
            self.vertices[nics].cables += 1;
        }
        self.vertices[host].cables = 1;
        self.vertices[nics].cables += 1;
        self.cables.push(Cable { ends: [host, nics], links: [out, back] });
        Ok(())
    }
}

/// The link that carries what all of `links` carry together, with half of their shortest delay.
fn together(links: &[Link]) -> Option<Link> {
    let rate = links.iter().try_fold(0u64, |sum, link| sum.checked_add(link.rate.get()))?;
    let delay = links.iter().map(|link| link.delay.0 / 2).min().filter(|delay| *delay > 0)?;
    Some(Link { rate: BitsPerSec::new(rate)?, delay: Picos(delay) })
}
