//! Every table of settings that a scenario may name: its bounds are values that can be written.

use pullnet_protocols::PROTOCOLS;
use pullnet_qdisc::SWITCHES;
use pullnet_settings::{Field, Refused, Value};
use pullnet_workload::PATTERNS;

/// Sets every field of a table to both of its bounds: each is read, and lies inside.
fn check(table: &str, fields: &[Field], mut set: impl FnMut(&str, Value<'_>) -> Option<Result<(), Refused>>) {
    for field in fields {
        for bound in [field.range.0, field.range.1].into_iter().filter(|bound| !bound.is_empty()) {
            let value = match (bound.parse::<i64>(), bound.parse::<f64>()) {
                (Ok(number), _) => Value::Integer(number),
                (_, Ok(number)) => Value::Float(number),
                _ => Value::Text(bound),
            };
            assert_eq!(set(field.name, value), Some(Ok(())), "{table}: {} = {bound}", field.name);
        }
    }
}

#[test]
fn every_bound_is_a_value() {
    for row in PROTOCOLS {
        let mut config = (row.default)();
        check(row.name, row.fields, |name, value| config.set(name, value));
    }
    for row in SWITCHES {
        let mut config = (row.default)();
        check(row.name, row.fields, |name, value| config.set(name, value));
    }
    for pattern in PATTERNS {
        let mut pattern = pattern();
        let fields = pattern.fields();
        check(pattern.name(), fields, |name, value| pattern.set_field(name, value));
    }
}
