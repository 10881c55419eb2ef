//! Serves the files of a folder: takes objects, and sends its share of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hash;
use pullnet_transport::Source;
use pullnet_units::{Instant, Picos};

use crate::driver::{Jobs, Task};
use crate::engine::{Engine, Notice, ObjectId};
use crate::file::{Folder, Part, Version, cannot_write, hash, open_plain};
use crate::message::{Message, check_name};

/// Objects that are received at a time. More are refused.
const MOST_OBJECTS: usize = 256;
/// Time without any block after which an object is given up; its sender gives up much earlier.
const SILENCE: Picos = Picos::from_secs(30);
/// Interval at which a store that reads an object for its hash says so, as long as it reads on.
const SIGN_OF_LIFE: Picos = Picos::from_secs(10);
/// Hashes that are remembered.
const MOST_HASHES: usize = 4096;

/// An object that is received.
struct Taking {
    from: SocketAddr,
    ticket: u32,
    name: String,
    bytes: u64,
    expected: Hash,
    part: Part,
    moved: Instant,
}

/// An object that is read for its hash.
struct Reading {
    to: SocketAddr,
    ticket: u32,
    /// Number of chunks read, which the thread that reads counts.
    chunks: Arc<AtomicU64>,
    /// Their number when the host that asked was last told.
    told: u64,
    next: Instant,
}

/// Work that was done on a thread of its own.
pub enum Job {
    /// An object was written, or not.
    Written {
        /// The sender.
        from: SocketAddr,
        /// Number of the exchange.
        ticket: u32,
        /// Name, size and hash of the object.
        object: (String, u64, Hash),
        /// Its version, if it was written.
        result: Result<Version, String>,
    },
    /// An object was read for its hash.
    Hashed {
        /// The host that asked.
        from: SocketAddr,
        /// Number of the exchange.
        ticket: u32,
        /// Name of the object.
        name: String,
        /// Its version, size and hash.
        result: Result<(Version, u64, Hash), String>,
    },
}

/// A store: a task for a driver.
pub struct Store {
    folder: Folder,
    most_bytes: u64,
    jobs: Jobs<Job>,
    taking: BTreeMap<ObjectId, Taking>,
    next: u32,
    reading: Vec<Reading>,
    hashes: BTreeMap<String, (Version, u64, Hash)>,
    tell: Box<dyn FnMut(String) + Send>,
}

impl Store {
    /// A store of the objects in `folder`, which refuses those of more than `most_bytes` bytes. It tells by `tell` what it
    /// stores and refuses.
    pub fn new(
        folder: Folder,
        most_bytes: u64,
        jobs: Jobs<Job>,
        tell: Box<dyn FnMut(String) + Send>,
    ) -> Self {
        let (taking, reading, hashes) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { folder, most_bytes, jobs, taking, next: 0, reading, hashes, tell }
    }

    fn refuse(&mut self, now: Instant, engine: &mut Engine, to: SocketAddr, ticket: u32, why: String) {
        (self.tell)(format!("refused {to}: {why}"));
        engine.send_message(now, to, &Message::refused(ticket, &why));
    }

    fn on_message(&mut self, now: Instant, engine: &mut Engine, from: SocketAddr, message: Message) {
        let ticket = match message {
            Message::Put { ticket, .. } | Message::Find { ticket, .. } | Message::Send { ticket, .. } => {
                ticket
            }
            _ => return,
        };
        let refused = match message {
            Message::Put { name, bytes, blake3, session, .. } => {
                self.on_put(now, engine, (from, ticket), (name, bytes, &blake3), session)
            }
            Message::Find { name, .. } => self.on_find(now, engine, (from, ticket), name),
            Message::Send { name, blake3, session, index, of, .. } => {
                self.on_send(now, engine, from, (&name, &blake3), (session, Source { index, of }))
            }
            _ => Ok(()),
        };
        if let Err(why) = refused {
            self.refuse(now, engine, from, ticket, why);
        }
    }

    fn on_put(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        (from, ticket): (SocketAddr, u32),
        (name, bytes, blake3): (String, u64, &str),
        session: u32,
    ) -> Result<(), String> {
        check_name(&name)?;
        let expected = Hash::from_hex(blake3).map_err(|_| "the request has no BLAKE3".to_owned())?;
        if bytes > self.most_bytes {
            return Err(format!(
                "{bytes} B are more than this store takes; it takes at most {} B",
                self.most_bytes
            ));
        }
        if self.taking.len() >= MOST_OBJECTS {
            return Err(format!("it receives {MOST_OBJECTS} objects already; try again later"));
        }
        let place = self.folder.place(&name);
        let part = Part::create(&place, bytes).map_err(|error| cannot_write(&place, &error))?;
        let taking = Taking { from, ticket, name, bytes, expected, part, moved: now };
        if bytes == 0 {
            return self.write(taking);
        }
        let id = ObjectId(self.next);
        self.next = self.next.wrapping_add(1);
        self.taking.insert(id, taking);
        engine.expect(now, Some(from), session, id, bytes);
        engine.send_message(now, from, &Message::Ready { ticket });
        Ok(())
    }

    /// Checks and writes an object that has arrived.
    fn write(&mut self, taking: Taking) -> Result<(), String> {
        let Taking { from, ticket, name, bytes, expected, part, .. } = taking;
        self.jobs.start(move || {
            let result = part.finish(&expected);
            Job::Written { from, ticket, object: (name, bytes, expected), result }
        })
    }

    fn open(&self, name: &str) -> Result<File, String> {
        check_name(name)?;
        let place = self.folder.place(name);
        let missing = || format!("it has no object \"{name}\"");
        match open_plain(&place) {
            Ok(Some(file)) => Ok(file),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("its object \"{name}\" cannot be read: {error}"))
            }
            _ => Err(missing()),
        }
    }

    fn on_find(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        (from, ticket): (SocketAddr, u32),
        name: String,
    ) -> Result<(), String> {
        let file = self.open(&name)?;
        let version = Version::of(&file).map_err(|error| error.to_string())?;
        if let Some((known, bytes, found)) = self.hashes.get(&name)
            && *known == version
        {
            let message = Message::Found { ticket, bytes: *bytes, blake3: found.to_string() };
            engine.send_message(now, from, &message);
            return Ok(());
        }
        let chunks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&chunks);
        self.jobs.start(move || {
            let mut count = || {
                counted.fetch_add(1, Ordering::Relaxed);
                true
            };
            let result = hash(&file, &mut count).map(|(bytes, hash)| (version, bytes, hash));
            let result = result.map_err(|error| format!("its object \"{name}\" cannot be read: {error}"));
            Job::Hashed { from, ticket, name, result }
        })?;
        self.reading.push(Reading { to: from, ticket, chunks, told: 0, next: now.after(SIGN_OF_LIFE) });
        Ok(())
    }

    fn on_send(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        to: SocketAddr,
        (name, blake3): (&str, &str),
        (session, source): (u32, Source),
    ) -> Result<(), String> {
        let file = self.open(name)?;
        let version = Version::of(&file).map_err(|error| error.to_string())?;
        let known = self.hashes.get(name).filter(|(known, _, _)| *known == version);
        let Some((_, bytes, _)) = known.filter(|(_, _, hash)| hash.to_string() == blake3) else {
            return Err(format!("its object \"{name}\" has changed; try again"));
        };
        if source.index >= source.of {
            return Err(format!("there is no sender {} of {}", source.index, source.of));
        }
        (self.tell)(format!("sends {name} ({bytes} B, share {} of {}) to {to}", source.index + 1, source.of));
        if source.of == 1 {
            engine.send(now, to, session, *bytes, Box::new(file));
        } else {
            engine.send_share(now, to, (session, *bytes), Box::new(file), source);
        }
        Ok(())
    }

    fn on_block(&mut self, now: Instant, engine: &mut Engine, id: ObjectId, offset: u64, bytes: &[u8]) {
        let Some(taking) = self.taking.get_mut(&id) else { return };
        taking.moved = now;
        if let Err(error) = taking.part.write(offset, bytes) {
            let why = cannot_write(&self.folder.place(&taking.name), &error);
            self.drop_object(now, engine, id, why);
        }
    }

    fn drop_object(&mut self, now: Instant, engine: &mut Engine, id: ObjectId, why: String) {
        engine.forget(id);
        if let Some(Taking { from, ticket, .. }) = self.taking.remove(&id) {
            self.refuse(now, engine, from, ticket, why);
        }
    }

    fn drop_silent(&mut self, now: Instant, engine: &mut Engine, id: ObjectId) {
        let why = engine.with_mtu("its sender is silent".to_owned());
        self.drop_object(now, engine, id, why);
    }

    fn remember(&mut self, name: String, content: (Version, u64, Hash)) {
        if self.hashes.len() >= MOST_HASHES {
            self.hashes.pop_first();
        }
        self.hashes.insert(name, content);
    }

    /// Tells hosts that wait for a hash that the object is still read. A disk that gives nothing gets no such message.
    fn tell_of_reading(&mut self, now: Instant, engine: &mut Engine) {
        for reading in self.reading.iter_mut().filter(|reading| reading.next <= now) {
            reading.next = now.after(SIGN_OF_LIFE);
            let chunks = reading.chunks.load(Ordering::Relaxed);
            if chunks > reading.told {
                reading.told = chunks;
                engine.send_message(now, reading.to, &Message::Reading { ticket: reading.ticket });
            }
        }
    }

    fn on_job(&mut self, now: Instant, engine: &mut Engine, job: Job) {
        match job {
            Job::Written { from, ticket, object: (name, bytes, hash), result } => match result {
                Ok(version) => {
                    (self.tell)(format!("stored {name} ({bytes} B) from {from}"));
                    self.remember(name, (version, bytes, hash));
                    engine.send_message(now, from, &Message::Stored { ticket });
                }
                Err(why) => self.refuse(now, engine, from, ticket, why),
            },
            Job::Hashed { from, ticket, name, result } => {
                self.reading.retain(|reading| (reading.to, reading.ticket) != (from, ticket));
                match result {
                    Ok((version, bytes, hash)) => {
                        self.remember(name, (version, bytes, hash));
                        let message = Message::Found { ticket, bytes, blake3: hash.to_string() };
                        engine.send_message(now, from, &message);
                    }
                    Err(why) => self.refuse(now, engine, from, ticket, why),
                }
            }
        }
    }
}

impl Task for Store {
    fn begin(&mut self, _: Instant, engine: &mut Engine) {
        let local = engine.options().local;
        (self.tell)(format!("serves {} at {local}", self.folder.path().display()));
    }

    fn notice(&mut self, now: Instant, engine: &mut Engine, notice: Notice) {
        match notice {
            Notice::Message { from, message } => self.on_message(now, engine, from, message),
            Notice::Block { id, offset, bytes } => self.on_block(now, engine, id, offset, &bytes),
            Notice::Received { id } => {
                let Some(taking) = self.taking.remove(&id) else { return };
                let (from, ticket) = (taking.from, taking.ticket);
                if let Err(why) = self.write(taking) {
                    self.refuse(now, engine, from, ticket, why);
                }
            }
            Notice::Lost { id } => self.drop_silent(now, engine, id),
            // A receiver that does not answer has given up, or asks again.
            Notice::Failed { to, .. } => self.reading.retain(|reading| reading.to != to),
            Notice::Sent { .. } | Notice::Apart { .. } => {}
        }
    }

    fn tick(&mut self, now: Instant, engine: &mut Engine) {
        while let Some(job) = self.jobs.finished() {
            self.on_job(now, engine, job);
        }
        self.tell_of_reading(now, engine);
        let silent = |taking: &Taking| taking.moved.after(SILENCE) <= now;
        let late: Vec<_> =
            self.taking.iter().filter(|(_, taking)| silent(taking)).map(|(id, _)| *id).collect();
        for id in late {
            self.drop_silent(now, engine, id);
        }
    }

    fn due(&self) -> Instant {
        let due = |taking: &Taking| taking.moved.after(SILENCE);
        let signs = self.reading.iter().map(|reading| reading.next);
        self.taking.values().map(due).chain(signs).min().unwrap_or(Instant::NEVER)
    }

    fn is_over(&self) -> bool {
        false
    }

    fn progress(&self, _: &Engine) -> (u64, u64) {
        (0, 0)
    }
}
