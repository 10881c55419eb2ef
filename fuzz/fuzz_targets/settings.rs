//! Arbitrary values of any setting are accepted or rejected; an accepted value can be formatted and parsed again.
//!
//! The input is a line with the number of the table and of the field, then the value as a scenario writes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_fuzz::first_line;
use pullnet_protocols::{PROTOCOLS, ProtocolConfig};
use pullnet_qdisc::{SWITCHES, SwitchConfig};
use pullnet_settings::{Field, Refused, Value};
use pullnet_workload::{PATTERNS, Pattern};

/// Settings from any registry.
enum AnySettings {
    Protocol(ProtocolConfig),
    Switch(SwitchConfig),
    Traffic(Box<dyn Pattern>),
}

impl AnySettings {
    /// Table number `index` of all registries, with its rows.
    fn nth(index: usize) -> (Self, &'static [Field]) {
        let index = index % (PROTOCOLS.len() + SWITCHES.len() + PATTERNS.len());
        if let Some(row) = PROTOCOLS.get(index) {
            return (Self::Protocol((row.default)()), row.fields);
        }
        let index = index - PROTOCOLS.len();
        if let Some(row) = SWITCHES.get(index) {
            return (Self::Switch((row.default)()), row.fields);
        }
        let pattern = PATTERNS[index - SWITCHES.len()]();
        let fields = pattern.fields();
        (Self::Traffic(pattern), fields)
    }

    fn set(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>> {
        match self {
            Self::Protocol(config) => config.set(name, value),
            Self::Switch(config) => config.set(name, value),
            Self::Traffic(pattern) => pattern.set_field(name, value),
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        match self {
            Self::Protocol(config) => config.get(name),
            Self::Switch(config) => config.get(name),
            Self::Traffic(pattern) => pattern.get_field(name),
        }
    }
}

/// Sets `name` to the TOML value `written`. `None`: not a value.
fn set(table: &mut AnySettings, name: &str, written: &str) -> Option<Result<(), Refused>> {
    let document = format!("x = {written}").parse::<toml::Table>().ok()?;
    let value = match document.get("x")? {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => Value::Integer(*number),
        toml::Value::Float(number) => Value::Float(*number),
        toml::Value::Boolean(value) => Value::Bool(*value),
        _ => return None,
    };
    table.set(name, value)
}

fuzz_target!(|input: &str| {
    let (place, value) = first_line(input);
    let mut place = place.split_whitespace().map(|word| word.parse::<u16>().unwrap_or(0).into());
    let (table, field): (usize, usize) = (place.next().unwrap_or(0), place.next().unwrap_or(0));
    let (mut table, fields) = AnySettings::nth(table);
    let Some(field) = fields.get(field % fields.len().max(1)) else { return };
    if let Some(Ok(())) = set(&mut table, field.name, value) {
        let written = table.get(field.name).expect("the field is there");
        if !written.is_empty() {
            assert_eq!(set(&mut table, field.name, &written), Some(Ok(())), "{} = {written}", field.name);
            assert_eq!(table.get(field.name), Some(written));
        }
    }
});
