//! The JSON schema of scenarios (draft 2020-12), for editors.

use std::str::FromStr;

use pullnet_config::{Kind, Shape, SubTable, kind_example};
use pullnet_settings::Field;
use pullnet_units::{BitsPerSec, Bytes, Packets, ParseError, Picos};
use serde_json::{Map, Value, json};

use crate::compile::root_shape;

/// A JSON schema (draft 2020-12) of a scenario file, as editors of TOML understand it.
pub fn schema() -> Value {
    let mut schema = object(&root_shape(), None);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pullnet scenario",
        "description": "A network, its transport and its traffic. Quantities are text with a unit, as \"10 Gbps\".",
    });
    schema["oneOf"] = json!([{ "required": ["duration"] }, { "required": ["until"] }]);
    let (Value::Object(schema_map), Value::Object(head)) = (&mut schema, head) else { return schema };
    schema_map.extend(head);
    schema
}

/// A table. `kind` is what selected this form of it, with the settings that all forms share.
fn object(shape: &Shape, kind: Option<(&Kind, &Shape)>) -> Value {
    if !shape.kinds.is_empty() {
        let forms: Vec<_> = shape.kinds.iter().map(|kind| object(&kind.shape, Some((kind, shape)))).collect();
        return json!({ "type": "object", "oneOf": forms });
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((kind, common)) = kind {
        let word = json!({ "const": kind.name, "description": kind.summary });
        properties.insert("kind".into(), word);
        required.push("kind");
        add_rows(common, &mut properties, &mut required);
    }
    add_rows(shape, &mut properties, &mut required);
    let title = kind.map_or("", |(kind, _)| kind.name);
    let mut out = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    if !title.is_empty() {
        out["title"] = json!(title);
    }
    out
}

fn add_rows(shape: &Shape, properties: &mut Map<String, Value>, required: &mut Vec<&'static str>) {
    for row in shape.fields() {
        properties.insert(row.name.into(), field(row));
        required.extend(row.required.then_some(row.name));
    }
    for row in &shape.tables {
        properties.insert(row.name.into(), table(row));
        required.extend(row.required.then_some(row.name));
    }
}

fn table(row: &SubTable) -> Value {
    let inner = object(&row.shape, None);
    let list = || json!({ "type": "array", "items": inner, "minItems": 1 });
    let mut out = match (row.list, row.either) {
        (true, _) => list(),
        (_, true) => json!({ "type": ["object", "array"], "anyOf": [inner, list()] }),
        _ => inner,
    };
    out["description"] = json!(row.doc);
    out
}

fn field(row: &Field) -> Value {
    let mut out = type_of(row);
    out["description"] = json!(row.help());
    let example = if row.default.is_empty() { kind_example(row.kind) } else { row.default };
    match (row.required, row.default) {
        (false, "") => {}
        (false, default) => out["default"] = literal(row.kind, default),
        (true, _) => out["examples"] = json!([literal(row.kind, example)]),
    }
    out
}

fn type_of(row: &Field) -> Value {
    let bound = |text: &str| text.parse::<f64>().ok();
    match row.kind {
        "choice" => json!({ "enum": row.choices }),
        "bool" => json!({ "type": "boolean" }),
        "integer" | "number" => {
            let mut out = json!({ "type": row.kind });
            if let (Some(low), Some(high)) = (bound(row.range.0), bound(row.range.1)) {
                out["minimum"] = whole(low);
                out["maximum"] = whole(high);
            } else if row.kind == "integer" {
                out["minimum"] = json!(0);
            }
            out
        }
        "flow size" => json!({ "type": "string", "pattern": format!("{}|^endless$", quantity("size")) }),
        "queue size" => {
            json!({ "type": "string", "pattern": format!("{}|{}", quantity("packets"), quantity("size")) })
        }
        kind @ ("time" | "size" | "rate" | "packets") => {
            json!({ "type": "string", "pattern": quantity(kind) })
        }
        "hosts" => json!({ "type": ["string", "integer"] }),
        _ => json!({ "type": "string" }),
    }
}

/// A pattern for a number and a unit.
fn quantity(kind: &str) -> String {
    let (names, others) = match kind {
        "time" => (unit_names::<Picos>(), "µs"),
        "size" => (unit_names::<Bytes>(), "KB"),
        "rate" => (unit_names::<BitsPerSec>(), "[kMG]b/s"),
        _ => (unit_names::<Packets>(), "packet"),
    };
    format!("^\\s*[0-9.][0-9._]*\\s*({}|{others})\\s*$", names.replace(", ", "|"))
}

/// The units of a quantity, as the refusal of a number without one names them.
fn unit_names<Q: FromStr<Err = ParseError>>() -> &'static str {
    match "1".parse::<Q>() {
        Err(ParseError::NoUnit { units, .. }) => units,
        _ => "",
    }
}

/// A bound without a fraction as a whole number.
fn whole(bound: f64) -> Value {
    if bound.fract() == 0.0 && bound.abs() < 1e15 { json!(bound as i64) } else { json!(bound) }
}

fn literal(kind: &str, text: &str) -> Value {
    match kind {
        "integer" | "number" | "bool" => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        _ => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_type_and_description() {
        fn walk(value: &Value, path: &str, leaves: &mut usize) {
            if let Some(Value::Object(properties)) = value.get("properties") {
                for (key, inner) in properties {
                    assert!(inner["description"].is_string(), "{path}.{key}");
                    let is_word = inner.get("const").is_some() || inner.get("enum").is_some();
                    assert!(is_word || inner.get("type").is_some(), "{path}.{key}");
                    *leaves += 1;
                    walk(inner, &format!("{path}.{key}"), leaves);
                    walk(&inner["items"], path, leaves);
                }
            }
            for form in value.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
                walk(form, path, leaves);
            }
        }
        let mut leaves = 0;
        walk(&schema(), "", &mut leaves);
        assert!(leaves > 40, "{leaves}");
    }

    #[test]
    fn quantities_have_their_units() {
        assert_eq!(quantity("time"), "^\\s*[0-9.][0-9._]*\\s*(ps|ns|us|ms|s|µs)\\s*$");
        assert!(quantity("rate").contains("(bps|kbps|Mbps|Gbps|Tbps|"));
        assert!(quantity("packets").contains("(packets|packet)"));
    }

    #[test]
    fn forms_are_told_apart_by_kind() {
        let forms = &schema()["properties"]["topology"]["oneOf"];
        let tree = forms.as_array().unwrap().iter().find(|form| form["title"] == "fat-tree").unwrap();
        assert_eq!(tree["properties"]["kind"]["const"], "fat-tree");
        assert_eq!(tree["properties"]["k"]["maximum"], 128);
        assert_eq!(tree["required"], json!(["kind", "k"]));
        assert_eq!(tree["additionalProperties"], false);
    }
}
