//! Splits text into tokens.

use super::WrongProgram;

/// Kind of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name or keyword.
    Word(String),
    /// A number; with a width if written with one (`16w5`).
    Number(u128, Option<u32>),
    /// A string of an annotation.
    Text,
    /// An operator or bracket.
    Sign(&'static str),
    /// The end of the file.
    End,
}

/// A token with its line, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Kind of the token.
    pub kind: Kind,
    /// Line, from 1.
    pub line: u32,
}

/// Longest first, so that `&&&` is not read as `&&` and `&`. `>>` is missing because it also ends nested type arguments.
const SIGNS: [&str; 32] = [
    "&&&", "&&", "||", "==", "!=", "<=", ">=", "<<", "++", "(", ")", "{", "}", "[", "]", "<", ">", ";", ":",
    ",", ".", "=", "+", "-", "*", "&", "|", "^", "~", "!", "?", "@",
];

/// Splits a program into tokens. Includes of `core.p4` and `v1model.p4` are built in; other directives are not supported.
pub fn tokens(text: &str) -> Result<Vec<Token>, WrongProgram> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let skipped = skip(rest, first, line)?;
        if skipped > 0 {
            line += rest[..skipped].matches('\n').count() as u32;
            rest = &rest[skipped..];
            continue;
        }
        let (kind, length) = token(rest, first, line)?;
        found.push(Token { kind, line });
        rest = &rest[length..];
    }
    found.push(Token { kind: Kind::End, line });
    Ok(found)
}

/// Length of the white space, comment or include at the start of `rest`. Bytes.
fn skip(rest: &str, first: char, line: u32) -> Result<usize, WrongProgram> {
    if first.is_whitespace() {
        return Ok(first.len_utf8());
    }
    let to_line_end = rest.find('\n').unwrap_or(rest.len());
    if rest.starts_with("//") {
        return Ok(to_line_end);
    }
    if rest.starts_with("/*") {
        let end = rest.find("*/").map(|at| at + 2);
        return end.ok_or_else(|| WrongProgram::new(line, "a comment that begins here does not end; add */"));
    }
    if first == '#' {
        let known = ["#include <core.p4>", "#include <v1model.p4>"].contains(&rest[..to_line_end].trim());
        let what = "only #include <core.p4> and #include <v1model.p4> are known; write out what other directives stand for";
        return if known { Ok(to_line_end) } else { Err(WrongProgram::new(line, what)) };
    }
    Ok(0)
}

fn token(rest: &str, first: char, line: u32) -> Result<(Kind, usize), WrongProgram> {
    let word = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    if first.is_ascii_digit() {
        return Ok((number(&rest[..word], line)?, word));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        return Ok((Kind::Word(rest[..word].to_owned()), word));
    }
    if first == '"' {
        let end =
            rest[1..].find('"').ok_or_else(|| WrongProgram::new(line, "a string does not end; add \""))?;
        return Ok((Kind::Text, end + 2));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let sign =
        sign.ok_or_else(|| WrongProgram::new(line, format!("{first:?} is no character of a program")))?;
    Ok((Kind::Sign(sign), sign.len()))
}

fn number(word: &str, line: u32) -> Result<Kind, WrongProgram> {
    let wrong = || {
        WrongProgram::new(line, format!("{word} is no number of at most 128 bits, such as 10, 0x0a or 16w10"))
    };
    let plain = |text: &str| {
        let text = text.replace('_', "");
        let hex = text.strip_prefix("0x").map(|digits| u128::from_str_radix(digits, 16));
        let binary = text.strip_prefix("0b").map(|digits| u128::from_str_radix(digits, 2));
        hex.or(binary).unwrap_or_else(|| text.parse()).map_err(|_| wrong())
    };
    match word.split_once('w') {
        Some((width, value)) => {
            let width = width.parse().ok().filter(|width| (1..=128).contains(width)).ok_or_else(wrong)?;
            let value = plain(value)?;
            if width < 128 && value >> width != 0 {
                Err(wrong())
            } else {
                Ok(Kind::Number(value, Some(width)))
            }
        }
        None => Ok(Kind::Number(plain(word)?, None)),
    }
}
