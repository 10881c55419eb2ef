//! The Arrow schema of a table, in the form in which Parquet files carry it: a message of Arrow's format for inter-process
//! communication, in base 64. See `Schema.fbs` and `Message.fbs` of Arrow's format; numbers of fields are in their order.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Vector, WIPOffset};

use pullnet_probes::{Column, Data, Table};

type Builder = FlatBufferBuilder<'static>;
type Offset = WIPOffset<flatbuffers::TableFinishedWIPOffset>;
type List = WIPOffset<Vector<'static, ForwardsUOffset<flatbuffers::Table<'static>>>>;

/// `MetadataVersion.V5`.
const VERSION: i16 = 4;
/// `MessageHeader.Schema`.
const SCHEMA: u8 = 1;
/// `Precision.DOUBLE`.
const DOUBLE: i16 = 2;

/// Members of the union `Type`.
#[derive(Clone, Copy)]
enum Type {
    Int = 2,
    FloatingPoint = 3,
    Utf8 = 5,
    Bool = 6,
}

/// Place of the `number`-th field in the table of fields of a flatbuffer.
const fn slot(number: u16) -> u16 {
    4 + 2 * number
}

/// The schema of `table`.
pub fn schema(table: &Table) -> String {
    let mut b = Builder::new();
    let fields: Vec<_> = table.columns.iter().map(|column| field(&mut b, column)).collect();
    let fields = list(&mut b, &fields);
    let about = pairs(&mut b, &[("doc", table.doc)]);
    let start = b.start_table();
    b.push_slot_always(slot(1), fields);
    b.push_slot_always(slot(2), about);
    let schema = b.end_table(start);
    let start = b.start_table();
    b.push_slot_always(slot(0), VERSION);
    b.push_slot_always(slot(1), SCHEMA);
    b.push_slot_always(slot(2), schema);
    let message = b.end_table(start);
    b.finish(message, None);
    encapsulated(b.finished_data())
}

/// A message behind the mark of a message and its length, filled up to a multiple of 8 bytes.
fn encapsulated(message: &[u8]) -> String {
    let padded = message.len().next_multiple_of(8);
    let mut bytes = u32::MAX.to_le_bytes().to_vec();
    bytes.extend((padded as u32).to_le_bytes());
    bytes.extend(message);
    bytes.resize(8 + padded, 0);
    STANDARD.encode(bytes)
}

/// `Field`.
fn field(b: &mut Builder, column: &Column) -> Offset {
    let name = b.create_string(column.name);
    let (kind, of) = type_of(b, &column.data);
    let children = list(b, &[]);
    let about = pairs(b, &[("unit", column.unit), ("doc", column.doc)]);
    let start = b.start_table();
    b.push_slot_always(slot(0), name);
    b.push_slot_always(slot(1), true);
    b.push_slot_always(slot(2), kind as u8);
    b.push_slot_always(slot(3), of);
    b.push_slot_always(slot(5), children);
    b.push_slot_always(slot(6), about);
    b.end_table(start)
}

fn type_of(b: &mut Builder, data: &Data) -> (Type, Offset) {
    let start = b.start_table();
    let mut integer = |bits: i32, signed: bool| {
        b.push_slot_always(slot(0), bits);
        b.push_slot_always(slot(1), signed);
        Type::Int
    };
    let kind = match data {
        Data::U32(_) => integer(32, false),
        Data::I64(_) => integer(64, true),
        Data::F64(_) => {
            b.push_slot_always(slot(0), DOUBLE);
            Type::FloatingPoint
        }
        Data::Bool(_) => Type::Bool,
        Data::Text { .. } => Type::Utf8,
    };
    (kind, b.end_table(start))
}

/// `[KeyValue]`.
fn pairs(b: &mut Builder, pairs: &[(&str, &str)]) -> List {
    let pair = |b: &mut Builder, (key, value): (&str, &str)| {
        let (key, value) = (b.create_string(key), b.create_string(value));
        let start = b.start_table();
        b.push_slot_always(slot(0), key);
        b.push_slot_always(slot(1), value);
        b.end_table(start)
    };
    let found: Vec<_> = pairs.iter().map(|given| pair(b, *given)).collect();
    list(b, &found)
}

fn list(b: &mut Builder, items: &[Offset]) -> List {
    let tables: Vec<_> =
        items.iter().map(|item| WIPOffset::<flatbuffers::Table<'static>>::new(item.value())).collect();
    WIPOffset::new(b.create_vector(&tables).value())
}
