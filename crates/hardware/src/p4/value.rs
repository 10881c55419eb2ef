//! Values, and the operators on them.

use super::WrongProgram;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Bits; a literal without a width has none.
    Bits(u128, Option<u32>),
    /// `true` or `false`.
    Bool(bool),
    /// A `varbit`, in whole bytes.
    Bytes(Vec<u8>),
}

/// The low `width` bits of `value`.
pub fn masked(value: u128, width: u32) -> u128 {
    if width >= 128 { value } else { value & ((1 << width) - 1) }
}

impl Value {
    pub fn bits(&self, line: u32) -> Result<u128, WrongProgram> {
        match self {
            Self::Bits(value, _) => Ok(*value),
            other => Err(WrongProgram::new(line, format!("bits are expected, not {other:?}"))),
        }
    }

    pub fn truth(&self, line: u32) -> Result<bool, WrongProgram> {
        match self {
            Self::Bool(value) => Ok(*value),
            other => Err(WrongProgram::new(
                line,
                format!("a bool is expected, not {other:?}; compare it with something"),
            )),
        }
    }

    /// The value as `bit<width>`, if it has this width or none.
    pub fn fit(&self, width: u32, line: u32) -> Result<u128, WrongProgram> {
        match self {
            Self::Bits(value, Some(found)) if *found == width => Ok(*value),
            Self::Bits(value, None) if masked(*value, width) == *value => Ok(*value),
            other => {
                Err(WrongProgram::new(line, format!("bit<{width}> is expected, not {other:?}; cast it")))
            }
        }
    }
}

/// Evaluates `left sign right`.
pub fn binary(sign: &str, left: &Value, right: &Value, line: u32) -> Result<Value, WrongProgram> {
    if let (Value::Bool(left), Value::Bool(right)) = (left, right) {
        return match sign {
            "==" => Ok(Value::Bool(left == right)),
            "!=" => Ok(Value::Bool(left != right)),
            _ => Err(WrongProgram::new(line, format!("{sign} is no operator between bools"))),
        };
    }
    let (Value::Bits(a, wide), Value::Bits(b, broad)) = (left, right) else {
        return Err(WrongProgram::new(line, format!("{sign} is no operator between {left:?} and {right:?}")));
    };
    let (a, b) = (*a, *b);
    match sign {
        "<<" | ">>" => return Ok(shifted(sign, a, b, *wide)),
        "++" => return joined(a, *wide, b, *broad, line),
        _ => {}
    }
    let width = match (wide, broad) {
        (Some(a), Some(b)) if a != b => {
            return Err(WrongProgram::new(
                line,
                format!("bit<{a}> {sign} bit<{b}>: widths differ; cast one of them"),
            ));
        }
        (a, b) => a.or(*b),
    };
    let truth = match sign {
        "==" => Some(a == b),
        "!=" => Some(a != b),
        "<" => Some(a < b),
        "<=" => Some(a <= b),
        ">" => Some(a > b),
        ">=" => Some(a >= b),
        _ => None,
    };
    if let Some(truth) = truth {
        return Ok(Value::Bool(truth));
    }
    let result = match sign {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        _ => return Err(WrongProgram::new(line, format!("{sign} is no operator between bits"))),
    };
    Ok(Value::Bits(masked(result, width.unwrap_or(128)), width))
}

fn shifted(sign: &str, value: u128, by: u128, width: Option<u32>) -> Value {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let moved = if sign == "<<" { value.checked_shl(by) } else { value.checked_shr(by) };
    Value::Bits(masked(moved.unwrap_or(0), width.unwrap_or(128)), width)
}

fn joined(a: u128, wide: Option<u32>, b: u128, broad: Option<u32>, line: u32) -> Result<Value, WrongProgram> {
    match (wide, broad) {
        (Some(wide), Some(broad)) if wide + broad <= 128 => {
            Ok(Value::Bits(a << broad | b, Some(wide + broad)))
        }
        _ => Err(WrongProgram::new(line, "++ joins two values of known widths, at most 128 bits together")),
    }
}

/// Evaluates `sign of`.
pub fn unary(sign: &str, of: &Value, line: u32) -> Result<Value, WrongProgram> {
    match (sign, of) {
        ("!", Value::Bool(value)) => Ok(Value::Bool(!value)),
        ("~", Value::Bits(value, Some(width))) => Ok(Value::Bits(masked(!value, *width), Some(*width))),
        ("-", Value::Bits(value, Some(width))) => {
            Ok(Value::Bits(masked(value.wrapping_neg(), *width), Some(*width)))
        }
        _ => Err(WrongProgram::new(line, format!("{sign} is no operator for {of:?}"))),
    }
}

/// Converts between bits and bytes, most significant bit first.
#[derive(Clone, Default, Debug)]
pub struct BitWriter {
    bytes: Vec<u8>,
    used: usize,
}

impl BitWriter {
    pub fn put(&mut self, value: u128, width: u32) {
        for bit in (0..width).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> bit & 1) as u8) << (7 - self.used % 8);
            self.used += 1;
        }
    }

    pub fn put_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.put((*byte).into(), 8));
    }

    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Returns `width` bits starting at bit `at`; `None` beyond the end.
pub fn take_bits(bytes: &[u8], at: usize, width: u32) -> Option<u128> {
    let mut value = 0;
    for bit in at..at + width as usize {
        value = value << 1 | u128::from(bytes.get(bit / 8)? >> (7 - bit % 8) & 1);
    }
    Some(value)
}
