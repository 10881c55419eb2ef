//! Settings described once: name, type, default, range, help and source.
//!
//! [`settings!`] turns one description into a struct, its defaults, its reader and the rows from which help texts,
//! the schema and the resolved scenario are made.
#![no_std]

extern crate alloc;

use alloc::string::String;
use core::fmt;

mod kinds;

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
    /// What kind of value: "text", "time", "size", "rate", "packets", "queue size", "integer", "number", "bool", "choice".
    pub kind: &'static str,
    /// The default as it would be written in a file, text without its quotes; empty where there is none.
    pub default: &'static str,
    /// Smallest and largest value as they would be written; empty where anything goes.
    pub range: (&'static str, &'static str),
    /// For a choice: what there is to choose from.
    pub choices: &'static [&'static str],
    /// Help, with unit and source, in lines as it was written ([`Field::help`] is one line).
    pub doc: &'static str,
    /// Whether a file has to state it; `default` is then an example only.
    pub required: bool,
    /// When it has no effect, if another setting of the table can make it so.
    pub unused: Option<Unused>,
}

impl Field {
    /// Help in one line, with what makes the setting have no effect.
    pub fn help(&self) -> String {
        let mut help = String::new();
        for word in self.doc.split_whitespace() {
            help += if help.is_empty() { "" } else { " " };
            help += word;
        }
        if let Some(by) = self.unused {
            help += &match (by.equal, by.value) {
                (true, "") => alloc::format!(" Without effect unless `{}` is set.", by.setting),
                (false, "") => alloc::format!(" Without effect where `{}` is set.", by.setting),
                (true, value) => alloc::format!(" Without effect where `{}` is `{value}`.", by.setting),
                (false, value) => alloc::format!(" Without effect unless `{}` is `{value}`.", by.setting),
            };
        }
        help
    }
}

/// Values of another setting of the same table for which a setting has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unused {
    /// The key of the other setting.
    pub setting: &'static str,
    /// The value as it would be written, text without its quotes; empty for a setting that is left out.
    pub value: &'static str,
    /// Whether this value makes it so; otherwise all others do.
    pub equal: bool,
}

impl Unused {
    /// True if `value` of the other setting leaves this one without effect.
    pub fn holds(&self, value: &str) -> bool {
        (value == self.value) == self.equal
    }
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

/// A table of settings whose type is known only at run time: what a registry chose by name.
pub trait AnySettings {
    /// Its rows, as [`Settings::FIELDS`].
    fn fields(&self) -> &'static [Field];
    /// As [`Settings::set`].
    fn set_field(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>>;
    /// As [`Settings::get`].
    fn get_field(&self, name: &str) -> Option<String>;
}

impl<S: Settings> AnySettings for S {
    fn fields(&self) -> &'static [Field] {
        S::FIELDS
    }
    fn set_field(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>> {
        self.set(name, value)
    }
    fn get_field(&self, name: &str) -> Option<String> {
        self.get(name)
    }
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
/// A field of type `Option<T>` with the default `""` may be left out. A field marked `; required` has to be stated;
/// its literal is then an example, and stands in the struct until the field is set. `unused if other == value` states that a
/// setting has no effect for a value of another one, or for all others (`!=`); who sets it then is told. Settings that several structs share are a
/// struct of their own, which each of them ends with: `} with name: Shared`. In a file its settings stand beside the others.
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
///         /// Packets after which a path is judged.
///         judged_after: u32 = 16 in 1 => 1000 unused if scoreboard == false,
///     }
/// }
/// assert_eq!(Config::default().initial_window, Packets(30));
/// ```
#[macro_export]
macro_rules! settings {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $field_doc:literal])+ $field:ident : $type:ty = $default:literal $(in $low:literal => $high:literal)?
            $(unused if $other:ident $is:tt $value:literal)? $(; $required:ident)?),+ $(,)?
    } $(with $(#[$more_doc:meta])* $more:ident : $table:ty)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name { $($(#[doc = $field_doc])+ pub $field: $type,)+ $($(#[$more_doc])* pub $more: $table)? }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: <$type as $crate::Setting>::read($crate::IntoValue::value($default)).expect("a default can be read"),)+
                    $($more: Default::default())?
                }
            }
        }

        impl $crate::Settings for $name {
            const FIELDS: &'static [$crate::Field] = $crate::__fields!([$($crate::Field {
                name: stringify!($field),
                kind: <$type as $crate::Setting>::KIND,
                default: concat!("", $default),
                range: $crate::__range!($($low, $high)?),
                choices: <$type as $crate::Setting>::CHOICES,
                doc: concat!($($field_doc, "\n"),+),
                required: $crate::__required!($($required)?),
                unused: $crate::__unused!($($other $is $value)?),
            }),+] $(, $table)?);

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
                None$(.or_else(|| $crate::Settings::set(&mut self.$more, name, value)))?
            }

            fn get(&self, name: &str) -> Option<$crate::__String> {
                $(if name == stringify!($field) { return Some($crate::Setting::write(&self.$field)); })+
                None$(.or_else(|| $crate::Settings::get(&self.$more, name)))?
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ([$($own:tt)*]) => {
        &[$($own)*]
    };
    ([$($own:tt)*], $table:ty) => {{
        const OWN: &[$crate::Field] = &[$($own)*];
        const MORE: &[$crate::Field] = <$table as $crate::Settings>::FIELDS;
        const ALL: [$crate::Field; OWN.len() + MORE.len()] = $crate::joined(OWN, MORE);
        &ALL
    }};
}

/// The rows of two tables in one. `N` is the sum of their lengths.
#[doc(hidden)]
pub const fn joined<const N: usize>(first: &[Field], second: &[Field]) -> [Field; N] {
    let mut all = [first[0]; N];
    let mut at = 1;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
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

#[doc(hidden)]
#[macro_export]
macro_rules! __required {
    () => {
        false
    };
    (required) => {
        true
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __unused {
    () => {
        None
    };
    ($other:ident == $value:literal) => {
        Some($crate::Unused { setting: stringify!($other), value: concat!("", $value), equal: true })
    };
    ($other:ident != $value:literal) => {
        Some($crate::Unused { setting: stringify!($other), value: concat!("", $value), equal: false })
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
    use pullnet_units::{Bytes, Picos};

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
            /// May be left out.
            limit: Option<Picos> = "" in "1 ns" => "1 s",
            /// Has to be stated.
            label: String = "web"; required,
        }
    }

    #[test]
    fn defaults_reading_and_writing_agree() {
        let mut sample = Sample::default();
        for field in Sample::FIELDS {
            assert_eq!(
                sample.get(field.name).unwrap().trim_matches('"').replace("9 kB", "9000 B"),
                field.default
            );
        }
        assert_eq!(sample.set("mtu", Value::Text("1500 B")), Some(Ok(())));
        assert_eq!(sample.mtu, Bytes(1500));
        assert_eq!(sample.set("size", Value::Text("1500 B")), None);
    }

    settings! {
        /// One that ends with the settings of another.
        pub struct Longer {
            /// A number of its own.
            count: u32 = 3,
        } with
        /// The others.
        sample: Sample
    }

    #[test]
    fn shared_settings_stand_beside_the_others() {
        let names: alloc::vec::Vec<_> = Longer::FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(names, ["count", "mtu", "colour", "ratio", "on", "limit", "label"]);
        let mut longer = Longer::default();
        assert_eq!(longer.set("count", Value::Integer(4)), Some(Ok(())));
        assert_eq!(longer.set("ratio", Value::Integer(20)), Some(Ok(())));
        assert!(longer.set("ratio", Value::Integer(0)).unwrap().is_err());
        assert_eq!((longer.count, longer.sample.ratio), (4, 20));
        assert_eq!((longer.get("ratio").unwrap().as_str(), longer.get("size")), ("20", None));
    }

    #[test]
    fn what_may_be_left_out_and_what_may_not() {
        let mut sample = Sample::default();
        assert_eq!((sample.limit, sample.get("limit").unwrap().as_str()), (None, ""));
        assert_eq!(sample.set("limit", Value::Text("2 us")), Some(Ok(())));
        assert_eq!(sample.get("limit").unwrap(), "\"2 us\"");
        assert_eq!(
            sample.set("limit", Value::Text("2 s")).unwrap().unwrap_err().0,
            "is out of range; use 1 ns to 1 s"
        );
        let required: alloc::vec::Vec<_> =
            Sample::FIELDS.iter().filter(|f| f.required).map(|f| f.name).collect();
        assert_eq!(required, ["label"]);
        assert_eq!(sample.set("label", Value::Text("a\"b\n")), Some(Ok(())));
        assert_eq!(sample.get("label").unwrap(), r#""a\"b\n""#);
    }

    #[test]
    fn refusals_say_what_would_work() {
        let mut sample = Sample::default();
        let mut refused = |name, value| sample.set(name, value).unwrap().unwrap_err().0;
        assert_eq!(refused("mtu", Value::Text("1 B")), "is out of range; use 64 B to 60000 B");
        assert_eq!(
            refused("mtu", Value::Integer(1500)),
            "has no unit; write it as text, for instance \"9000 B\""
        );
        assert_eq!(refused("colour", Value::Text("green")), "is none of the choices; use \"red\", \"blue\"");
        assert_eq!(refused("on", Value::Integer(1)), "is neither true nor false");
    }
}
