//! MPTCP: its endpoints, and how connections share links. One program, because each program of tests is compiled and linked by itself.

mod endpoint;
mod sharing;
