//! The functions. Each block of unsafe code leans on what `include/pullnet.h` asks of the caller.

use std::ffi::{CStr, c_char, c_void};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_host::{Stack, StreamId, StreamOptions};

use crate::failure::{Code, Failure, keep, words};

/// Bytes that one call reads at most: those of a small read are not worth a larger buffer's zeros.
const MOST_READ: usize = 64 << 10;

/// A connection to the daemon of this machine. Any number of threads may use one.
pub struct Host(Arc<dyn Stack>);

/// A stream of bytes in both directions. Any number of threads may use one; one of them closes it.
pub struct Stream(Arc<dyn Stack>, StreamId);

/// Takes the streams that others open for a service. Any number of threads may use one; one of them closes it.
pub struct Listener(Arc<dyn Stack>, u16);

/// Runs a function; what it fails with, or that it panicked, becomes a number.
fn guarded(work: impl FnOnce() -> Result<isize, Failure>) -> isize {
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.unwrap_or_else(|_| Err(Failure(Code::Fault, "a fault of libpullnet".to_owned())));
    done.unwrap_or_else(|failure| keep(failure) as isize)
}

/// The same where success is 0.
fn done(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    guarded(|| work().map(|()| 0)) as i32
}

fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is NULL"))
}

/// What an object's pointer points to.
///
/// # Safety
/// `pointer` is null or an object that the library gave and that is not closed meanwhile.
unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller says so.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Puts a new object where the caller wants it.
///
/// # Safety
/// `place` is null or a place for a pointer.
unsafe fn give<T>(place: *mut *mut T, make: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if place.is_null() {
        return Err(null("the place for the result"));
    }
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: not null, and the caller says that it is a place for a pointer.
    unsafe { place.write(made) };
    Ok(())
}

/// Takes an object back.
///
/// # Safety
/// `pointer` is null or an object that the library gave and that nobody uses any more.
unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: given by `give`, which boxed it, and taken back once.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// A text of the caller's.
///
/// # Safety
/// `text` is null or ends with 0.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not null, and the caller says that it ends with 0.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// Bytes of the caller's.
///
/// # Safety
/// `bytes` is null or has `long` bytes that nobody writes meanwhile.
unsafe fn bytes<'a>(bytes: *const c_void, long: usize) -> Result<&'a [u8], Failure> {
    match (bytes.is_null(), long) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null("the bytes")),
        // SAFETY: not null, and the caller says that they are there.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), long) }),
    }
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = || format!("\"{text}\" is no address with a port, such as 10.0.0.2:61199");
    text.parse().map_err(|_| Failure::argument(wrong()))
}

/// Nanoseconds; a negative number is for ever.
fn patience(ns: i64) -> Option<Duration> {
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// The words of the last failure of a function in this thread; valid until the next one. Empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn pullnet_error() -> *const c_char {
    words()
}

/// Connects to the daemon whose socket is at `path`, and puts the connection at `host`.
///
/// # Safety
/// `path` is a text that ends with 0; `host` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_open(path: *const c_char, host: *mut *mut Host) -> i32 {
    // SAFETY: as this function asks.
    done(|| unsafe {
        let path = text(path, "path")?;
        give(host, || Ok(Host(Arc::new(DaemonStack::connect(Path::new(path))?))))
    })
}

/// Lets a connection go. Its streams and listeners live on until they are closed. NULL does nothing.
///
/// # Safety
/// `host` came from `pullnet_open` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_host_close(host: *mut Host) {
    // SAFETY: as this function asks.
    drop(unsafe { take(host) });
}

/// Opens a stream to `service` of the host `to` ("10.0.0.2:61199", "[fd00::2]:61199") and puts it at `stream`. Waits for
/// nothing: what is written first travels in the first packet. Higher `priority` asks to be pulled first; 0 is ordinary.
///
/// # Safety
/// `host` came from `pullnet_open`, `to` is a text that ends with 0, `stream` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_connect(
    host: *const Host,
    to: *const c_char,
    service: u16,
    priority: u8,
    stream: *mut *mut Stream,
) -> i32 {
    // SAFETY: as this function asks.
    done(|| unsafe {
        let (Host(stack), to) = (object(host, "host")?, address(text(to, "to")?)?);
        give(stream, || {
            let id = stack.connect(to, service, StreamOptions { priority })?;
            Ok(Stream(Arc::clone(stack), id))
        })
    })
}

/// Takes streams for `service` from now on; puts the listener at `listener`.
///
/// # Safety
/// `host` came from `pullnet_open`; `listener` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_listen(
    host: *const Host,
    service: u16,
    listener: *mut *mut Listener,
) -> i32 {
    // SAFETY: as this function asks.
    done(|| unsafe {
        let Host(stack) = object(host, "host")?;
        give(listener, || {
            stack.listen(service)?;
            Ok(Listener(Arc::clone(stack), service))
        })
    })
}

/// Waits for the next stream and puts it at `stream`. `timeout_ns`: nanoseconds, negative for ever.
///
/// # Safety
/// `listener` came from `pullnet_listen` and is open; `stream` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_accept(
    listener: *const Listener,
    timeout_ns: i64,
    stream: *mut *mut Stream,
) -> i32 {
    // SAFETY: as this function asks.
    done(|| unsafe {
        let Listener(stack, service) = object(listener, "listener")?;
        give(stream, || {
            let id = stack.accept(*service, patience(timeout_ns))?;
            Ok(Stream(Arc::clone(stack), id))
        })
    })
}

/// Takes no more streams; those that nobody accepted are reset. NULL does nothing.
///
/// # Safety
/// `listener` came from `pullnet_listen` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_listener_close(listener: *mut Listener) {
    // SAFETY: as this function asks.
    if let Some(taken) = unsafe { take(listener) } {
        taken.0.unlisten(taken.1);
    }
}

/// Reads at least one byte and at most `room` bytes to `out`. Returns how many; 0: the stream has ended.
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
    // SAFETY: as this function asks.
    guarded(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        if out.is_null() || room == 0 {
            return Err(Failure::argument("there is no room to read to"));
        }
        // What the caller has not written yet is written before it is read; more than that is read by the next call.
        let room = room.min(MOST_READ);
        std::ptr::write_bytes(out.cast::<u8>(), 0, room);
        let out = std::slice::from_raw_parts_mut(out.cast::<u8>(), room);
        Ok(stack.read(*id, out, patience(timeout_ns))? as isize)
    })
}

/// Writes at least one and at most `size` bytes; waits for room. With `last`, the stream's writing half ends behind them if
/// all of them were taken. Returns how many were.
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
    // SAFETY: as this function asks.
    guarded(|| unsafe {
        let (Stream(stack, id), bytes) = (object(stream, "stream")?, bytes(data, size)?);
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
    // SAFETY: as this function asks.
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
    // SAFETY: as this function asks.
    done(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        Ok(stack.settle(*id, patience(timeout_ns))?)
    })
}

/// Data of this stream is pulled at this priority, higher first, whatever its sender asks for.
///
/// # Safety
/// `stream` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_prefer(stream: *const Stream, priority: u8) -> i32 {
    // SAFETY: as this function asks.
    done(|| unsafe {
        let Stream(stack, id) = object(stream, "stream")?;
        stack.prefer(*id, priority);
        Ok(())
    })
}

/// Lets a stream go: what was written still arrives, and what still comes is refused. NULL does nothing.
///
/// # Safety
/// `stream` came from this library and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_close(stream: *mut Stream) {
    // SAFETY: as this function asks.
    if let Some(taken) = unsafe { take(stream) } {
        taken.0.close(taken.1);
    }
}

/// Ends a stream at once, at both ends, and lets it go. NULL does nothing.
///
/// # Safety
/// `stream` came from this library and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_abort(stream: *mut Stream) {
    // SAFETY: as this function asks.
    if let Some(taken) = unsafe { take(stream) } {
        taken.0.abort(taken.1);
    }
}

/// Sends a request of `size` bytes to `service` of the host `to` on a stream of its own, and puts the response at
/// `response`, its length at `response_size`; `pullnet_free` takes it back. At most once: after a failure nobody knows
/// whether the request was carried out. `timeout_ns` is for all of it.
///
/// # Safety
/// `host` came from `pullnet_open`, `to` is a text that ends with 0, `request` has `size` bytes, the last two are places
/// for a pointer and a length.
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
    // SAFETY: as this function asks.
    done(|| unsafe {
        let (Host(stack), to) = (object(host, "host")?, address(text(to, "to")?)?);
        if response.is_null() || response_size.is_null() {
            return Err(null("the place for the response"));
        }
        let request = bytes(request, size)?;
        let got = stack.call(to, service, request, StreamOptions { priority }, patience(timeout_ns))?;
        response_size.write(got.len());
        response.write(Box::into_raw(got.into_boxed_slice()).cast());
        Ok(())
    })
}

/// Takes a response back. NULL does nothing.
///
/// # Safety
/// `response` and `size` came from one `pullnet_call` and are not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pullnet_free(response: *mut u8, size: usize) {
    if !response.is_null() {
        // SAFETY: as this function asks: it was a boxed slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(response, size)) });
    }
}
