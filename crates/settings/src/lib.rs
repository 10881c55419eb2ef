//! Settings described once: name, type, default, range, help and source.
//!
//! [`settings!`] turns one description into a struct, its defaults, its reader and the rows from which help texts,
//! the schema and the resolved scenario are made.
#![no_std]

extern crate alloc;

use alloc::string::{String, ToString};
use core::fmt;

use pullnet_units::{BitsPerSec, Bytes, Packets, ParseError, Picos, QueueSize};

/// A value as a scenario file writes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A string.
    Text(&'a str),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
}

/// Why a value cannot be taken. The text continues a sentence that begins with the value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One row of a settings table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Field {
    /// The key in the file.
    pub name: &'static str,
    /// What kind of value: "time", "size", "rate", "packets", "queue size", "integer", "number", "bool", "choice".
    pub kind: &'static str,
    /// The default as it would be written in a file.
    pub default: &'static str,
    /// Smallest and largest value as they would be written; empty where anything goes.
    pub range: (&'static str, &'static str),
    /// For a choice: what there is to choose from.
    pub choices: &'static [&'static str],
    /// Help, with unit and source.
    pub doc: &'static str,
}

/// A table of settings.
pub trait Settings: Default {
    /// Its rows, in the order in which help shows them.
    const FIELDS: &'static [Field];

    /// Sets the field `name`. `None`: there is no such field.
    fn set(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>>;
    /// The field `name` as it would be written in a file.
    fn get(&self, name: &str) -> Option<String>;
}

/// A type that a setting can have.
pub trait Setting: Sized + Clone {
    /// Name of the kind, for help and schema.
    const KIND: &'static str;
    /// For a choice: the texts.
    const CHOICES: &'static [&'static str] = &[];
    /// Reads a value.
    fn read(value: Value<'_>) -> Result<Self, Refused>;
    /// As it would be written in a file.
    fn write(&self) -> String;
    /// Whether it lies between `low` and `high`, both inclusive. Kinds without an order always do.
    fn within(&self, _low: &Self, _high: &Self) -> bool {
        true
    }
}

macro_rules! quantity {
    ($type:ty, $kind:literal, $example:literal) => {
        impl Setting for $type {
            const KIND: &'static str = $kind;
            fn read(value: Value<'_>) -> Result<Self, Refused> {
                match value {
                    Value::Text(text) => text.parse().map_err(|e: ParseError| Refused(e.to_string())),
                    _ => Err(Refused(concat!("has no unit; write it as text, for instance \"", $example, "\"").to_string())),
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
            _ => Err(Refused("has no unit; write it as text, for instance \"8 packets\" or \"12 kB\"".to_string())),
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

impl Setting for u32 {
    const KIND: &'static str = "integer";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        let refused = || Refused("is not a whole number from 0 to 4294967295".to_string());
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

/// A setting that is one of a few words: an enum and its texts from one description.
///
/// ```
/// pullnet_settings::choice! {
///     /// Who chooses the path of a packet.
///     pub enum Spread {
///         /// Every path once, then reshuffle.
///         Permutation = "permutation",
///         /// Any path, each time.
///         Random = "random",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $crate::Setting for $name {
            const KIND: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($text),+];
            fn read(value: $crate::Value<'_>) -> Result<Self, $crate::Refused> {
                match value {
                    $($crate::Value::Text($text) => Ok(Self::$variant),)+
                    _ => Err($crate::not_a_choice(Self::CHOICES)),
                }
            }
            fn write(&self) -> $crate::__String {
                match self { $(Self::$variant => concat!("\"", $text, "\"").into()),+ }
            }
        }
    };
}

#[doc(hidden)]
pub use alloc::string::String as __String;

/// "is none of ..."; what [`choice!`] says of a text that it does not know.
pub fn not_a_choice(choices: &[&str]) -> Refused {
    Refused(alloc::format!("is none of the choices; use \"{}\"", choices.join("\", \"")))
}

/// "must be between ..."; what [`settings!`] says of a value beyond its range.
pub fn out_of_range(low: &str, high: &str) -> Refused {
    Refused(alloc::format!("is out of range; use {low} to {high}"))
}

/// A struct of settings from one description.
///
/// ```
/// use pullnet_units::{Bytes, Packets};
/// pullnet_settings::settings! {
///     /// A transport's settings.
///     pub struct Config {
///         /// Payload of a full packet.
///         mtu: Bytes = "9000 B" in "64 B" => "60000 B",
///         /// Packets that are pushed before the first pull.
///         initial_window: Packets = "30 packets" in "1 packets" => "1000000 packets",
///         /// Whether bad paths are left out.
///         scoreboard: bool = true,
///     }
/// }
/// assert_eq!(Config::default().initial_window, Packets(30));
/// ```
#[macro_export]
macro_rules! settings {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $field_doc:literal])+ $field:ident : $type:ty = $default:literal $(in $low:literal => $high:literal)?),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name { $($(#[doc = $field_doc])+ pub $field: $type),+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: <$type as $crate::Setting>::read($crate::IntoValue::value($default)).expect("a default can be read")),+ }
            }
        }

        impl $crate::Settings for $name {
            const FIELDS: &'static [$crate::Field] = &[$($crate::Field {
                name: stringify!($field),
                kind: <$type as $crate::Setting>::KIND,
                default: concat!("", $default),
                range: $crate::__range!($($low, $high)?),
                choices: <$type as $crate::Setting>::CHOICES,
                doc: concat!($($field_doc, "\n"),+),
            }),+];

            fn set(&mut self, name: &str, value: $crate::Value<'_>) -> Option<Result<(), $crate::Refused>> {
                $(if name == stringify!($field) {
                    let read = <$type as $crate::Setting>::read(value);
                    $(let read = read.and_then(|value| {
                        let bound = |b| <$type as $crate::Setting>::read($crate::IntoValue::value(b)).expect("a bound can be read");
                        let inside = $crate::Setting::within(&value, &bound($low), &bound($high));
                        if inside { Ok(value) } else { Err($crate::out_of_range(concat!("", $low), concat!("", $high))) }
                    });)?
                    return Some(read.map(|value| self.$field = value));
                })+
                None
            }

            fn get(&self, name: &str) -> Option<$crate::__String> {
                $(if name == stringify!($field) { return Some($crate::Setting::write(&self.$field)); })+
                None
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __range {
    () => {
        ("", "")
    };
    ($low:literal, $high:literal) => {
        (concat!("", $low), concat!("", $high))
    };
}

/// A literal of a settings description as a [`Value`].
pub trait IntoValue {
    /// The value.
    fn value(self) -> Value<'static>;
}

impl IntoValue for &'static str {
    fn value(self) -> Value<'static> {
        Value::Text(self)
    }
}
impl IntoValue for bool {
    fn value(self) -> Value<'static> {
        Value::Bool(self)
    }
}
impl IntoValue for i32 {
    fn value(self) -> Value<'static> {
        Value::Integer(self.into())
    }
}
impl IntoValue for f64 {
    fn value(self) -> Value<'static> {
        Value::Float(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        /// A choice.
        pub enum Colour {
            /// Red.
            Red = "red",
            /// Blue.
            Blue = "blue",
        }
    }

    settings! {
        /// Sample.
        pub struct Sample {
            /// A size.
            mtu: Bytes = "9000 B" in "64 B" => "60000 B",
            /// A colour.
            colour: Colour = "red",
            /// A number.
            ratio: u32 = 10 in 1 => 1000,
            /// A switch.
            on: bool = true,
        }
    }

    #[test]
    fn defaults_reading_and_writing_agree() {
        let mut sample = Sample::default();
        for field in Sample::FIELDS {
            assert_eq!(sample.get(field.name).unwrap().trim_matches('"').replace("9 kB", "9000 B"), field.default);
        }
        assert_eq!(sample.set("mtu", Value::Text("1500 B")), Some(Ok(())));
        assert_eq!(sample.mtu, Bytes(1500));
        assert_eq!(sample.set("size", Value::Text("1500 B")), None);
    }

    #[test]
    fn refusals_say_what_would_work() {
        let mut sample = Sample::default();
        let mut refused = |name, value| sample.set(name, value).unwrap().unwrap_err().0;
        assert_eq!(refused("mtu", Value::Text("1 B")), "is out of range; use 64 B to 60000 B");
        assert_eq!(refused("mtu", Value::Integer(1500)), "has no unit; write it as text, for instance \"9000 B\"");
        assert_eq!(refused("colour", Value::Text("green")), "is none of the choices; use \"red\", \"blue\"");
        assert_eq!(refused("on", Value::Integer(1)), "is neither true nor false");
    }
}
