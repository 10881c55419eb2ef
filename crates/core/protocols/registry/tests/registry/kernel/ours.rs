//! The state machines of the simulator under the same scripts, in virtual time.

use std::collections::BTreeMap;

use pullnet_dctcp::{Dctcp, DctcpConfig, DctcpControl};
use pullnet_mptcp::{Coupling, Mptcp, MptcpConfig, MultipathEndpoint, MultipathHeader};
use pullnet_rng::{RandomStream, Seed};
use pullnet_settings::{Settings, Value};
use pullnet_tcp::{Segment, Tcp, TcpConfig};
use pullnet_transport::{
    ConnId, Fate, FlowSpec, HostAddr, HostInfo, Protocol, Received, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};
use pullnet_window::{Control, Endpoint, NewReno, Rules};

use super::arithmetic::{WholeDctcp, WholeReno};
use super::script::{Round, Rounds, Script, ranges};

const SENDER: HostAddr = HostAddr(1);
const RECEIVER: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
const MTU: u64 = 1460;
/// How long packets of the sender are collected, and of the receiver: as in `tools/kernel/windows.py`.
const DATA_PHASE: Picos = Picos::from_millis(50);
const ACK_PHASE: Picos = Picos::from_millis(70);

/// State of one subflow's congestion control.
#[derive(Clone, Copy)]
pub struct State {
    pub window: f64,
    pub threshold: f64,
    pub alpha: Option<f64>,
}

/// Congestion control that can be looked at.
pub trait Shown: Control {
    fn state(&self) -> State;
}

impl Shown for NewReno {
    fn state(&self) -> State {
        State { window: self.window, threshold: self.threshold, alpha: None }
    }
}

impl Shown for DctcpControl {
    fn state(&self) -> State {
        State { alpha: Some(self.alpha), ..self.reno.state() }
    }
}

/// Access of scripts to a transport's packets and windows.
trait Watched: Transport {
    /// Number of a data packet, and its subflow.
    fn place(header: &Self::Header) -> Option<(usize, u32)>;
    /// The subflow's state; `None` if it has ended.
    fn state(&mut self, subflow: usize) -> Option<State>;
}

impl<C: Shown> Watched for Endpoint<C> {
    fn place(header: &Segment) -> Option<(usize, u32)> {
        header.data().map(|(_, seq)| (0, seq.get()))
    }

    fn state(&mut self, _: usize) -> Option<State> {
        Some(self.insight(RECEIVER, CONN)?.control.state())
    }
}

impl<C: Shown> Watched for MultipathEndpoint<C> {
    fn place(header: &MultipathHeader) -> Option<(usize, u32)> {
        match *header {
            MultipathHeader::Data(data) => Some((data.subflow as usize, data.seq)),
            _ => None,
        }
    }

    fn state(&mut self, subflow: usize) -> Option<State> {
        Some(self.subflow(RECEIVER, CONN, subflow)?.insight?.control.state())
    }
}

/// Runs a script on the transports as they are.
pub fn run(script: &Script) -> Rounds {
    match script.protocol.as_str() {
        "tcp" => play(script, 1, |host, chance| Tcp::endpoint(&tcp(script), host, chance)),
        "dctcp" => play(script, 1, |host, chance| Dctcp::endpoint(&dctcp(script), host, chance)),
        "mptcp" => play(script, 2, |host, chance| Mptcp::endpoint(&mptcp(script), host, chance)),
        other => panic!("{other}: no such protocol"),
    }
}

/// The same with congestion control that calculates as Linux does.
pub fn run_with_linux_arithmetic(script: &Script) -> Rounds {
    match script.protocol.as_str() {
        "tcp" => {
            play(script, 1, |host, chance| Endpoint::<WholeReno>::new(tcp(script).rules(), (), host, chance))
        }
        "dctcp" => play(script, 1, |host, chance| {
            let rules = Rules { ecn: true, ecn_handshake: true, ..dctcp(script).rules() };
            Endpoint::<WholeDctcp>::new(rules, (), host, chance)
        }),
        "mptcp" => play(script, 2, |host, chance| {
            let config = mptcp(script);
            MultipathEndpoint::<WholeReno>::new(config.rules(), config.multipath(), (), host, chance)
        }),
        other => panic!("{other}: no such protocol"),
    }
}

fn tcp(script: &Script) -> TcpConfig {
    like_linux(TcpConfig::default(), script)
}

fn dctcp(script: &Script) -> DctcpConfig {
    like_linux(DctcpConfig::default(), script)
}

/// Subflows are compared from their own start on: all of them send at once.
fn mptcp(script: &Script) -> MptcpConfig {
    let config = like_linux(MptcpConfig::default(), script);
    MptcpConfig { subflows: 2, coupling: Coupling::Uncoupled, handshake: false, ..config }
}

/// The least timeout is that of Linux for a round trip of 120 ms: it adds its 200 ms to the smoothed round trip.
fn like_linux<C: Settings>(mut config: C, script: &Script) -> C {
    let settings = [
        ("mtu", Value::Text("1460 B")),
        ("counting", Value::Text("packets")),
        ("min_rto", Value::Text("320 ms")),
        ("sack", Value::Bool(script.sack)),
        ("delayed_ack", Value::Bool(script.delayed_ack)),
    ];
    for (name, value) in settings {
        assert_eq!(config.set(name, value), Some(Ok(())), "{name}");
    }
    config
}

fn play<T: Watched>(script: &Script, subflows: usize, host: impl Fn(HostInfo, RandomStream) -> T) -> Rounds {
    let [sender, receiver] = [SENDER, RECEIVER].map(|addr| {
        let info = HostInfo { addr, rate: BitsPerSec::gbps(10) };
        host(info, Seed(1).stream("test.kernel", addr.0.into()))
    });
    let (now, flying, copies) = (Instant::ZERO, Vec::new(), BTreeMap::new());
    Talk { now, sender, receiver, flying, copies }.play(script, subflows)
}

struct Talk<T: Transport> {
    now: Instant,
    sender: T,
    receiver: T,
    /// Packets of the sender that are under way.
    flying: Vec<Transmit<T::Header>>,
    copies: BTreeMap<(usize, u32), u32>,
}

impl<T: Watched> Talk<T> {
    fn play(mut self, script: &Script, subflows: usize) -> Rounds {
        let size = Some(Bytes(script.packets * MTU));
        let paths = subflows as u16;
        self.sender.open(self.now, FlowSpec { conn: CONN, to: RECEIVER, size, paths, ..FlowSpec::default() });
        let mut rounds: Rounds = vec![Vec::new(); subflows];
        while rounds[0].len() < script.rounds && self.fly() {
            let sent = self.cross(script, subflows, rounds[0].len());
            self.answer();
            if sent.iter().all(Vec::is_empty) {
                // Of the handshake.
                continue;
            }
            for (subflow, numbers) in sent.iter().enumerate() {
                // A flow that is complete has no window.
                let Some(state) = self.sender.state(subflow) else { return rounds };
                let (State { window, threshold, alpha }, sent) = (state, ranges(numbers));
                rounds[subflow].push(Round { sent, window, threshold, alpha, reducing: false });
            }
        }
        rounds
    }

    /// Collects what the sender sends; waits for a timeout if it sends nothing. Returns whether it has sent anything.
    fn fly(&mut self) -> bool {
        let until = self.now.after(DATA_PHASE);
        collect(&mut self.sender, &mut self.now, until, &mut self.flying);
        while self.flying.is_empty() {
            let Some(deadline) = self.sender.poll_timeout() else { return false };
            if deadline.at == Instant::NEVER || deadline.at > self.now.after(Picos::from_secs(8)) {
                return false;
            }
            collect(&mut self.sender, &mut self.now, deadline.at, &mut self.flying);
        }
        true
    }

    /// Delivers the sender's packets except for the script's losses. Returns the numbers of data packets.
    fn cross(&mut self, script: &Script, subflows: usize, round: usize) -> Vec<Vec<u32>> {
        let mut sent = vec![Vec::new(); subflows];
        for packet in std::mem::take(&mut self.flying) {
            let mut ce = false;
            if let Some((subflow, number)) = T::place(&packet.header) {
                let place = sent[subflow].len();
                sent[subflow].push(number);
                let copies = self.copies.entry((subflow, number)).or_default();
                *copies += 1;
                let copy = (subflow, number, *copies);
                if script.loses(copy, round, place) {
                    continue;
                }
                ce = packet.ect && script.marks(copy, round, place);
            }
            self.receiver.handle(self.now, arriving(SENDER, packet, ce));
        }
        sent
    }

    /// Collects the receiver's answers and delivers them.
    fn answer(&mut self) {
        let mut answers = Vec::new();
        let until = self.now.after(ACK_PHASE);
        collect(&mut self.receiver, &mut self.now, until, &mut answers);
        for answer in answers {
            self.sender.handle(self.now, arriving(RECEIVER, answer, false));
            let now = self.now;
            collect(&mut self.sender, &mut self.now, now, &mut self.flying);
        }
    }
}

fn arriving<H>(from: HostAddr, packet: Transmit<H>, ce: bool) -> Received<H> {
    let Transmit { wire, header, .. } = packet;
    Received { from, paths: 2, wire, fate: Fate::Whole, ce, header }
}

/// Lets time pass for one host until `until`; its packets go to `out`.
fn collect<T: Transport>(
    host: &mut T,
    now: &mut Instant,
    until: Instant,
    out: &mut Vec<Transmit<T::Header>>,
) {
    loop {
        out.extend(std::iter::from_fn(|| host.poll_transmit(*now)));
        while host.poll_event().is_some() {}
        match host.poll_timeout() {
            Some(deadline) if deadline.at <= until => {
                *now = deadline.at.max(*now);
                host.handle_timeout(*now);
            }
            _ => break,
        }
    }
    *now = until.max(*now);
}
