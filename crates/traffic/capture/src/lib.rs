//! Packets of captures as a stream, in memory that does not grow with the capture.
//!
//! Formats: pcap (microseconds, nanoseconds, with the longer records of some patched kernels), pcapng (sections,
//! interfaces, every kind of packet block), ERF; each plain, in gzip or in zstd, of any byte order. Of a packet matter
//! its time and its length on the wire, which a capture knows even where it holds only the first bytes.
//!
//! **Damage.** Whatever bytes come in, reading ends, and every byte of the content is either understood or counted as
//! skipped ([`Losses`]). After damage the reader looks for the next place where records follow one another, and says by
//! [`Item::Break`] that packets may be missing between the last and the next.
#![forbid(unsafe_code)]

mod bytes;
mod classify;
mod erf;
mod error;
mod filter;
mod input;
mod losses;
mod packet;
mod pcap;
mod pcapng;
mod reader;
mod resync;
mod window;

pub use classify::{Headers, headers};
pub use error::{CaptureError, FilterError};
pub use filter::{Filter, Prefix, Side, Verdict};
pub use input::{Compression, Consumed};
pub use losses::{Damage, DamageKind, Losses};
pub use packet::{Direction, Item, LinkType, Packet, Time};
pub use pcapng::{Writer, WrittenInterface};
pub use reader::{Format, Reader};
