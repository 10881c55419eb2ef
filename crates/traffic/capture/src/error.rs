use thiserror::Error;

/// Why a file is no capture at all.
#[derive(Error, Debug)]
pub enum CaptureError {
    /// No bytes.
    #[error("is empty; a capture has at least a header of 24 bytes")]
    Empty,
    /// Neither of the formats.
    #[error(
        "is not a capture: it begins with {begin}; known are pcap, pcapng and ERF, plain or compressed by gzip or zstd"
    )]
    Unknown {
        /// The first bytes in hexadecimal.
        begin: String,
    },
    /// A pcap or pcapng that ends before its first header does.
    #[error("ends after {len} bytes, within the first header of a {format} file")]
    ShortHeader {
        /// Which format it is by its first bytes.
        format: &'static str,
        /// How long the content is. Unit: bytes.
        len: u64,
    },
    /// A version of a format that nothing is known of.
    #[error("is {format} version {major}.{minor}; version {known} can be read")]
    Version {
        /// The format.
        format: &'static str,
        /// Stated version.
        major: u16,
        /// Stated version.
        minor: u16,
        /// What can be read.
        known: &'static str,
    },
    /// The first bytes cannot be read, or not be decompressed.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Why a text is no filter.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
pub enum FilterError {
    /// A word that means nothing here.
    #[error(
        "`{0}` is no filter; use in, out, tcp, udp, icmp, proto N, src PREFIX, dst PREFIX, net PREFIX, interface N, \
         joined by commas"
    )]
    Word(String),
    /// A word that needs another behind it.
    #[error("`{0}` has nothing behind it; write for instance `{1}`")]
    Missing(String, &'static str),
    /// No prefix.
    #[error("`{0}` is not a prefix; write for instance 10.0.0.0/8 or 2001:db8::/32")]
    Prefix(String),
    /// Bits behind the length of a prefix.
    #[error("`{given}` has bits behind its length; write {meant}")]
    HostBits {
        /// What was given.
        given: String,
        /// The same without these bits.
        meant: String,
    },
    /// No number, or too large a one.
    #[error("`{0}` is not a number from 0 to {1}")]
    Number(String, u32),
    /// A term twice.
    #[error("`{0}` and `{1}` ask for two things at once; no packet is both")]
    Twice(String, String),
    /// Nothing asked for.
    #[error("an empty filter; leave it out to count every packet")]
    Empty,
}
