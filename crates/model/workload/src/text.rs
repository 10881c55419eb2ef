use crate::error::{FileError, FileFault};

/// The longest piece of a value that an error repeats.
const SHOWN: usize = 40;

/// `bytes` as text, or an error that names the line.
pub(crate) fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, FileError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        FileError { file: file.to_string(), line: line as u64, fault: FileFault::NotText }
    })
}

/// `text` as an error repeats it: not too much of it.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// `text`, a decimal number without sign or exponent, times `factor`; `None` if it is none, or no whole number
/// below 2^64 comes out.
pub(crate) fn scaled(text: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if fraction.is_empty() {
        return Some(whole);
    }
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let parts = fraction.parse::<u128>().ok()?.checked_mul(factor.into())?;
    let rest = u64::try_from(parts / scale).ok().filter(|_| parts.is_multiple_of(scale))?;
    whole.checked_add(rest)
}

/// `text`, a number without sign in a unit of `factor` picoseconds, in picoseconds; `None` if it is none, or too large.
/// Decimals are exact down to a picosecond. A number with an exponent or more decimals is rounded to the nearest one.
pub(crate) fn picos(text: &str, factor: u64) -> Option<u64> {
    scaled(text, factor).or_else(|| {
        let picos = text.parse::<f64>().ok()? * factor as f64;
        (0.0..1.8e19).contains(&picos).then(|| picos.round() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_scale_exactly_or_not_at_all() {
        assert_eq!(scaled("0.000000", 1), Some(0));
        assert_eq!(scaled("15", 1_000_000), Some(15_000_000));
        assert_eq!(scaled("2.000000123456", 1_000_000_000_000), Some(2_000_000_123_456));
        assert_eq!(scaled("0.5", 1), None);
        for wrong in ["", "-1", "1e3", ".", "1.2.3", "99999999999999999999", "NaN"] {
            assert_eq!(scaled(wrong, 1_000), None, "{wrong}");
        }
    }

    #[test]
    fn broken_text_is_named_by_its_line() {
        assert_eq!(utf8("a.csv", b"one\ntwo\n\xff").unwrap_err().line, 3);
    }
}
