//! Prefetch hints. Networks of a thousand hosts and more do not fit into the caches, and a simulator knows long before
//! which memory it will touch.

use pullnet_units::Id;

use crate::process::ProcessId;

/// Locality hints as the processor numbers them: into all cache levels, or from the second level on.
const FIRST: i32 = 3;
/// See [`FIRST`].
const SECOND: i32 = 2;

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint<const LEVEL: i32>(place: *const i8) {
    // SAFETY: a prefetch of any address is a hint without effect on the program.
    unsafe { core::arch::x86_64::_mm_prefetch::<LEVEL>(place) }
}

#[cfg(not(target_arch = "x86_64"))]
fn hint<const LEVEL: i32>(_: *const i8) {}

/// Prefetches the cache line of `place` into the second-level cache: lines for several visits ahead would overflow the
/// first level. Any address is allowed; nothing is read.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    hint::<SECOND>(place.cast());
}

/// Prefetches into the first-level cache, for memory that is used next.
#[inline(always)]
pub fn prefetch_near<T>(place: *const T) {
    hint::<FIRST>(place.cast());
}

/// The same `LINES` cache lines of every process of a shard. Other processes are allowed.
#[derive(Clone, Copy, Default, Debug)]
pub struct Places<const LINES: usize> {
    /// Address of the first of these lines in process 0.
    zero: usize,
    /// Distance between processes in bytes.
    stride: usize,
}

impl<const LINES: usize> Places<LINES> {
    /// The lines from byte `offset` on, for the processes in `slice`, the first of which is
    /// `first`.
    pub fn new<T>(slice: &[T], first: ProcessId, offset: usize) -> Self {
        let stride = size_of::<T>();
        let before = stride.wrapping_mul(first.index());
        Self { zero: slice.as_ptr().addr().wrapping_sub(before).wrapping_add(offset), stride }
    }

    /// Prefetches the cache lines of `process`.
    #[inline(always)]
    pub fn prefetch(&self, process: ProcessId) {
        let place = self.zero.wrapping_add(self.stride.wrapping_mul(process.index()));
        (0..LINES)
            .for_each(|line| prefetch(core::ptr::without_provenance::<u8>(place.wrapping_add(64 * line))));
    }
}
