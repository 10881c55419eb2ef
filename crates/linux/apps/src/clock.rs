/// The clock by which rates and times are measured.
#[expect(clippy::disallowed_methods, reason = "these programs live by the clock")]
pub(crate) fn clock() -> std::time::Instant {
    std::time::Instant::now()
}
