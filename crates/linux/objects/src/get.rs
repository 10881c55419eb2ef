//! Fetches one object from several stores at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use blake3::Hash;
use pullnet_units::{Instant, Picos};

use crate::driver::{Jobs, Task};
use crate::engine::{Engine, Notice, ObjectId};
use crate::file::{Part, Version, cannot_write};
use crate::message::Message;
use crate::report::{HostReport, Report};

/// Time after the first answer in which the other stores must have received the question. Stores that received it may take `ANSWER`
/// to answer.
const GATHER: Picos = Picos::from_millis(1000);
/// Time in which a store answers, or says that it reads on: it may have to read the whole object for its hash.
const ANSWER: Picos = Picos::from_secs(60);
/// The error of a store that takes longer.
const UNANSWERED: &str = "it took the question, and then was silent for 60 s; if its disk is slow, try again later: it remembers the \
                          hash of what it has read";
/// Time without any symbol after which the sources count as dead: twice the time after which they give up.
const SILENCE: Picos = Picos::from_secs(10);
/// Time in which a source answers the last message.
const FAREWELL: Picos = Picos::from_millis(1500);
/// Time that a command that is ended waits for the disk.
const WRITING: Duration = Duration::from_secs(60);
/// The one object of this host.
const OBJECT: ObjectId = ObjectId(0);

/// How far a store is.
#[derive(Clone, PartialEq, Debug)]
enum State {
    /// The question is on its way, under this session number.
    Asked(u32),
    Found(u64, Hash),
    /// It sends its share. The request, or after the end the farewell, has this session number.
    Source(u32),
    Over(Result<(), String>),
}

#[derive(Clone)]
struct Store {
    host: SocketAddr,
    state: State,
    until: Instant,
    over_at: Option<Instant>,
}

/// The event that the command waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Answers, until this time.
    Gathering(Instant),
    /// Symbols.
    Receiving,
    /// The file to be on the disk.
    Writing,
    /// The sources to answer a last message, until this time.
    Farewell(Instant),
    Over,
}

/// A get: a task for a driver.
pub struct Get {
    name: String,
    target: PathBuf,
    stores: Vec<Store>,
    stage: Stage,
    jobs: Jobs<Result<Version, String>>,
    part: Option<Part>,
    chosen: Option<(u64, Hash)>,
    received: u64,
    /// When the latest block was decoded, or sources were asked to send.
    moved: Instant,
    error: Option<String>,
    began: Instant,
    done_at: Option<Instant>,
    now: Instant,
}

impl Get {
    /// Fetches the object `name` from `hosts` into the file `target`. Hosts in `missing` are not reachable.
    pub fn new(
        name: String,
        target: PathBuf,
        hosts: &[SocketAddr],
        missing: &[SocketAddr],
        jobs: Jobs<Result<Version, String>>,
    ) -> Self {
        let store = |host: &SocketAddr| {
            let unreachable = || "no host on this network answers for the address".to_owned();
            let gone = missing.contains(host);
            let state = if gone { State::Over(Err(unreachable())) } else { State::Asked(0) };
            Store { host: *host, state, until: Instant::NEVER, over_at: None }
        };
        Self {
            name,
            target,
            stores: hosts.iter().map(store).collect(),
            stage: Stage::Gathering(Instant::NEVER),
            jobs,
            part: None,
            chosen: None,
            received: 0,
            moved: Instant::ZERO,
            error: None,
            began: Instant::ZERO,
            done_at: None,
            now: Instant::ZERO,
        }
    }

    fn ends(&mut self, now: Instant, at: usize, result: Result<(), String>) {
        let store = &mut self.stores[at];
        if !matches!(store.state, State::Over(_)) {
            (store.state, store.over_at, store.until) = (State::Over(result), Some(now), Instant::NEVER);
        }
    }

    fn fail(&mut self, now: Instant, why: String) {
        self.part = None;
        self.error.get_or_insert(why);
        for at in 0..self.stores.len() {
            self.ends(now, at, Err("the object was not received".to_owned()));
        }
        (self.stage, self.done_at) = (Stage::Over, Some(now));
    }

    fn on_message(&mut self, now: Instant, from: SocketAddr, message: &Message) {
        let ticket = match message {
            Message::Found { ticket, .. } | Message::Reading { ticket } | Message::Refused { ticket, .. } => {
                *ticket
            }
            _ => return,
        };
        let at = ticket as usize;
        if self.stores.get(at).is_none_or(|store| store.host != from) {
            return;
        }
        match (message, &self.stores[at].state, self.stage) {
            (Message::Found { bytes, blake3, .. }, State::Asked(_), Stage::Gathering(until)) => {
                match Hash::from_hex(blake3) {
                    Ok(hash) => {
                        (self.stores[at].state, self.stores[at].until) =
                            (State::Found(*bytes, hash), Instant::NEVER);
                        self.stage = Stage::Gathering(until.min(now.after(GATHER)));
                    }
                    Err(_) => self.ends(now, at, Err("its answer has no BLAKE3".to_owned())),
                }
            }
            (Message::Reading { .. }, State::Asked(_), Stage::Gathering(_)) => {
                self.stores[at].until = now.after(ANSWER);
            }
            (Message::Refused { why, .. }, ..) => self.ends(now, at, Err(why.clone())),
            _ => {}
        }
    }

    /// The content that most stores have; of several, that of the store named first.
    fn choose(&self) -> Option<(u64, Hash)> {
        let mut votes: BTreeMap<[u8; 32], usize> = BTreeMap::new();
        let found = || {
            self.stores.iter().filter_map(|store| match store.state {
                State::Found(bytes, hash) => Some((bytes, hash)),
                _ => None,
            })
        };
        found().for_each(|(_, hash)| *votes.entry(*hash.as_bytes()).or_default() += 1);
        let most = votes.values().max()?;
        found().find(|(_, hash)| votes[hash.as_bytes()] == *most)
    }

    /// Asks every store that has the chosen content for its share.
    fn start(&mut self, now: Instant, engine: &mut Engine) {
        let Some((bytes, hash)) = self.choose() else {
            return self.fail(now, format!("no host has the object \"{}\"", self.name));
        };
        self.chosen = Some((bytes, hash));
        match Part::create(&self.target, bytes) {
            Ok(part) => self.part = Some(part),
            Err(error) => return self.fail(now, cannot_write(&self.target, &error)),
        }
        (self.stage, self.moved) = (Stage::Receiving, now);
        let sources = self.sources_of(now, (bytes, hash));
        if bytes == 0 {
            sources.iter().for_each(|at| self.stores[*at].state = State::Source(0));
            return self.write(now);
        }
        let (of, session) = (sources.len() as u16, engine.new_session());
        engine.expect(now, (of == 1).then_some(self.stores[sources[0]].host), session, OBJECT, bytes);
        for (index, at) in (0..).zip(sources) {
            let (name, blake3, ticket) = (self.name.clone(), hash.to_string(), at as u32);
            let message = Message::Send { ticket, name, blake3, session, index, of };
            let store = &mut self.stores[at];
            store.state = State::Source(engine.send_message(now, store.host, &message));
        }
    }

    /// Numbers of the stores that have the content; all others end here.
    fn sources_of(&mut self, now: Instant, chosen: (u64, Hash)) -> Vec<usize> {
        let mut sources = Vec::new();
        for at in 0..self.stores.len() {
            match self.stores[at].state {
                State::Found(bytes, hash) if (bytes, hash) == chosen => sources.push(at),
                State::Found(_, hash) => {
                    let why = format!("it has another content under the name, with the BLAKE3 {hash}");
                    self.ends(now, at, Err(why));
                }
                State::Asked(_) => {
                    let why = "it did not answer before the others were asked to send";
                    self.ends(now, at, Err(why.to_owned()));
                }
                State::Source(_) | State::Over(_) => {}
            }
        }
        sources
    }

    /// Writes the object to the disk, which may take long.
    fn write(&mut self, now: Instant) {
        self.stage = Stage::Writing;
        let Some((part, (_, hash))) = self.part.take().zip(self.chosen) else { return };
        if let Err(why) = self.jobs.start(move || part.finish(&hash)) {
            self.fail(now, why);
        }
    }

    fn on_block(&mut self, now: Instant, engine: &mut Engine, offset: u64, bytes: &[u8]) {
        let Some(part) = &mut self.part else { return };
        if let Err(error) = part.write(offset, bytes) {
            engine.forget(OBJECT);
            return self.fail(now, cannot_write(&self.target, &error));
        }
        self.received += bytes.len() as u64;
        self.moved = now;
    }

    /// Asks every source for a last answer: one that has died in the meantime gives none.
    fn take_leave(&mut self, now: Instant, engine: &mut Engine) {
        (self.stage, self.done_at) = (Stage::Farewell(now.after(FAREWELL)), Some(now));
        for (ticket, store) in (0..).zip(&mut self.stores) {
            if matches!(store.state, State::Source(_)) {
                store.state = State::Source(engine.send_message(now, store.host, &Message::Check { ticket }));
            }
        }
    }

    /// A message to `host` was received, or not.
    fn on_end(&mut self, now: Instant, host: SocketAddr, session: u32, result: Result<(), String>) {
        let Some(at) = self.stores.iter().position(|store| store.host == host) else { return };
        match (&self.stores[at].state, result) {
            (State::Asked(asked), Ok(())) if *asked == session => self.stores[at].until = now.after(ANSWER),
            (State::Asked(asked), Err(why)) if *asked == session => {
                self.ends(now, at, Err(format!("it does not answer: {why}")));
            }
            (State::Source(asked), Err(why)) if *asked == session => {
                self.ends(now, at, Err(format!("it stopped answering: {why}")));
            }
            (State::Source(asked), Ok(()))
                if *asked == session && matches!(self.stage, Stage::Farewell(_)) =>
            {
                self.ends(now, at, Ok(()));
            }
            _ => {}
        }
    }

    fn expire(&mut self, now: Instant) {
        for at in 0..self.stores.len() {
            if self.stores[at].until <= now {
                self.ends(now, at, Err(UNANSWERED.to_owned()));
            }
        }
        match self.stage {
            Stage::Receiving if !self.has_source() => {
                self.fail(now, "every source has failed".to_owned());
            }
            Stage::Receiving if self.moved.after(SILENCE) <= now => {
                self.fail(now, "nothing has arrived from any source for 10 s".to_owned());
            }
            Stage::Farewell(until) if until <= now || !self.has_source() => {
                for at in 0..self.stores.len() {
                    self.ends(now, at, Err("it stopped answering before the end".to_owned()));
                }
                self.stage = Stage::Over;
            }
            _ => {}
        }
    }

    fn has_source(&self) -> bool {
        self.stores.iter().any(|store| matches!(store.state, State::Source(_)))
    }

    /// Waits for the disk if the object is being written: when the command ends, the file is there whole, or nothing is.
    pub fn settle(&mut self) {
        if self.stage != Stage::Writing {
            return;
        }
        match self.jobs.wait(WRITING) {
            Some(Ok(_)) => (self.stage, self.done_at) = (Stage::Over, Some(self.now)),
            Some(Err(why)) => self.fail(self.now, why),
            None => {}
        }
    }

    /// The report, when the task is over.
    pub fn report(&self, engine: &Engine) -> Report {
        let seconds = |at: Instant| at.since(self.began).0 as f64 / 1e12;
        let host = |store: &Store| HostReport {
            host: store.host,
            ok: store.state == State::Over(Ok(())),
            way: None,
            seconds: store.over_at.map(seconds),
            error: match &store.state {
                State::Over(result) => result.clone().err().map(|why| engine.with_mtu(why)),
                _ => Some("the command was ended before".to_owned()),
            },
        };
        let counts = engine.counts();
        let over = matches!(self.stage, Stage::Farewell(_) | Stage::Over);
        Report {
            name: self.name.clone(),
            bytes: self.chosen.map_or(0, |(bytes, _)| bytes),
            blake3: self.chosen.map_or_else(String::new, |(_, hash)| hash.to_string()),
            seconds: seconds(self.done_at.unwrap_or(self.now)),
            symbols_sent: counts.symbols_sent,
            symbols_received: counts.symbols_received,
            trimmed: counts.trimmed,
            hosts: self.stores.iter().map(host).collect(),
            error: match &self.error {
                Some(why) => Some(engine.with_mtu(why.clone())),
                None => (!over).then(|| "the command was ended before".to_owned()),
            },
            is_put: false,
        }
    }
}

impl Task for Get {
    fn begin(&mut self, now: Instant, engine: &mut Engine) {
        self.began = now;
        for (ticket, store) in (0..).zip(&mut self.stores) {
            if matches!(store.state, State::Over(_)) {
                store.over_at = Some(now);
                continue;
            }
            let message = Message::Find { ticket, name: self.name.clone() };
            store.state = State::Asked(engine.send_message(now, store.host, &message));
        }
    }

    fn notice(&mut self, now: Instant, engine: &mut Engine, notice: Notice) {
        match notice {
            Notice::Message { from, message } => self.on_message(now, from, &message),
            Notice::Sent { to, session, .. } => self.on_end(now, to, session, Ok(())),
            Notice::Failed { to, session, why } => self.on_end(now, to, session, Err(why)),
            Notice::Block { offset, bytes, .. } => self.on_block(now, engine, offset, &bytes),
            Notice::Received { .. } if self.stage == Stage::Receiving => self.write(now),
            Notice::Lost { .. } if self.stage == Stage::Receiving => {
                self.fail(now, "the sources are silent".to_owned());
            }
            Notice::Received { .. } | Notice::Lost { .. } | Notice::Apart { .. } => {}
        }
    }

    fn tick(&mut self, now: Instant, engine: &mut Engine) {
        self.now = now;
        self.expire(now);
        if let Some(written) = self.jobs.finished() {
            match written {
                Ok(_) => self.take_leave(now, engine),
                Err(why) => self.fail(now, why),
            }
        }
        let open = || self.stores.iter().filter(|store| matches!(store.state, State::Asked(_)));
        // A store that has taken the question reads the object for its hash.
        let reads = |store: &Store| store.until != Instant::NEVER;
        if let Stage::Gathering(until) = self.stage
            && (open().next().is_none() || until <= now && !open().any(reads))
        {
            self.start(now, engine);
        }
    }

    fn due(&self) -> Instant {
        let stage = match self.stage {
            // Later it waits only for stores that read the object, each until a time of its own.
            Stage::Gathering(until) if until <= self.now => Instant::NEVER,
            Stage::Gathering(until) | Stage::Farewell(until) => until,
            Stage::Receiving => self.moved.after(SILENCE),
            Stage::Writing | Stage::Over => Instant::NEVER,
        };
        self.stores.iter().map(|store| store.until).fold(stage, Instant::min)
    }

    fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    fn progress(&self, _: &Engine) -> (u64, u64) {
        (self.received, self.chosen.map_or(0, |(bytes, _)| bytes))
    }
}

#[cfg(test)]
mod tests {
    use pullnet_netio::Waker;
    use pullnet_transport::SendCounts;
    use pullnet_units::BitsPerSec;

    use super::*;
    use crate::engine::EngineOptions;

    #[test]
    fn a_get_that_is_ended_while_the_disk_writes_leaves_the_file_whole_or_nothing() {
        let host = |last: u8| SocketAddr::from(([10, 0, 0, last], 4000));
        let folder = std::env::temp_dir().join(format!("pullnet-settle-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for content in [b"right", b"wrong"] {
            let target = folder.join(std::str::from_utf8(content).unwrap());
            let jobs = Jobs::new(Waker::new().unwrap());
            let mut get = Get::new("name".to_owned(), target, &[host(2)], &[], jobs);
            let mut part = Part::create(&get.target, 5).unwrap();
            part.write(0, content).unwrap();
            (get.part, get.chosen) = (Some(part), Some((5, blake3::hash(b"right"))));
            get.write(Instant::ZERO);
            get.settle();
            assert_eq!(get.stage, Stage::Over);
        }
        let names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["right"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_store_that_reads_on_is_waited_for_without_limit() {
        let (host, store) =
            (SocketAddr::from(([10, 0, 0, 1], 4000)), SocketAddr::from(([10, 0, 0, 2], 4000)));
        let mut engine = Engine::new(EngineOptions::new(host, BitsPerSec::gbps(1), 1500, 1)).unwrap();
        let target = std::env::temp_dir().join(format!("pullnet-reads-{}", std::process::id()));
        let jobs = Jobs::new(Waker::new().unwrap());
        let mut get = Get::new("name".to_owned(), target, &[store], &[], jobs);
        let at = |seconds: u64| Instant(seconds * 1_000_000_000_000);
        get.begin(at(0), &mut engine);
        let State::Asked(session) = get.stores[0].state else { panic!("{:?}", get.stores[0].state) };
        get.notice(at(0), &mut engine, Notice::Sent { to: store, session, counts: SendCounts::default() });
        for seconds in (50..300).step_by(50) {
            get.on_message(at(seconds), store, &Message::Reading { ticket: 0 });
            get.tick(at(seconds + 1), &mut engine);
            assert!(matches!(get.stage, Stage::Gathering(_)), "after {seconds} s: {:?}", get.stores[0].state);
        }
        // It says no more.
        get.tick(at(310), &mut engine);
        assert_eq!(get.stores[0].state, State::Over(Err(UNANSWERED.to_owned())));
    }

    #[test]
    fn a_store_that_reads_the_object_for_its_hash_is_waited_for() {
        let host = |last: u8| SocketAddr::from(([10, 0, 0, last], 4000));
        let hosts = [host(2), host(3), host(4)];
        let mut engine = Engine::new(EngineOptions::new(host(1), BitsPerSec::gbps(1), 1500, 1)).unwrap();
        let target = std::env::temp_dir().join(format!("pullnet-get-{}", std::process::id()));
        let jobs = Jobs::new(Waker::new().unwrap());
        let mut get = Get::new("name".to_owned(), target, &hosts, &[], jobs);
        let at = |ms: u64| Instant(ms * 1_000_000_000);
        get.begin(at(0), &mut engine);
        // Two stores take the question, the third is dead.
        for (store, to) in get.stores.clone().iter().zip(hosts).take(2) {
            let State::Asked(session) = store.state else { panic!("{:?}", store.state) };
            get.notice(at(1), &mut engine, Notice::Sent { to, session, counts: SendCounts::default() });
        }
        let found =
            |ticket: u32| Message::Found { ticket, bytes: 1000, blake3: blake3::hash(b"x").to_string() };
        get.on_message(at(2), hosts[0], &found(0));
        get.tick(at(5_000), &mut engine);
        assert!(matches!(get.stage, Stage::Gathering(_)), "{:?}", get.stage);
        assert_eq!(get.due(), at(1).after(ANSWER), "it sleeps meanwhile");
        get.on_message(at(6_000), hosts[1], &found(1));
        get.tick(at(6_000), &mut engine);
        let sources = get.stores.iter().filter(|store| matches!(store.state, State::Source(_))).count();
        assert_eq!((get.stage, sources), (Stage::Receiving, 2));
    }
}
