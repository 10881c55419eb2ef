use core::fmt;
use core::str::FromStr;

use crate::quantity::{BitsPerSec, Bytes, Packets, Picos};

/// Why a text is not a quantity. The message says what would be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// No number at the start.
    NotANumber {
        /// What the text was read as.
        wanted: &'static str,
        /// A text that would work.
        example: &'static str,
    },
    /// A number without a unit.
    NoUnit {
        /// Units that would work.
        units: &'static str,
        /// A text that would work.
        example: &'static str,
    },
    /// A unit that is not one of this quantity.
    WrongUnit {
        /// Units that would work.
        units: &'static str,
        /// A text that would work.
        example: &'static str,
    },
    /// Negative, or too large or too fine for the type.
    OutOfRange {
        /// The smallest and largest value, in words.
        range: &'static str,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { wanted, example } => {
                write!(f, "is not {wanted}; write for instance \"{example}\"")
            }
            Self::NoUnit { units, example } => {
                write!(f, "has no unit; use one of {units}, for instance \"{example}\"")
            }
            Self::WrongUnit { units, example } => {
                write!(f, "has a wrong unit; use one of {units}, for instance \"{example}\"")
            }
            Self::OutOfRange { range } => write!(f, "is out of range; {range}"),
        }
    }
}

impl core::error::Error for ParseError {}

/// One kind of quantity: its units as `(name, factor to the base unit)`.
struct Kind {
    wanted: &'static str,
    example: &'static str,
    names: &'static str,
    units: &'static [(&'static str, u128)],
    range: &'static str,
}

const TIME: Kind = Kind {
    wanted: "a time",
    example: "1 us",
    names: "ps, ns, us, ms, s",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
    range: "a time is a whole number of picoseconds, from 0 ps to 213 days",
};
const SIZE: Kind = Kind {
    wanted: "a size",
    example: "9000 B",
    names: "B, kB, MB, GB, TB, KiB, MiB, GiB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    range: "a size is a whole number of bytes below 2^63",
};
const RATE: Kind = Kind {
    wanted: "a rate",
    example: "10 Gbps",
    names: "bps, kbps, Mbps, Gbps, Tbps",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
    ],
    range: "a rate is a whole number of bits per second, from 1 kbps to 1000 Tbps",
};
const COUNT: Kind = Kind {
    wanted: "a number of packets",
    example: "8 packets",
    names: "packets",
    units: &[("packets", 1), ("packet", 1)],
    range: "a number of packets is a whole number below 2^32",
};

/// Splits `text` into number and unit and returns the value in base units, exactly.
fn parse(text: &str, kind: &Kind) -> Result<u64, ParseError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    if text.starts_with('-') {
        return Err(ParseError::OutOfRange { range: kind.range });
    }
    let not_a_number = ParseError::NotANumber { wanted: kind.wanted, example: kind.example };
    if number.is_empty() {
        return Err(not_a_number);
    }
    if unit.is_empty() {
        return Err(ParseError::NoUnit { units: kind.names, example: kind.example });
    }
    let factor = kind.units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let factor = factor.ok_or(ParseError::WrongUnit { units: kind.names, example: kind.example })?;
    let out_of_range = ParseError::OutOfRange { range: kind.range };
    decimal(number, factor).ok_or(not_a_number)?.and_then(|v| u64::try_from(v).ok()).ok_or(out_of_range)
}

/// `number * factor` as an integer. `None`: not a decimal number; `Some(None)`: no whole number, or too large.
fn decimal(number: &str, factor: u128) -> Option<Option<u128>> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().filter(|b| *b != b'_').all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let mut value = 0u128;
    let mut scale = 1u128;
    for (digit, after_point) in whole.bytes().map(|b| (b, false)).chain(fraction.bytes().map(|b| (b, true))) {
        if digit == b'_' {
            continue;
        }
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u128::from(digit - b'0')));
        let wider = if after_point { scale.checked_mul(10) } else { Some(scale) };
        let (Some(next), Some(wider)) = (next, wider) else { return Some(None) };
        (value, scale) = (next, wider);
    }
    Some(value.checked_mul(factor).filter(|v| v % scale == 0).map(|v| v / scale))
}

impl FromStr for Picos {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text, &TIME).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = parse(text, &SIZE)?;
        if bytes >= 1 << 63 { Err(ParseError::OutOfRange { range: SIZE.range }) } else { Ok(Self(bytes)) }
    }
}

impl FromStr for BitsPerSec {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bps = parse(text, &RATE)?;
        let in_range = (1_000..=1_000_000_000_000_000).contains(&bps);
        Self::new(bps).filter(|_| in_range).ok_or(ParseError::OutOfRange { range: RATE.range })
    }
}

impl FromStr for Packets {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        u32::try_from(parse(text, &COUNT)?)
            .map(Self)
            .map_err(|_| ParseError::OutOfRange { range: COUNT.range })
    }
}

/// The capacity of a queue, in full-size packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueSize {
    /// That many packets of full size; smaller packets count by their number.
    Packets(Packets),
    /// That many bytes on the wire.
    Bytes(Bytes),
}

impl FromStr for QueueSize {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.contains("packet") { text.parse().map(Self::Packets) } else { text.parse().map(Self::Bytes) }
    }
}

/// Writes `value` with the largest unit that leaves it a whole number.
fn write_exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, factor): &&(&str, u64)| value.is_multiple_of(*factor) && value >= *factor;
    let (unit, factor) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    write!(f, "{} {unit}", value / factor)
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
        write_exact(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_exact(f, self.0, &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)])
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("bps", 1),
            ("kbps", 1_000),
            ("Mbps", 1_000_000),
            ("Gbps", 1_000_000_000),
            ("Tbps", 1_000_000_000_000),
        ];
        write_exact(f, self.get(), &units)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.0)
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => packets.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn text_and_value_agree() {
        assert_eq!("1 us".parse(), Ok(Picos(1_000_000)));
        assert_eq!("7.25us".parse(), Ok(Picos(7_250_000)));
        assert_eq!("90 kB".parse(), Ok(Bytes(90_000)));
        assert_eq!("2.5 Gbps".parse(), Ok(BitsPerSec::new(2_500_000_000).unwrap()));
        assert_eq!("8 packets".parse(), Ok(QueueSize::Packets(Packets(8))));
        assert_eq!("12 kB".parse(), Ok(QueueSize::Bytes(Bytes(12_000))));
        for text in ["20 ms", "1 us", "1500 ns"] {
            assert_eq!(text.parse::<Picos>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_what_would_work() {
        let message = |text: &str| text.parse::<BitsPerSec>().unwrap_err().to_string();
        assert_eq!(
            message("10"),
            "has no unit; use one of bps, kbps, Mbps, Gbps, Tbps, for instance \"10 Gbps\""
        );
        assert_eq!(
            message("10 us"),
            "has a wrong unit; use one of bps, kbps, Mbps, Gbps, Tbps, for instance \"10 Gbps\""
        );
        assert_eq!(message("fast"), "is not a rate; write for instance \"10 Gbps\"");
        assert!(message("0 Gbps").starts_with("is out of range"));
        assert!("0.5 ps".parse::<Picos>().is_err());
        assert!("9223372036854775808 B".parse::<Bytes>().is_err());
        assert!("99999999999999999999999999999999999999999 B".parse::<Bytes>().is_err());
    }
}
