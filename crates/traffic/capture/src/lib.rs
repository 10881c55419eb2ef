//! Streams the packets of captures; memory use is independent of the capture's size.
//!
//! Formats: pcap (microseconds, nanoseconds, with the longer records of some patched kernels), pcapng (sections, interfaces,
//! every kind of packet block), ERF; each plain, in gzip or in zstd, in any byte order. Only a packet's time and its length
//! on the wire matter; a capture records both even if it holds only the packet's first bytes.
//!
//! **Damage.** For any input, reading terminates, and every byte of the content is either parsed or counted as skipped
//! ([`Losses`]). After damage the reader searches for the next place where records follow one another. It returns
//! [`Item::Break`] there, because packets may be missing between the last and the next.
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
pub use filter::{AddressField, Filter, Prefix, Verdict};
pub use input::{Compression, Consumed};
pub use losses::{Damage, DamageKind, Losses};
pub use packet::{Direction, Item, LinkType, Packet, Time};
pub use pcapng::{Writer, WrittenInterface};
pub use reader::{Format, Reader};
