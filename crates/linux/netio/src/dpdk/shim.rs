//! Bindings to `shim.c`, which calls DPDK. Buffers change owner between the driver and this module; the arrays here track
//! the owner.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers that change owner in one call.
const BURST: usize = 64;

/// DPDK's `rte_mbuf`; its layout is known only to the C side.
#[repr(C)]
struct Buffer {
    _opaque: [u8; 0],
}

/// Mirrors `struct pullnet_dpdk_port` in `shim.h`.
#[repr(C)]
#[derive(Debug)]
struct Opened {
    pool: *mut Buffer,
    interface: u32,
    number: u16,
    mac: [u8; 6],
}

/// How a port is to be opened. Mirrors `struct pullnet_dpdk_asked` in `shim.h`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Asked {
    pub mtu: u16,
    pub frames: u16,
    pub buffer_room: u16,
    pub promiscuous: bool,
}

// SAFETY: `shim.h` states the obligations of each caller; the types are the same there.
unsafe extern "C" {
    fn pullnet_dpdk_start(argc: c_int, argv: *mut *mut c_char) -> c_int;
    fn pullnet_dpdk_in_its_thread(call: extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
    fn pullnet_dpdk_open(device: *const c_char, asked: *const Asked, port: *mut Opened) -> c_int;
    fn pullnet_dpdk_close(port: *const Opened);
    fn pullnet_dpdk_receive(port: *const Opened, frames: *mut *mut Buffer, most: u16) -> u16;
    fn pullnet_dpdk_send(port: *const Opened, frames: *mut *mut Buffer, count: u16) -> u16;
    fn pullnet_dpdk_allocate(port: *const Opened, frames: *mut *mut Buffer, count: u16) -> c_int;
    fn pullnet_dpdk_release(frames: *mut *mut Buffer, count: u16);
    fn pullnet_dpdk_bytes(frame: *const Buffer, length: *mut u32) -> *const u8;
    fn pullnet_dpdk_room(frame: *mut Buffer) -> *mut u8;
    fn pullnet_dpdk_written(frame: *mut Buffer, length: u16);
    fn pullnet_dpdk_is_up(port: *const Opened) -> c_int;
    fn pullnet_dpdk_counted(port: *const Opened, missed: *mut u64, refused: *mut u64) -> c_int;
}

/// DPDK's functions that add and remove devices are not thread-safe.
static CHANGING: Mutex<()> = Mutex::new(());

fn changing() -> MutexGuard<'static, ()> {
    // The mutex guards no data that a panic could leave half written.
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

/// Starts DPDK; must be called at most once per process.
pub(super) fn start(arguments: Vec<CString>) -> io::Result<()> {
    // DPDK may keep the strings and reorders the array, so both are leaked.
    let strings = arguments.into_iter().map(CString::into_raw).chain([null_mut()]);
    let array: &'static mut [*mut c_char] = Vec::leak(strings.collect());
    let count = (array.len() - 1) as c_int;
    // SAFETY: `count` NUL-terminated strings followed by a null pointer; nothing else refers to the array.
    checked(unsafe { pullnet_dpdk_start(count, array.as_mut_ptr()) })
}

/// Work for DPDK's thread.
pub(super) type Call = Box<dyn FnOnce() + Send>;

/// Has `call` called once in DPDK's thread; must be called after [`start`].
pub(super) fn in_its_thread(call: Call) -> io::Result<()> {
    extern "C" fn run(argument: *mut c_void) {
        // SAFETY: the pointer comes from `Box::into_raw` below, and each is passed to one call.
        let call = unsafe { Box::from_raw(argument.cast::<Call>()) };
        call();
    }
    let argument = Box::into_raw(Box::new(call));
    // SAFETY: `run` takes this argument, and `Call` may go to another thread.
    let result = checked(unsafe { pullnet_dpdk_in_its_thread(run, argument.cast()) });
    if result.is_err() {
        // SAFETY: DPDK has not taken the call, so that the box is ours again.
        drop(unsafe { Box::from_raw(argument) });
    }
    result
}

/// A row of buffers: those in `done..end` are owned by us, those before `done` no longer.
#[derive(Debug)]
struct Row {
    buffers: [*mut Buffer; BURST],
    done: usize,
    end: usize,
}

impl Row {
    const EMPTY: Self = Self { buffers: [null_mut(); BURST], done: 0, end: 0 };

    /// Returns the remaining buffers to DPDK.
    fn release(&mut self) {
        let ours = &mut self.buffers[self.done..self.end];
        // SAFETY: these buffers are ours, and we do not use them afterwards.
        unsafe { pullnet_dpdk_release(ours.as_mut_ptr(), ours.len() as u16) };
        *self = Self::EMPTY;
    }
}

/// An open port with one queue in each direction.
#[derive(Debug)]
pub(super) struct Port {
    opened: Opened,
    buffer_room: usize,
    /// Received frames. The first `read` were handed out; they are released together.
    arrived: Row,
    read: usize,
    /// Frames dropped because they exceed a buffer.
    too_long: u64,
    /// Buffers for sending; the first `written` hold frames.
    outgoing: Row,
    written: usize,
}

// SAFETY: a port and its buffers are not tied to a thread. Any thread may use them, one at a time, which `&mut` guarantees.
unsafe impl Send for Port {}

impl Port {
    /// Opens `device`; must be called after [`start`].
    pub fn open(device: &CStr, asked: &Asked) -> io::Result<Self> {
        let mut opened = Opened { pool: null_mut(), interface: 0, number: 0, mac: [0; 6] };
        let _alone = changing();
        // SAFETY: `device` is NUL-terminated, and `asked` and `opened` have the layout of the C structs.
        checked(unsafe { pullnet_dpdk_open(device.as_ptr(), asked, &mut opened) })?;
        let (arrived, outgoing) = (Row::EMPTY, Row::EMPTY);
        let buffer_room = asked.buffer_room.into();
        Ok(Self { opened, buffer_room, arrived, read: 0, too_long: 0, outgoing, written: 0 })
    }

    /// Index of the kernel interface whose frames the device carries, if there is one.
    pub fn interface(&self) -> Option<u32> {
        Some(self.opened.interface).filter(|index| *index != 0)
    }

    pub fn mac(&self) -> [u8; 6] {
        self.opened.mac
    }

    /// Whether a frame has arrived that [`Port::take`] will return.
    pub fn has_frame(&mut self) -> bool {
        if self.read == self.arrived.end {
            self.arrived.release();
            self.read = 0;
            // SAFETY: the port is open, and the row is empty and has the stated capacity.
            let got = unsafe {
                pullnet_dpdk_receive(&self.opened, self.arrived.buffers.as_mut_ptr(), BURST as u16)
            };
            self.arrived.end = usize::from(got).min(BURST);
        }
        self.read < self.arrived.end
    }

    /// Returns the oldest received frame. Skips frames that exceed a buffer.
    pub fn take(&mut self) -> Option<&[u8]> {
        while self.has_frame() {
            let buffer = self.arrived.buffers[self.read];
            self.read += 1;
            let mut long = 0;
            // SAFETY: the buffer is ours until the row is released, which needs a new borrow of the port.
            let bytes = unsafe { pullnet_dpdk_bytes(buffer, &mut long) };
            if !bytes.is_null() {
                // SAFETY: as above; `long` bytes of the buffer are initialised.
                return Some(unsafe { std::slice::from_raw_parts(bytes, long as usize) });
            }
            self.too_long += 1;
        }
        None
    }

    /// Whether [`Port::room`] returns a buffer; it returns none while the driver accepts nothing.
    pub fn has_room(&mut self) -> bool {
        if self.outgoing.done == self.outgoing.end {
            let buffers = self.outgoing.buffers.as_mut_ptr();
            // SAFETY: we own no buffer of the row at this point, and the row has the stated capacity.
            let failed = unsafe { pullnet_dpdk_allocate(&self.opened, buffers, BURST as u16) };
            (self.outgoing.done, self.written) = (0, 0);
            self.outgoing.end = if failed < 0 { 0 } else { BURST };
        }
        self.written < self.outgoing.end
    }

    /// Buffer for the next outgoing frame.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        self.has_room().then(|| {
            let buffer = self.outgoing.buffers[self.written];
            // SAFETY: the buffer is ours and fresh; the port was opened with buffers of this size.
            unsafe { std::slice::from_raw_parts_mut(pullnet_dpdk_room(buffer), self.buffer_room) }
        })
    }

    /// Queues the `long` bytes written to [`Port::room`]; the frame leaves with the next [`Port::transmit`].
    pub fn written(&mut self, long: usize) {
        assert!(self.written < self.outgoing.end && long <= self.buffer_room, "{long} B written");
        // SAFETY: the buffer is ours and has at least `long` bytes.
        unsafe { pullnet_dpdk_written(self.outgoing.buffers[self.written], long as u16) };
        self.written += 1;
    }

    /// Hands the written frames to the driver, as many as it accepts.
    pub fn transmit(&mut self) {
        while self.outgoing.done < self.written {
            let frames = &mut self.outgoing.buffers[self.outgoing.done..self.written];
            // SAFETY: these buffers are ours. The driver owns the ones that it accepts, and we skip those from now on.
            let took = unsafe { pullnet_dpdk_send(&self.opened, frames.as_mut_ptr(), frames.len() as u16) };
            if took == 0 {
                return;
            }
            self.outgoing.done += usize::from(took).min(frames.len());
        }
    }

    /// Whether the other end is reachable.
    pub fn is_up(&self) -> bool {
        // SAFETY: the port is open.
        unsafe { pullnet_dpdk_is_up(&self.opened) != 0 }
    }

    /// Returns how many frames were missed (no room, or too long) and how many could not be sent.
    pub fn counted(&self) -> io::Result<(u64, u64)> {
        let (mut missed, mut refused) = (0, 0);
        // SAFETY: the port is open, and both counters are writable.
        checked(unsafe { pullnet_dpdk_counted(&self.opened, &mut missed, &mut refused) })?;
        Ok((missed + self.too_long, refused))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.arrived.release();
        self.outgoing.release();
        let _alone = changing();
        // SAFETY: the port is open, and we own none of its buffers any more.
        unsafe { pullnet_dpdk_close(&self.opened) };
    }
}
