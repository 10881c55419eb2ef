use thiserror::Error;

/// Reasons why a file is not a readable capture.
#[derive(Error, Debug)]
pub enum CaptureError {
    /// The file is empty.
    #[error("is empty; a capture has at least a header of 24 bytes")]
    Empty,
    /// The format is unknown.
    #[error(
        "is not a capture: it begins with {begin}; known are pcap, pcapng and ERF, plain or compressed by gzip or zstd"
    )]
    Unknown {
        /// The first bytes in hexadecimal.
        begin: String,
    },
    /// A pcap or pcapng file that ends within its first header.
    #[error("ends after {len} bytes, within the first header of a {format} file")]
    ShortHeader {
        /// Format according to the first bytes.
        format: &'static str,
        /// Length of the content. Unit: bytes.
        len: u64,
    },
    /// An unsupported version of the format.
    #[error("is {format} version {major}.{minor}; version {known} can be read")]
    Version {
        /// The format.
        format: &'static str,
        /// Major version in the file.
        major: u16,
        /// Minor version in the file.
        minor: u16,
        /// The supported version.
        known: &'static str,
    },
    /// The first bytes cannot be read or decompressed.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Reasons why a text is not a filter.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
pub enum FilterError {
    /// An unknown word.
    #[error(
        "`{0}` is no filter; use in, out, tcp, udp, icmp, proto N, src PREFIX, dst PREFIX, net PREFIX, interface N, \
         joined by commas"
    )]
    Word(String),
    /// A word without its argument.
    #[error("`{0}` has nothing behind it; write for instance `{1}`")]
    Missing(String, &'static str),
    /// Not a prefix.
    #[error("`{0}` is not a prefix; write for instance 10.0.0.0/8 or 2001:db8::/32")]
    Prefix(String),
    /// A prefix with bits set beyond its length.
    #[error("`{given}` has bits behind its length; write {meant}")]
    HostBits {
        /// The text of the prefix.
        given: String,
        /// The prefix with these bits cleared.
        meant: String,
    },
    /// Not a number, or too large.
    #[error("`{0}` is not a number from 0 to {1}")]
    Number(String, u32),
    /// A repeated or conflicting term.
    #[error("`{0}` and `{1}` ask for two things at once; no packet is both")]
    Twice(String, String),
    /// The filter is empty.
    #[error("an empty filter; leave it out to count every packet")]
    Empty,
}

/// Bytes as an error shows them.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
