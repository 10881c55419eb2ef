//! Calls of `shim.c`, which calls DPDK. The driver and we hand buffers to each other: the arrays here say whose they are.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers that change hands at once.
const BURST: usize = 64;

/// DPDK's `rte_mbuf`, of which only C knows what it is.
#[repr(C)]
struct Buffer {
    _opaque: [u8; 0],
}

/// The same as `struct pullnet_dpdk_port` in `shim.h`.
#[repr(C)]
#[derive(Debug)]
struct Opened {
    pool: *mut Buffer,
    number: u16,
    mac: [u8; 6],
}

// SAFETY: what each asks of its caller stands in `shim.h`; the types are the same there.
unsafe extern "C" {
    fn pullnet_dpdk_start(argc: c_int, argv: *mut *mut c_char) -> c_int;
    fn pullnet_dpdk_stop();
    fn pullnet_dpdk_open(
        device: *const c_char,
        mtu: u16,
        frames: u16,
        buffer_room: u16,
        port: *mut Opened,
    ) -> c_int;
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

/// DPDK makes and removes devices by one thread at a time.
static CHANGING: Mutex<()> = Mutex::new(());

fn changing() -> MutexGuard<'static, ()> {
    // It guards nothing that a panic could leave half done.
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

/// Starts DPDK; to be called once in a process.
pub(super) fn start(arguments: Vec<CString>) -> io::Result<()> {
    // DPDK may keep the strings, and reorders the array: both stay for ever.
    let strings = arguments.into_iter().map(CString::into_raw).chain([null_mut()]);
    let array: &'static mut [*mut c_char] = Vec::leak(strings.collect());
    let count = (array.len() - 1) as c_int;
    // SAFETY: `count` strings that end with 0, and a null behind them, which nobody else has.
    checked(unsafe { pullnet_dpdk_start(count, array.as_mut_ptr()) })
}

/// Ends DPDK; to be called once after [`start`], when no [`Port`] is left.
pub(super) fn stop() {
    // SAFETY: the callers see to what is said above.
    unsafe { pullnet_dpdk_stop() };
}

/// Buffers in a row: those before `done` are no longer ours, those before `end` are.
#[derive(Debug)]
struct Row {
    buffers: [*mut Buffer; BURST],
    done: usize,
    end: usize,
}

impl Row {
    const EMPTY: Self = Self { buffers: [null_mut(); BURST], done: 0, end: 0 };

    /// Gives what is left of it back.
    fn release(&mut self) {
        let ours = &mut self.buffers[self.done..self.end];
        // SAFETY: these buffers are ours, and are forgotten here.
        unsafe { pullnet_dpdk_release(ours.as_mut_ptr(), ours.len() as u16) };
        *self = Self::EMPTY;
    }
}

/// An open port with one queue in each direction.
#[derive(Debug)]
pub(super) struct Port {
    opened: Opened,
    buffer_room: usize,
    /// What has arrived; `read` of them have been looked at and are given back together.
    arrived: Row,
    read: usize,
    /// Frames that were passed over.
    too_long: u64,
    /// Buffers for sending; those before `written` hold frames.
    outgoing: Row,
    written: usize,
}

// SAFETY: a port and its buffers belong to no thread: they may be used by any, one at a time, which `&mut` makes sure of.
unsafe impl Send for Port {}

impl Port {
    /// Opens `device`; a buffer holds a frame of `buffer_room` bytes. DPDK must run until the port is dropped.
    pub fn open(device: &CStr, mtu: u16, frames: u16, buffer_room: u16) -> io::Result<Self> {
        let mut opened = Opened { pool: null_mut(), number: 0, mac: [0; 6] };
        let _alone = changing();
        // SAFETY: `device` ends with 0, and `opened` is what it says in C too.
        checked(unsafe { pullnet_dpdk_open(device.as_ptr(), mtu, frames, buffer_room, &mut opened) })?;
        let (arrived, outgoing) = (Row::EMPTY, Row::EMPTY);
        Ok(Self {
            opened,
            buffer_room: buffer_room.into(),
            arrived,
            read: 0,
            too_long: 0,
            outgoing,
            written: 0,
        })
    }

    pub fn mac(&self) -> [u8; 6] {
        self.opened.mac
    }

    /// Whether a frame has arrived that [`Port::take`] will return.
    pub fn has_frame(&mut self) -> bool {
        if self.read == self.arrived.end {
            self.arrived.release();
            self.read = 0;
            // SAFETY: the port is open, and the row, which is empty, has as much room as is said.
            let got = unsafe {
                pullnet_dpdk_receive(&self.opened, self.arrived.buffers.as_mut_ptr(), BURST as u16)
            };
            self.arrived.end = usize::from(got).min(BURST);
        }
        self.read < self.arrived.end
    }

    /// The next frame that has arrived. One that is too long for a buffer is passed over.
    pub fn take(&mut self) -> Option<&[u8]> {
        while self.has_frame() {
            let buffer = self.arrived.buffers[self.read];
            self.read += 1;
            let mut long = 0;
            // SAFETY: the buffer is ours until the row is released, for which the port has to be borrowed anew.
            let bytes = unsafe { pullnet_dpdk_bytes(buffer, &mut long) };
            if !bytes.is_null() {
                // SAFETY: as above; the buffer holds `long` bytes there.
                return Some(unsafe { std::slice::from_raw_parts(bytes, long as usize) });
            }
            self.too_long += 1;
        }
        None
    }

    /// Whether [`Port::room`] will return some; it has none while the driver takes nothing.
    pub fn has_room(&mut self) -> bool {
        if self.outgoing.done == self.outgoing.end {
            let buffers = self.outgoing.buffers.as_mut_ptr();
            // SAFETY: none of the row is ours at the moment, and it has as much room as is said.
            let failed = unsafe { pullnet_dpdk_allocate(&self.opened, buffers, BURST as u16) };
            (self.outgoing.done, self.written) = (0, 0);
            self.outgoing.end = if failed < 0 { 0 } else { BURST };
        }
        self.written < self.outgoing.end
    }

    /// Room for the next frame that is to be sent.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        self.has_room().then(|| {
            let buffer = self.outgoing.buffers[self.written];
            // SAFETY: the buffer is ours and fresh; the port was opened with buffers of so many bytes.
            unsafe { std::slice::from_raw_parts_mut(pullnet_dpdk_room(buffer), self.buffer_room) }
        })
    }

    /// A frame of `long` bytes has been written to [`Port::room`], and leaves with the next [`Port::transmit`].
    pub fn written(&mut self, long: usize) {
        assert!(self.written < self.outgoing.end && long <= self.buffer_room, "{long} B written");
        // SAFETY: the buffer is ours and has at least so many bytes.
        unsafe { pullnet_dpdk_written(self.outgoing.buffers[self.written], long as u16) };
        self.written += 1;
    }

    /// Hands to the driver what it takes of the frames that were written.
    pub fn transmit(&mut self) {
        while self.outgoing.done < self.written {
            let frames = &mut self.outgoing.buffers[self.outgoing.done..self.written];
            // SAFETY: these buffers are ours; those that the driver takes are its own from now on, and are passed over.
            let took = unsafe { pullnet_dpdk_send(&self.opened, frames.as_mut_ptr(), frames.len() as u16) };
            if took == 0 {
                return;
            }
            self.outgoing.done += usize::from(took).min(frames.len());
        }
    }

    /// Whether the other end can be reached.
    pub fn is_up(&self) -> bool {
        // SAFETY: the port is open.
        unsafe { pullnet_dpdk_is_up(&self.opened) != 0 }
    }

    /// How many frames found no room or were too long, and how many could not be sent.
    pub fn counted(&self) -> io::Result<(u64, u64)> {
        let (mut missed, mut refused) = (0, 0);
        // SAFETY: the port is open, and both numbers are written.
        checked(unsafe { pullnet_dpdk_counted(&self.opened, &mut missed, &mut refused) })?;
        Ok((missed + self.too_long, refused))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.arrived.release();
        self.outgoing.release();
        let _alone = changing();
        // SAFETY: the port is open, and none of its buffers are ours any more.
        unsafe { pullnet_dpdk_close(&self.opened) };
    }
}
