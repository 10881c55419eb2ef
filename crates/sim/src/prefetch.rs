//! Hints to the cache. Networks of a thousand hosts and more do not fit into it, and a simulator knows long before
//! which memory it will touch.

/// Asks for the cache line that `place` lies in, into the second-level cache: some visits ahead are too much for the first.
/// Any address will do; nothing is read.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint without effect on the program.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch(place.cast(), _MM_HINT_T1);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Asks for the first `lines` cache lines of what `value` points to.
#[inline(always)]
pub fn prefetch_lines<T>(value: *const T, lines: usize) {
    let begin: *const u8 = value.cast();
    (0..lines).for_each(|line| prefetch(begin.wrapping_add(64 * line)));
}
