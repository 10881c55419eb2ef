//! The exported functions. Unsafe blocks rely on the obligations of the caller in `include/pullnet.h`.

use std::ffi::{CStr, c_char, c_void};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_host::{Stack, StreamId, StreamOptions};

use crate::failure::{Code, Failure, keep, words};

/// Most bytes read by one call. Small reads should not pay for zeroing a larger buffer.
const MOST_READ: usize = 64 << 10;

/// A connection to the daemon of this machine. Any number of threads may use one.
pub struct Host(Arc<dyn Stack>);

/// A stream of bytes in both directions. Any number of threads may use one; one of them closes it.
pub struct Stream(Arc<dyn Stack>, StreamId);

/// Accepts streams that others open for a service. Any number of threads may use one; one of them closes it.
pub struct Listener(Arc<dyn Stack>, u16);

/// Runs a function; converts its error, or a panic, to a negative number.
fn guarded(work: impl FnOnce() -> Result<isize, Failure>) -> isize {
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.unwrap_or_else(|_| Err(Failure(Code::Fault, "a fault of libpullnet".to_owned())));
    done.unwrap_or_else(|failure| keep(failure) as isize)
}

/// The same for functions that return 0 on success.
fn done(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    guarded(|| work().map(|()| 0)) as i32
}

fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is NULL"))
}

/// Dereferences an object's pointer.
///
/// # Safety
/// `pointer` is null, or an object created by the library that stays open during the call.
unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Stores a new object at the caller's place.
///
/// # Safety
/// `place` is null or a valid place for a pointer.
unsafe fn give<T>(place: *mut *mut T, make: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if place.is_null() {
        return Err(null("the place for the result"));
    }
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: not null, and valid as guaranteed by the caller.
    unsafe { place.write(made) };
    Ok(())
}

/// Takes ownership of an object back.
///
/// # Safety
/// `pointer` is null, or an object created by the library that is no longer in use.
unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: boxed by `give`, and taken back only once.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// A string argument.
///
/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not null, and NUL-terminated as guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// A byte-slice argument.
///
/// # Safety
/// `bytes` is null, or has `long` bytes that are not written during the call.
unsafe fn bytes<'a>(bytes: *const c_void, long: usize, what: &str) -> Result<&'a [u8], Failure> {
    possible(long, what)?;
    match (bytes.is_null(), long) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(what)),
        // SAFETY: not null, and valid as guaranteed by the caller.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), long) }),
    }
}

/// Refuses a size that no memory has: most often a negative code that became unsigned. A slice must not be that long.
fn possible(size: usize, what: &str) -> Result<(), Failure> {
    if isize::try_from(size).is_ok() {
        return Ok(());
    }
    Err(Failure::argument(format!(
        "{what} cannot have {size} bytes: was a negative number passed as its size?"
    )))
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = || format!("\"{text}\" is no address with a port, such as 10.0.0.2:61199");
    text.parse().map_err(|_| Failure::argument(wrong()))
}

/// A timeout in nanoseconds; negative: none.
fn patience(ns: i64) -> Option<Duration> {
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// The message of the last failed call in this thread; valid until the next failure. Empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn pullnet_error() -> *const c_char {
    words()
}

/// Connects to the daemon whose socket is at `path`, and stores the connection at `host`.
///
/// # Safety
/// `path` is NUL-terminated; `host` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_open(path: *const c_char, host: *mut *mut Host) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let path = text(path, "path")?;
        give(host, || Ok(Host(Arc::new(DaemonStack::connect(Path::new(path))?))))
    })
}

/// Closes a connection. Its streams and listeners stay usable until they are closed. NULL does nothing.
///
/// # Safety
/// `host` came from `pullnet_open` and is no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_host_close(host: *mut Host) {
    // SAFETY: as required of the caller.
    drop(unsafe { take(host) });
}

/// Opens a stream to `service` of the host `to` ("10.0.0.2:61199", "[fd00::2]:61199") and stores it at `stream`.
/// Returns without waiting: the first written bytes travel in the first packet. Nothing is sent before, so that the
/// other host does not know of a stream that only reads: write to it, or shut it down, before you wait for data. A
/// higher `priority` requests to be pulled earlier; 0 is ordinary.
///
/// # Safety
/// `host` came from `pullnet_open`, `to` is NUL-terminated, `stream` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_connect(
    host: *const Host,
    to: *const c_char,
    service: u16,
    priority: u8,
    stream: *mut *mut Stream,
) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let (Host(stack), to) = (object(host, "host")?, address(text(to, "to")?)?);
        give(stream, || {
            let id = stack.connect(to, service, StreamOptions { priority })?;
            Ok(Stream(Arc::clone(stack), id))
        })
    })
}

/// Listens for streams to `service`; stores the listener at `listener`.
///
/// # Safety
/// `host` came from `pullnet_open`; `listener` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_listen(
    host: *const Host,
    service: u16,
    listener: *mut *mut Listener,
) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let Host(stack) = object(host, "host")?;
        give(listener, || {
            stack.listen(service)?;
            Ok(Listener(Arc::clone(stack), service))
        })
    })
}

/// Waits for the next stream and stores it at `stream`. `timeout_ns`: nanoseconds, negative for no timeout.
///
/// # Safety
/// `listener` came from `pullnet_listen` and is open; `stream` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_accept(
    listener: *const Listener,
    timeout_ns: i64,
    stream: *mut *mut Stream,
) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let Listener(stack, service) = object(listener, "listener")?;
        give(stream, || {
            let id = stack.accept(*service, patience(timeout_ns))?;
            Ok(Stream(Arc::clone(stack), id))
        })
    })
}

/// Stops listening; resets streams that were not accepted. NULL does nothing.
///
/// # Safety
/// `listener` came from `pullnet_listen` and is no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_listener_close(listener: *mut Listener) {
    // SAFETY: as required of the caller.
    if let Some(taken) = unsafe { take(listener) } {
        taken.0.unlisten(taken.1);
    }
}

/// Reads at least one byte and at most `room` bytes into `out`. Returns the number of bytes; 0: the stream has ended.
///
/// # Safety
/// `stream` is open; `out` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_read(
    stream: *const Stream,
    out: *mut c_void,
    room: usize,
    timeout_ns: i64,
) -> isize {
    // SAFETY: as required of the caller.
    guarded(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        if out.is_null() || room == 0 {
            return Err(Failure::argument("there is no room to read to"));
        }
        possible(room, "out")?;
        // The buffer is zeroed before it becomes a slice, because the caller may pass uninitialised memory. `MOST_READ`
        // bounds that cost; the next call reads the rest.
        let room = room.min(MOST_READ);
        std::ptr::write_bytes(out.cast::<u8>(), 0, room);
        let out = std::slice::from_raw_parts_mut(out.cast::<u8>(), room);
        Ok(stack.read(*id, out, patience(timeout_ns))? as isize)
    })
}

/// Writes at least one and at most `size` bytes; waits for room. With `last`, ends the writing half if all bytes were
/// accepted. Returns the number of bytes accepted.
///
/// # Safety
/// `stream` is open; `data` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_write(
    stream: *const Stream,
    data: *const c_void,
    size: usize,
    last: bool,
    timeout_ns: i64,
) -> isize {
    // SAFETY: as required of the caller.
    guarded(|| unsafe {
        let (Stream(stack, id), bytes) = (object(stream, "stream")?, bytes(data, size, "data")?);
        if bytes.is_empty() {
            return if last { stack.finish(*id).map(|()| 0).map_err(Failure::from) } else { Ok(0) };
        }
        Ok(stack.write(*id, bytes, last, patience(timeout_ns))? as isize)
    })
}

/// Ends the writing half: the other side reads to the end.
///
/// # Safety
/// `stream` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_shutdown(stream: *const Stream) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        Ok(stack.finish(*id)?)
    })
}

/// Waits until the other host has acknowledged everything that was written.
///
/// # Safety
/// `stream` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_settle(stream: *const Stream, timeout_ns: i64) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        Ok(stack.settle(*id, patience(timeout_ns))?)
    })
}

/// Pulls data of this stream at this priority, higher first, regardless of the sender's request.
///
/// # Safety
/// `stream` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_prefer(stream: *const Stream, priority: u8) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        stack.prefer(*id, priority);
        Ok(())
    })
}

/// Closes a stream: written data is still delivered, further incoming data is refused. NULL does nothing.
///
/// # Safety
/// `stream` came from this library and is no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_close(stream: *mut Stream) {
    // SAFETY: as required of the caller.
    if let Some(taken) = unsafe { take(stream) } {
        taken.0.close(taken.1);
    }
}

/// Aborts a stream at both ends and frees it. NULL does nothing.
///
/// # Safety
/// `stream` came from this library and is no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_abort(stream: *mut Stream) {
    // SAFETY: as required of the caller.
    if let Some(taken) = unsafe { take(stream) } {
        taken.0.abort(taken.1);
    }
}

/// Sends a request of `size` bytes to `service` of the host `to` on a stream of its own. Stores the response at *`response`
/// and its length at `response_size`; free it with `pullnet_free`. At-most-once: after a failure, it is unknown whether the
/// request was carried out. `timeout_ns` covers the whole call.
///
/// # Safety
/// `host` came from `pullnet_open`, `to` is NUL-terminated, `request` has `size` bytes, the last two are places for a
/// pointer and a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_call(
    host: *const Host,
    to: *const c_char,
    service: u16,
    request: *const c_void,
    size: usize,
    priority: u8,
    timeout_ns: i64,
    response: *mut *mut u8,
    response_size: *mut usize,
) -> i32 {
    // SAFETY: as required of the caller.
    done(|| unsafe {
        let (Host(stack), to) = (object(host, "host")?, address(text(to, "to")?)?);
        if response.is_null() || response_size.is_null() {
            return Err(null("the place for the response"));
        }
        let request = bytes(request, size, "request")?;
        let got = stack.call(to, service, request, StreamOptions { priority }, patience(timeout_ns))?;
        response_size.write(got.len());
        response.write(Box::into_raw(got.into_boxed_slice()).cast());
        Ok(())
    })
}

/// Frees a response. NULL does nothing.
///
/// # Safety
/// `response` and `size` came from one `pullnet_call` and are no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_free(response: *mut u8, size: usize) {
    if !response.is_null() {
        // SAFETY: a boxed slice of this length, as required of the caller.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(response, size)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_no_memory_has_is_refused() {
        let data = c"data".as_ptr().cast();
        for size in [usize::MAX, isize::MIN as usize] {
            // SAFETY: the size is refused before the pointer is read.
            assert!(unsafe { bytes(data, size, "data") }.is_err(), "{size}");
        }
        // SAFETY: there are four bytes.
        assert_eq!(unsafe { bytes(data, 4, "data") }.ok(), Some(&b"data"[..]));
        assert!(possible(usize::MAX, "out").is_err() && possible(0, "out").is_ok());
    }
}
