//! Agenda: which process is visited in which window.
//!
//! One bit for each process and window. Near windows have a row each. Later windows share rows of 64 windows, or of 64
//! times 64, until they come near: a host that waits for a timer costs nothing until then.

/// Base-two logarithm of the number of rows of a level. A row of the next level covers as many windows of this level.
const SHIFT: u32 = 6;
const ROWS: u64 = 1 << SHIFT;
/// Levels: rows of 1, 64 and 4096 windows.
const LEVELS: usize = 3;

/// Value of `armed` for a process without a planned visit.
pub const NOT_ARMED: u64 = u64::MAX;

/// Plan of visits: the processes to visit in each window.
#[derive(Clone, Debug)]
pub struct Agenda {
    levels: [Level; LEVELS],
    /// The rows of the upper levels up to this window have been moved down.
    sorted: u64,
}

impl Agenda {
    /// For `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self { levels: core::array::from_fn(|_| Level::new(processes)), sorted: 0 }
    }

    /// Plans the next visit of `process` for `window`, or for the last window that the agenda reaches. `armed` holds
    /// the window planned before, and is updated. `now` is the current window.
    #[inline(always)]
    pub fn arm(&mut self, armed: &mut u64, process: u32, window: u64, now: u64) {
        if *armed != NOT_ARMED {
            if *armed == window {
                return;
            }
            self.disarm(*armed, process);
        }
        *armed = self.place(process, window, now);
    }

    /// The same for a process without a planned visit. Returns the window, or the last one that the agenda reaches.
    #[inline(always)]
    pub fn place(&mut self, process: u32, window: u64, now: u64) -> u64 {
        if window - now >= ROWS {
            return self.place_far(process, window, now);
        }
        self.levels[0].add(window, process);
        window
    }

    #[inline]
    fn disarm(&mut self, armed: u64, process: u32) {
        if !self.levels[0].remove(armed, process) {
            self.levels[1].remove(armed >> SHIFT, process);
            self.levels[2].remove(armed >> (2 * SHIFT), process);
        }
    }

    /// The same in one of the upper levels.
    #[cold]
    #[inline(never)]
    fn place_far(&mut self, process: u32, window: u64, now: u64) -> u64 {
        let last = ((now >> (2 * SHIFT)) + ROWS) << (2 * SHIFT);
        let window = window.min(last - 1);
        let level = if (window >> SHIFT) - (now >> SHIFT) < ROWS { 1 } else { 2 };
        self.levels[level].add(window >> (SHIFT * level as u32), process);
        window
    }

    /// Appends the processes of `window` in ascending order, and removes them. No window with a process may be skipped.
    /// `armed` returns the window that a process is planned for.
    pub fn take(&mut self, window: u64, due: &mut Vec<u32>, armed: impl Fn(u32) -> u64) {
        if window >> SHIFT != self.sorted >> SHIFT {
            self.move_down(window, armed);
        }
        self.sorted = window;
        self.levels[0].take(window, due);
    }

    /// Moves rows that are due soon from the upper levels to the lower ones.
    #[cold]
    fn move_down(&mut self, window: u64, armed: impl Fn(u32) -> u64) {
        let mut near = Vec::new();
        for level in (1..LEVELS).rev() {
            let shift = SHIFT * level as u32;
            if window >> shift != self.sorted >> shift {
                self.levels[level].take(window >> shift, &mut near);
                for process in near.drain(..) {
                    self.place(process, armed(process), window);
                }
            }
        }
    }

    /// Returns the earliest busy window, `window` or later; `u64::MAX` if no process is armed.
    pub fn next_busy(&mut self, window: u64) -> u64 {
        let now = window.saturating_sub(1);
        let of_level = |(level, shift): (&mut Level, u32)| {
            level.next_busy((now >> shift) + 1).map_or(u64::MAX, |row| row << shift)
        };
        self.levels.iter_mut().zip((0..).step_by(SHIFT as usize)).map(of_level).min().unwrap_or(u64::MAX)
    }
}

/// Rows of equally many windows, in a ring.
#[derive(Clone, Debug)]
struct Level {
    /// Words of a row, with a bit for each process.
    words: usize,
    bits: Vec<u64>,
    /// Rows that may have a process.
    busy: u64,
}

impl Level {
    fn new(processes: usize) -> Self {
        let words = processes.div_ceil(64);
        Self { words, bits: vec![0; words * ROWS as usize], busy: 0 }
    }

    #[inline]
    fn row(&mut self, row: u64) -> &mut [u64] {
        let start = (row % ROWS) as usize * self.words;
        &mut self.bits[start..start + self.words]
    }

    #[inline(always)]
    fn word(&mut self, row: u64, process: u32) -> &mut u64 {
        &mut self.bits[(row % ROWS) as usize * self.words + process as usize / 64]
    }

    #[inline(always)]
    fn add(&mut self, row: u64, process: u32) {
        *self.word(row, process) |= 1 << (process % 64);
        self.busy |= 1 << (row % ROWS);
    }

    /// Whether it was there.
    #[inline]
    fn remove(&mut self, row: u64, process: u32) -> bool {
        let (word, bit) = (self.word(row, process), 1 << (process % 64));
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    fn take(&mut self, row: u64, due: &mut Vec<u32>) {
        if self.busy & 1 << (row % ROWS) == 0 {
            return;
        }
        self.busy &= !(1 << (row % ROWS));
        for (first, bits) in (0u32..).step_by(64).zip(self.row(row)) {
            let mut bits = core::mem::take(bits);
            while bits != 0 {
                due.push(first + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// First row, `from` or later, that has a process.
    fn next_busy(&mut self, from: u64) -> Option<u64> {
        while self.busy != 0 {
            let row = from + u64::from(self.busy.rotate_right((from % ROWS) as u32).trailing_zeros());
            if self.row(row).iter().any(|bits| *bits != 0) {
                return Some(row);
            }
            self.busy &= !(1 << (row % ROWS));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROCESSES: u32 = 5000;

    /// An agenda, and a plain model of its contents.
    struct Checked {
        agenda: Agenda,
        armed: Vec<u64>,
        now: u64,
    }

    impl Checked {
        fn arm(&mut self, process: u32, window: u64) {
            self.agenda.arm(&mut self.armed[process as usize], process, window, self.now);
        }

        /// Goes to the next window with a process, and returns the processes to visit there.
        fn step(&mut self) -> Vec<u32> {
            let mut due = Vec::new();
            while due.is_empty() && self.armed.iter().any(|armed| *armed != NOT_ARMED) {
                self.now = self.agenda.next_busy(self.now + 1);
                self.agenda.take(self.now, &mut due, |process| self.armed[process as usize]);
            }
            due.iter().for_each(|process| self.armed[*process as usize] = NOT_ARMED);
            due
        }
    }

    fn checked() -> Checked {
        let armed = vec![NOT_ARMED; PROCESSES as usize];
        Checked { agenda: Agenda::new(PROCESSES as usize), armed, now: 0 }
    }

    #[test]
    fn what_is_out_of_reach_is_looked_at_before() {
        let mut one = checked();
        one.arm(7, u64::MAX - 1);
        assert_eq!((one.step(), one.now), (vec![7], (1 << 18) - 1));
    }

    proptest! {
        #[test]
        fn a_process_is_visited_in_the_window_that_it_was_armed_for_last(
            rounds in prop::collection::vec(
                prop::collection::vec((0..PROCESSES, prop::sample::select(&[3u64, 70, 5000, 200_000]), 1u64..64), 0..6),
                1..40,
            ),
        ) {
            let mut one = checked();
            for round in rounds {
                for (process, scale, factor) in round {
                    one.arm(process, one.now + scale * factor / 64 + 1);
                }
                let first = one.armed.iter().copied().min().unwrap_or(NOT_ARMED);
                let wanted: Vec<_> = (0..PROCESSES).filter(|p| one.armed[*p as usize] == first).collect();
                if first != NOT_ARMED {
                    prop_assert_eq!(one.step(), wanted);
                    prop_assert_eq!(one.now, first);
                }
            }
        }
    }
}
