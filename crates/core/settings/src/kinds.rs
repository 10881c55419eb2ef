use alloc::string::{String, ToString};

use pullnet_units::{BitsPerSec, Bytes, Packets, ParseError, Picos, QueueSize};

use crate::{Refused, Setting, Value};

macro_rules! quantity {
    ($type:ty, $kind:literal, $example:literal) => {
        impl Setting for $type {
            const KIND: &'static str = $kind;
            fn read(value: Value<'_>) -> Result<Self, Refused> {
                match value {
                    Value::Text(text) => text.parse().map_err(|e: ParseError| Refused(e.to_string())),
                    _ => Err(Refused(
                        concat!("has no unit; write it as text, for instance \"", $example, "\"").to_string(),
                    )),
                }
            }
            fn write(&self) -> String {
                alloc::format!("\"{self}\"")
            }
            fn within(&self, low: &Self, high: &Self) -> bool {
                low <= self && self <= high
            }
        }
    };
}
quantity!(Picos, "time", "1 us");
quantity!(Bytes, "size", "9000 B");
quantity!(BitsPerSec, "rate", "10 Gbps");
quantity!(Packets, "packets", "8 packets");

impl Setting for QueueSize {
    const KIND: &'static str = "queue size";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Text(text) => text.parse().map_err(|e: ParseError| Refused(e.to_string())),
            _ => Err(Refused(
                "has no unit; write it as text, for instance \"8 packets\" or \"12 kB\"".to_string(),
            )),
        }
    }
    fn write(&self) -> String {
        alloc::format!("\"{self}\"")
    }
    fn within(&self, low: &Self, high: &Self) -> bool {
        match (low, self, high) {
            (Self::Packets(low), Self::Packets(this), Self::Packets(high)) => low <= this && this <= high,
            _ => true,
        }
    }
}

impl Setting for bool {
    const KIND: &'static str = "bool";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Bool(value) => Ok(value),
            _ => Err(Refused("is neither true nor false".to_string())),
        }
    }
    fn write(&self) -> String {
        self.to_string()
    }
}

macro_rules! integer {
    ($type:ty, $range:literal) => {
        impl Setting for $type {
            const KIND: &'static str = "integer";
            fn read(value: Value<'_>) -> Result<Self, Refused> {
                let refused = || Refused(concat!("is not a whole number from ", $range).to_string());
                match value {
                    Value::Integer(value) => value.try_into().map_err(|_| refused()),
                    _ => Err(refused()),
                }
            }
            fn write(&self) -> String {
                self.to_string()
            }
            fn within(&self, low: &Self, high: &Self) -> bool {
                low <= self && self <= high
            }
        }
    };
}
integer!(u8, "0 to 255");
integer!(u16, "0 to 65535");
integer!(u32, "0 to 4294967295");
integer!(u64, "0 to 9223372036854775807");

impl Setting for f64 {
    const KIND: &'static str = "number";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Integer(value) => Ok(value as f64),
            Value::Float(value) if value.is_finite() => Ok(value),
            _ => Err(Refused("is not a number".to_string())),
        }
    }
    fn write(&self) -> String {
        alloc::format!("{self:?}")
    }
    fn within(&self, low: &Self, high: &Self) -> bool {
        low <= self && self <= high
    }
}

impl Setting for String {
    const KIND: &'static str = "text";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Text(text) => Ok(text.into()),
            _ => Err(Refused("is not text; write it in quotes".to_string())),
        }
    }
    fn write(&self) -> String {
        quoted(self)
    }
}

/// `text` as a TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&alloc::format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A setting that may be left out: absent where it is, so nothing is written for it.
impl<T: Setting> Setting for Option<T> {
    const KIND: &'static str = T::KIND;
    const CHOICES: &'static [&'static str] = T::CHOICES;
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        match value {
            Value::Text("") => Ok(None),
            value => T::read(value).map(Some),
        }
    }
    fn write(&self) -> String {
        self.as_ref().map(T::write).unwrap_or_default()
    }
    fn within(&self, low: &Self, high: &Self) -> bool {
        match (low, self, high) {
            (Some(low), Some(this), Some(high)) => this.within(low, high),
            _ => true,
        }
    }
}
