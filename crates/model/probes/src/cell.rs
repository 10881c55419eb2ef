//! Rows whose fields are columns.

use pullnet_units::{FlowId, HostId, Instant, PacketSeq, Picos};

use crate::table::{Builder, Label};

/// A value that has a column of its own kind: numbers and names as they are, times in picoseconds.
pub trait Cell: Sized {
    /// Adds the column `label` with the value `of` of each row.
    fn column<'a, R>(builder: Builder<'a, R>, label: Label, of: impl Fn(&R) -> Self) -> Builder<'a, R>;
}

macro_rules! cells {
    ($($type:ty: $add:ident, $value:ident => $cell:expr;)+) => {$(
        impl Cell for $type {
            fn column<'a, R>(builder: Builder<'a, R>, label: Label, of: impl Fn(&R) -> Self) -> Builder<'a, R> {
                builder.$add(label, |row| { let $value = of(row); $cell })
            }
        }
    )+};
}

cells! {
    bool: flag, value => value;
    u8: id, value => value.into();
    u16: id, value => value.into();
    u32: id, value => value;
    u64: count, value => value;
    f64: ratio, value => value;
    FlowId: id, value => value.get();
    HostId: id, value => value.get();
    PacketSeq: id, value => value.get();
    Instant: count, value => value.0;
    Picos: count, value => value.0;
    Option<bool>: maybe_flag, value => value;
    Option<u32>: maybe_id, value => value;
    Option<FlowId>: maybe_id, value => value.map(FlowId::get);
    Option<PacketSeq>: maybe_id, value => value.map(PacketSeq::get);
    Option<u64>: maybe_count, value => value;
    Option<f64>: maybe_ratio, value => value;
    Option<Instant>: maybe_count, value => value.map(|at| at.0);
    Option<Picos>: maybe_count, value => value.map(|time| time.0);
}

impl Cell for &'static str {
    fn column<'a, R>(builder: Builder<'a, R>, label: Label, of: impl Fn(&R) -> Self) -> Builder<'a, R> {
        builder.text(label, |row| of(row))
    }
}

/// A row of a table, described once: the struct with its fields, and for each field the name of its column and, in
/// brackets, its unit. The comment of a field is the meaning of its column.
///
/// The columns are added by the function `columns` of the struct.
macro_rules! rows {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty = $column:literal $([$unit:literal])?),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $name { $($(#[doc = $field_doc])+ pub $field: $type),+ }

        impl $name {
            /// Adds a column for each field; `of` finds the row.
            pub(crate) fn columns<'a, R>(
                builder: $crate::table::Builder<'a, R>,
                of: impl Fn(&R) -> &Self,
            ) -> $crate::table::Builder<'a, R> {
                $(let builder = {
                    let label = [$column, concat!("", $($unit)?), concat!($($field_doc),+).trim_ascii()];
                    <$type as $crate::cell::Cell>::column(builder, label, |row| of(row).$field)
                };)+
                builder
            }
        }
    };
}
pub(crate) use rows;
