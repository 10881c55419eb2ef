use pullnet_rng::Stream;
use pullnet_settings::settings;
use pullnet_units::{Bytes, HostId, Instant, Picos};

use super::plan::Others;
use crate::agenda::{Ended, Planner};
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::spread::Spread;
use crate::{Flow, Problem, SizeDistribution, Watch};

settings! {
    /// Clients send a request to a random server and get a response, one after the other on every connection. Request
    /// and response are flows of their own. If one of them fails, the client goes on with its next request.
    pub struct RequestResponse {
        /// Bytes of a request.
        request: Bytes = "1 kB" in "1 B" => "1000 TB",
        /// Bytes of a response; by default from the table sizes.
        response: Option<Bytes> = "" in "1 B" => "1000 TB",
        /// Pause between the end of a response and the next request.
        think: Picos = "0 ps",
        /// Whether the pause varies.
        think_spread: Spread = "fixed",
        /// Time that a server takes from the end of a request to the start of its response.
        service: Picos = "0 ps",
        /// Requests that every client has under way or in its pause.
        connections_per_host: u32 = 1 in 1 => 100000,
        /// Which of the block's hosts are clients.
        from: Hosts = "all",
        /// Which of the block's hosts are servers.
        to: Hosts = "all",
        /// No request starts later than this after the block's start.
        until: Option<Picos> = "",
        /// No connection carries more requests than this.
        requests_per_connection: Option<u32> = "" in 1 => 2000000000,
    }
}

impl Pattern for RequestResponse {
    fn name(&self) -> &'static str {
        "request-response"
    }

    fn summary(&self) -> &'static str {
        "clients send requests to random servers and get responses"
    }

    fn takes_sizes(&self) -> bool {
        true
    }

    fn ends(&self) -> Ends {
        let stated = self.until.is_some() || self.requests_per_connection.is_some();
        Ends::once(stated, &["until", "requests_per_connection"])
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let sizes = self.responses(scene);
        let (from, others) = Others::select(scene, self.connections_per_host, &self.from, &self.to)?;
        let sizes = sizes?;
        let hosts = from.iter().flat_map(|host| (0..self.connections_per_host).map(|_| *host));
        let left = self.requests_per_connection.unwrap_or(u32::MAX);
        let client =
            |(lane, host)| Client { host, server: host, asking: false, left, chance: scene.stream(lane) };
        let start = scene.start();
        Ok(Box::new(Exchanges {
            clients: (0..).zip(hosts).map(client).collect(),
            sizes,
            others,
            start,
            until: self.until.map_or(Instant::NEVER, |until| start.after(until)),
            settings: self.clone(),
        }))
    }
}

impl RequestResponse {
    fn responses(&self, scene: &Scene<'_>) -> Result<SizeDistribution, Noted> {
        match self.response {
            Some(bytes) if scene.states_sizes() => {
                let reason = "contradicts sizes; keep one of them";
                Err(scene.note(Problem::new("response", bytes.to_string(), reason)))
            }
            None if scene.reads(&["response"]) || scene.states_sizes() => scene.sizes(),
            stated => Ok(SizeDistribution::fixed(stated.unwrap_or(Bytes(1)))),
        }
    }
}

/// One connection of a client; the lane is its index.
#[derive(Clone)]
struct Client {
    host: HostId,
    server: HostId,
    /// Whether the flow under way is the request.
    asking: bool,
    /// Requests that it may still send; u32::MAX for any number.
    left: u32,
    chance: Stream,
}

/// Requests and responses at work.
#[derive(Clone)]
struct Exchanges {
    settings: RequestResponse,
    clients: Vec<Client>,
    sizes: SizeDistribution,
    others: Others,
    start: Instant,
    until: Instant,
}

impl Exchanges {
    fn ask(&mut self, at: Instant, lane: u64, planner: &mut Planner<'_>) {
        let client = &mut self.clients[lane as usize];
        if client.left == 0 || at.max(planner.earliest()) > self.until {
            return;
        }
        if client.left != u32::MAX {
            client.left -= 1;
        }
        client.server = self.others.pick(client.host, &mut client.chance);
        client.asking = true;
        let flow = Flow::new(client.host, client.server, Some(self.settings.request));
        planner.plan(at, lane, flow.watched(Watch::Received));
    }

    fn answer(&mut self, at: Instant, lane: u64, planner: &mut Planner<'_>) {
        let client = &mut self.clients[lane as usize];
        client.asking = false;
        let size = self.sizes.sample(&mut client.chance);
        let flow = Flow::new(client.server, client.host, Some(size));
        planner.plan(at, lane, flow.watched(Watch::Received));
    }
}

impl Traffic for Exchanges {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        (0..self.clients.len() as u64).for_each(|lane| self.ask(self.start, lane, planner));
    }

    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        let client = &mut self.clients[ended.lane as usize];
        if client.asking && !ended.failed {
            return self.answer(ended.at.after(self.settings.service), ended.lane, planner);
        }
        let pause = self.settings.think_spread.draw(self.settings.think, &mut client.chance);
        self.ask(ended.at.after(pause), ended.lane, planner);
    }
}
