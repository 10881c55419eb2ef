//! Descriptions and examples of value types, for messages.

use pullnet_settings::{Field, Value};

/// Adds the range or an example to a reason without a remedy.
pub(crate) fn with_remedy(reason: String, field: &Field, value: Value<'_>) -> String {
    let (low, high) = field.range;
    if matches!(value, Value::Integer(_)) && field.kind == "integer" && !low.is_empty() {
        format!("is out of range; use {low} to {high}")
    } else if reason.contains(';') {
        reason
    } else {
        format!("{reason}; write for instance {}", example(field))
    }
}

/// `key = value` for an error message.
pub(crate) fn example(field: &Field) -> String {
    let quoted = !matches!(field.kind, "integer" | "number" | "bool");
    let value = match (field.default, field.choices) {
        ("", [first, ..]) => first,
        ("", []) => kind_example(field.kind),
        (default, _) => default,
    };
    if quoted { format!("{} = \"{value}\"", field.name) } else { format!("{} = {value}", field.name) }
}

/// An example value of `kind`, for messages and the schema.
pub fn kind_example(kind: &str) -> &'static str {
    match kind {
        "time" => "1 us",
        "size" => "9000 B",
        "rate" => "10 Gbps",
        "packets" | "queue size" => "8 packets",
        "integer" => "1",
        "number" => "0.5",
        "bool" => "true",
        "flow size" => "90 kB",
        _ => "...",
    }
}

pub(crate) fn kind_in_words(field: &Field) -> &'static str {
    match field.kind {
        "time" => "a time",
        "size" => "a size",
        "flow size" => "a size or \"endless\"",
        "rate" => "a rate",
        "packets" => "a number of packets",
        "queue size" => "a number of packets or a size",
        "integer" => "a whole number below 2^63",
        "number" => "a number",
        "bool" => "true or false",
        _ => "text",
    }
}
