use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::yield_now;

/// A meeting point where the last thread to arrive does something for all before anybody goes on.
///
/// Windows take a few microseconds, far less than waking a thread: waiting spins, and gives way to other work if the
/// others seem to have none of the machine.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicU32,
}

/// Looks before a waiting thread gives way.
const SPINS: u32 = 4096;

impl Barrier {
    /// For `threads` threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), round: AtomicU32::new(0) }
    }

    /// Waits for all; the last one runs `leader` first.
    pub fn meet(&self, leader: impl FnOnce()) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            leader();
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            spins += 1;
            if spins < SPINS { spin_loop() } else { yield_now() }
        }
    }
}
