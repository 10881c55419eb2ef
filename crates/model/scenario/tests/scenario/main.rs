//! Scenarios, right and nearly right. One program, because each program of tests is compiled and linked by itself.

mod any_text;
mod bounds;
mod good;
mod warnings;
