use thiserror::Error;

/// Kind of a packet at a switch, read from its DSCP alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Carries payload: may be trimmed ("trimmable").
    Data,
    /// ACK, NACK, PULL, PROBE, RESET: goes first and is never trimmed.
    Control,
    /// The rest of a data packet that a switch trimmed: forwarded first, and never trimmed again.
    Trimmed,
    /// A trimmed packet that a switch returned to its sender.
    Returned,
}

/// The four DSCP values of a network: each below 64, and all different.
///
/// The defaults are from the pool that RFC 2474 sets aside for local use (`xxxx11`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks([u8; 4]);

/// Error: DSCP values that do not distinguish the marks.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
#[error(
    "DSCP {data}, {control}, {trimmed}, {returned} for data, control, trimmed and returned packets: each must be below 64 and no two alike"
)]
pub struct BadMarks {
    data: u8,
    control: u8,
    trimmed: u8,
    returned: u8,
}

impl Default for Marks {
    fn default() -> Self {
        Self([3, 11, 7, 15])
    }
}

const ORDER: [Mark; 4] = [Mark::Data, Mark::Control, Mark::Trimmed, Mark::Returned];

impl Marks {
    /// DSCP values of data, control, trimmed and returned packets.
    ///
    /// # Errors
    /// If a value is not below 64, or two are the same.
    pub fn new(data: u8, control: u8, trimmed: u8, returned: u8) -> Result<Self, BadMarks> {
        let marks = [data, control, trimmed, returned];
        let alike = (0..4).any(|at| marks[at] > 63 || marks[..at].contains(&marks[at]));
        if alike { Err(BadMarks { data, control, trimmed, returned }) } else { Ok(Self(marks)) }
    }

    /// The DSCP value of `mark`.
    #[must_use]
    pub fn dscp(&self, mark: Mark) -> u8 {
        self.0[mark as usize]
    }

    /// The DSCP value of data of priority `priority`, 0 to 7: its class selector, the high three bits, is the priority, and
    /// the low three bits are those of data without one. `None` if this value has another meaning, or no room for a priority.
    #[must_use]
    pub fn data_of(&self, priority: u8) -> Option<u8> {
        let data = self.dscp(Mark::Data);
        let dscp = if priority == 0 { data } else { data | priority << 3 };
        let free = dscp == data || !self.0.contains(&dscp);
        (priority < 8 && data < 8 && free || priority == 0).then_some(dscp)
    }

    /// Mark of a packet with this DSCP value; `None` for other traffic. Data has one value for each priority
    /// ([`Marks::data_of`]).
    #[must_use]
    pub fn mark(&self, dscp: u8) -> Option<Mark> {
        let data = self.dscp(Mark::Data);
        let known = self.0.iter().position(|known| *known == dscp).map(|at| ORDER[at]);
        known.or((data < 8 && dscp & 7 == data).then_some(Mark::Data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_by_its_value() {
        let marks = Marks::new(10, 46, 11, 12).unwrap();
        for mark in ORDER {
            assert_eq!(marks.mark(marks.dscp(mark)), Some(mark));
        }
        assert_eq!(marks.mark(0), None);
    }

    #[test]
    fn data_has_a_value_for_each_priority_that_no_other_mark_has() {
        let marks = Marks::default();
        let values = [0, 1, 2, 3, 7].map(|priority| marks.data_of(priority));
        assert_eq!(values, [Some(3), None, Some(19), Some(27), Some(59)], "11 is control");
        for priority in 2..8 {
            assert_eq!(marks.data_of(priority).and_then(|dscp| marks.mark(dscp)), Some(Mark::Data));
        }
        assert_eq!(marks.data_of(8), None);
        let high = Marks::new(10, 46, 11, 12).unwrap();
        assert_eq!((high.data_of(0), high.data_of(3)), (Some(10), None), "no room");
        assert_eq!(high.mark(18), None);
    }

    #[test]
    fn values_that_cannot_be_told_apart_are_refused() {
        assert!(Marks::new(1, 2, 3, 1).is_err());
        assert!(Marks::new(1, 2, 3, 64).is_err());
    }
}
