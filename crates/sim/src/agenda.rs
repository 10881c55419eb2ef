/// Windows that are kept apart; what is due later is looked at again before.
const HORIZON: u64 = 64;

/// Which processes have to be visited in which window: one bit each, cyclic.
#[derive(Clone, Debug)]
pub struct Agenda {
    words: usize,
    bits: Vec<u64>,
}

/// A process that is not to be visited.
pub const NOT_ARMED: u64 = u64::MAX;

impl Agenda {
    /// For `processes` processes.
    pub fn new(processes: usize) -> Self {
        let words = processes.div_ceil(64);
        Self { words, bits: vec![0; words * HORIZON as usize] }
    }

    fn place(&self, process: u32, window: u64) -> (usize, u64) {
        let row = (window % HORIZON) as usize * self.words;
        (row + process as usize / 64, 1 << (process % 64))
    }

    /// Makes `window` the one in which `process` is visited next, or the last one before the horizon. `armed` is what
    /// it was armed for before, and is updated. `now` is the current window.
    #[inline]
    pub fn arm(&mut self, armed: &mut u64, process: u32, window: u64, now: u64) {
        let window = window.min(now + HORIZON - 1);
        if *armed == window {
            return;
        }
        if *armed != NOT_ARMED {
            let (word, bit) = self.place(process, *armed);
            self.bits[word] &= !bit;
        }
        let (word, bit) = self.place(process, window);
        self.bits[word] |= bit;
        *armed = window;
    }

    /// Appends the processes of `window`, ascending, and forgets them.
    pub fn take(&mut self, window: u64, due: &mut Vec<u32>) {
        let row = (window % HORIZON) as usize * self.words;
        for (word, bits) in (0u32..).zip(&mut self.bits[row..row + self.words]) {
            let mut bits = core::mem::take(bits);
            while bits != 0 {
                due.push(word * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// The earliest window from `window` on that has a process; beyond the horizon if none has.
    pub fn next_busy(&self, window: u64) -> u64 {
        let busy = |window: &u64| {
            let row = (window % HORIZON) as usize * self.words;
            self.bits[row..row + self.words].iter().any(|bits| *bits != 0)
        };
        (window..window + HORIZON).find(busy).unwrap_or(window + HORIZON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_visited_in_the_window_that_it_was_armed_for_last() {
        let mut agenda = Agenda::new(200);
        let mut armed = [NOT_ARMED; 200];
        let mut arm = |agenda: &mut Agenda, process: u32, window| {
            agenda.arm(&mut armed[process as usize], process, window, 0)
        };
        arm(&mut agenda, 3, 9);
        arm(&mut agenda, 130, 9);
        arm(&mut agenda, 3, 5);
        arm(&mut agenda, 70, 500);
        let mut visited = |window| {
            let mut due = Vec::new();
            agenda.take(window, &mut due);
            due
        };
        assert_eq!(visited(5), [3]);
        assert_eq!(visited(9), [130]);
        assert_eq!(visited(63), [70]);
        assert_eq!(visited(5), [0u32; 0]);
    }
}
