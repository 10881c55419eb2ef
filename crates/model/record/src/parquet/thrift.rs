//! Structs in Thrift's compact protocol, as far as Parquet's metadata needs it.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct under construction. Fields are added in the order of their numbers.
#[derive(Default)]
pub struct Struct {
    bytes: Vec<u8>,
    latest: u8,
}

impl Struct {
    /// The bytes of the struct.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// Numbers of fields are stored as steps, which are below 16 in Parquet.
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.latest) << 4 | kind);
        self.latest = number;
    }

    pub fn flag(&mut self, number: u8, value: bool) {
        self.field(number, if value { TRUE } else { FALSE });
    }

    pub fn i8(&mut self, number: u8, value: u8) {
        self.field(number, BYTE);
        self.bytes.push(value);
    }

    pub fn i32(&mut self, number: u8, value: i64) {
        self.field(number, I32);
        zigzag(&mut self.bytes, value);
    }

    pub fn i64(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        zigzag(&mut self.bytes, value);
    }

    pub fn text(&mut self, number: u8, value: &str) {
        self.field(number, BINARY);
        binary(&mut self.bytes, value);
    }

    pub fn nested(&mut self, number: u8, value: Self) {
        self.field(number, STRUCT);
        self.bytes.extend(value.finish());
    }

    /// A list of structs that are finished.
    pub fn list(&mut self, number: u8, items: impl Iterator<Item = Vec<u8>>) {
        let items: Vec<_> = items.collect();
        self.begin_list(number, items.len(), STRUCT);
        items.iter().for_each(|item| self.bytes.extend(item));
    }

    pub fn numbers(&mut self, number: u8, items: &[i64]) {
        self.begin_list(number, items.len(), I32);
        items.iter().for_each(|item| zigzag(&mut self.bytes, *item));
    }

    pub fn texts(&mut self, number: u8, items: &[&str]) {
        self.begin_list(number, items.len(), BINARY);
        items.iter().for_each(|item| binary(&mut self.bytes, item));
    }

    fn begin_list(&mut self, number: u8, length: usize, kind: u8) {
        self.field(number, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }
}

/// Seven bits per byte, the lowest first.
pub fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, (value << 1 ^ value >> 63) as u64);
}

fn binary(bytes: &mut Vec<u8>, value: &str) {
    varint(bytes, value.len() as u64);
    bytes.extend(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_bytes_of_the_specification() {
        let encoded = |value| {
            let mut bytes = Vec::new();
            zigzag(&mut bytes, value);
            bytes
        };
        assert_eq!([encoded(0), encoded(-1), encoded(1), encoded(-2)], [[0], [1], [2], [3]]);
        assert_eq!(encoded(150), [0xac, 0x02]);
        assert_eq!(encoded(i64::MIN).len(), 10);
    }

    #[test]
    fn long_lists_state_their_length_apart() {
        let list = |length: usize| {
            let mut s = Struct::default();
            s.numbers(1, &vec![0; length]);
            s.finish()
        };
        assert_eq!(list(2), [0x19, 0x25, 0, 0, 0]);
        assert_eq!(list(15)[..3], [0x19, 0xf5, 15]);
    }
}
