//! Tables in huge pages: with pages of 4 KiB, nearly every access to a large network would also wait for a page-table
//! walk.

/// The vector of `items`, in huge pages if the operating system provides them.
pub fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut table = Vec::with_capacity(items.len());
    advise(table.spare_capacity_mut());
    table.extend(items);
    table
}

/// Requests huge pages for `memory`, which has not been touched yet.
#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut [core::mem::MaybeUninit<T>]) {
    /// Alignment for the call: a multiple of the page size of every machine.
    const PAGE: usize = 1 << 16;
    let bytes = memory.as_mut_ptr_range();
    let begin = (bytes.start as usize).next_multiple_of(PAGE);
    let length = (bytes.end as usize).saturating_sub(begin) / PAGE * PAGE;
    // SAFETY: the range lies within `memory`, and the call does not change its contents. A failure is harmless.
    unsafe {
        libc::madvise(begin as *mut libc::c_void, length, libc::MADV_HUGEPAGE);
    }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut [core::mem::MaybeUninit<T>]) {}
