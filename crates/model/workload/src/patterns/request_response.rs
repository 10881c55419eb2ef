use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::{Bytes, FlowId, HostId, Instant, Picos};

use super::plan::Others;
use crate::agenda::{After, Cue, Ended, Flow, Planner, Watch};
use crate::distribution::SizeDistribution;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::spread::Spread;

settings! {
    /// Clients send a request to a random server and get a response, one after the other on every connection. Request
    /// and response are flows of their own. Servers answer as soon as a request has arrived, and clients go on as soon as a
    /// response has. If one of the two fails, the client goes on with its next request.
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
        let client = |(lane, host)| Client {
            host,
            server: host,
            state: State::Idle,
            left,
            chance: scene.stream(lane),
        };
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
    state: State,
    /// Requests that it may still send; u32::MAX for any number.
    left: u32,
    chance: RandomStream,
}

/// The flow under way on a connection, and the one that a host starts after it.
#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    /// A request; the server starts the response `answer`.
    Asking {
        answer: FlowId,
    },
    /// A response; the client starts the request `next` the time `pause` after it.
    Answering {
        next: Option<(FlowId, Picos)>,
    },
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
    /// The next request on `lane`; `None` if it has none left.
    fn request(&mut self, lane: u64) -> Option<Flow> {
        let client = &mut self.clients[lane as usize];
        if client.left == 0 {
            return None;
        }
        if client.left != u32::MAX {
            client.left -= 1;
        }
        client.server = self.others.pick(client.host, &mut client.chance);
        let flow = Flow::new(client.host, client.server, Some(self.settings.request));
        Some(flow.watched(Watch::Failure))
    }

    fn pause(&mut self, lane: u64) -> Picos {
        let chance = &mut self.clients[lane as usize].chance;
        self.settings.think_spread.draw(self.settings.think, chance)
    }

    fn plan_request(&mut self, at: Instant, lane: u64, planner: &mut Planner<'_>) {
        self.clients[lane as usize].state = State::Idle;
        if at.max(planner.earliest()) <= self.until
            && let Some(flow) = self.request(lane)
        {
            planner.plan(at, lane, flow);
        }
    }

    /// A request has started: its server will answer.
    fn prepare_answer(&mut self, lane: u64, planner: &mut Planner<'_>) {
        let client = &mut self.clients[lane as usize];
        let size = self.sizes.sample(&mut client.chance);
        let flow = Flow::new(client.server, client.host, Some(size)).watched(Watch::Failure);
        let (pause, latest) = (self.settings.service, Instant::NEVER);
        let after = After { flow: planner.current(), cue: Cue::Received, pause, latest };
        client.state = State::Asking { answer: planner.follow(after, lane, flow) };
    }

    /// A response has started: its client will ask again.
    fn prepare_request(&mut self, lane: u64, planner: &mut Planner<'_>) {
        let pause = self.pause(lane);
        let after = After { flow: planner.current(), cue: Cue::Received, pause, latest: self.until };
        let next = self.request(lane).map(|flow| (planner.follow(after, lane, flow), pause));
        self.clients[lane as usize].state = State::Answering { next };
    }
}

impl Traffic for Exchanges {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        (0..self.clients.len() as u64).for_each(|lane| self.plan_request(self.start, lane, planner));
    }

    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        match self.clients[lane as usize].state {
            State::Asking { answer } if answer == planner.current() => self.prepare_request(lane, planner),
            _ => self.prepare_answer(lane, planner),
        }
    }

    /// A flow failed.
    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        match self.clients[ended.lane as usize].state {
            State::Asking { answer } => {
                planner.forget(answer);
                let pause = self.pause(ended.lane);
                self.plan_request(ended.at.after(pause), ended.lane, planner);
            }
            State::Answering { next: Some((next, pause)) } => {
                let at = ended.at.after(pause);
                if at.max(planner.earliest()) <= self.until {
                    planner.release(next, at);
                }
            }
            State::Answering { next: None } | State::Idle => {}
        }
    }
}
