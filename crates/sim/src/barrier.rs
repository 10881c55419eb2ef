use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A meeting point of threads. The last thread to arrive runs a step for all before any of them continues.
///
/// A window takes a few microseconds, less than waking a thread, so waiting threads spin at first. If the machine is
/// busy with other work they then sleep: the scheduler gives the processor back last to a thread that has spun away its
/// share.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicU32,
    broken: AtomicBool,
    /// Number of sleeping threads.
    sleepers: Mutex<usize>,
    bell: Condvar,
}

/// Checks before a waiting thread sleeps: some ten microseconds.
const SPINS: u32 = 2048;

impl Barrier {
    /// For `threads` threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            bell: Condvar::new(),
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all threads; the last one runs `leader` first. False if a thread will never come.
    #[must_use]
    pub fn meet(&self, leader: impl FnOnce()) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            leader();
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::SeqCst);
            self.ring();
            return true;
        }
        for _ in 0..SPINS {
            if self.over(round) {
                break;
            }
            spin_loop();
        }
        self.sleep(round);
        self.round.load(Ordering::Acquire) != round
    }

    fn over(&self, round: u32) -> bool {
        self.round.load(Ordering::SeqCst) != round || self.broken.load(Ordering::SeqCst)
    }

    fn sleep(&self, round: u32) {
        if self.over(round) {
            return;
        }
        let mut sleepers = self.sleepers();
        *sleepers += 1;
        while !self.over(round) {
            sleepers = self.bell.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    /// Wakes the sleeping threads.
    fn ring(&self) {
        if self.threads > 1 && *self.sleepers() > 0 {
            self.bell.notify_all();
        }
    }

    /// Breaks the barrier if the thread that holds the guard panics. Without it the other threads would wait forever.
    pub fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Barrier::guard`].
pub struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_arrive_leads_and_all_go_on() {
        let (barrier, led) = (Barrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    (0..1000).for_each(|_| {
                        assert!(barrier.meet(|| {
                            led.fetch_add(1, Ordering::AcqRel);
                        }))
                    })
                });
            }
        });
        assert_eq!(led.into_inner(), 1000);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _guard = barrier.guard();
                panic!("on purpose");
            });
            assert!(!barrier.meet(|| ()));
            assert!(other.join().is_err());
        });
    }
}
