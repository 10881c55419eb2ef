//! Sources of bytes: plain or compressed, detected by the first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compression of the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several.
    Zstd,
}

impl Compression {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Number of bytes of the stored file consumed so far.
#[derive(Clone, Default, Debug)]
pub struct Consumed(Arc<AtomicU64>);

impl Consumed {
    /// Bytes so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts consumed bytes; bytes read ahead do not count.
struct Counted<R> {
    inner: R,
    consumed: Consumed,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.consumed.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }
    fn consume(&mut self, count: usize) {
        self.consumed.0.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes per read from the operating system.
const AT_ONCE: usize = 1 << 18;

type Stored = Counted<BufReader<io::Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>>;

/// The decompressed content and, after damage, the remaining stored bytes.
pub(crate) struct Input {
    decoder: Decoder,
    pub compression: Compression,
    pub consumed: Consumed,
}

enum Decoder {
    Plain(Stored),
    Gzip(Gzip),
    Zstd(zstd::stream::read::Decoder<'static, Stored>),
    Failed,
}

impl Input {
    pub(crate) fn new(mut source: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut begin = Vec::new();
        source.by_ref().take(4).read_to_end(&mut begin)?;
        let compression = compression(&begin);
        let consumed = Consumed::default();
        let stored = BufReader::with_capacity(AT_ONCE, Cursor::new(begin).chain(source));
        let stored = Counted { inner: stored, consumed: consumed.clone() };
        let decoder = match compression {
            Compression::None => Decoder::Plain(stored),
            Compression::Gzip => Decoder::Gzip(Gzip::new(stored)),
            Compression::Zstd => Decoder::Zstd(zstd::stream::read::Decoder::with_buffer(stored)?),
        };
        Ok(Self { decoder, compression, consumed })
    }

    /// Abandons the content and counts the remaining stored bytes.
    pub(crate) fn abandon(&mut self) -> u64 {
        let rest = match std::mem::replace(&mut self.decoder, Decoder::Failed) {
            Decoder::Plain(stored) => stored,
            Decoder::Gzip(Gzip::Member(decoder)) => decoder.into_inner(),
            Decoder::Gzip(Gzip::Behind(stored)) => stored,
            Decoder::Gzip(Gzip::Moving) => return 0,
            Decoder::Zstd(decoder) => decoder.finish(),
            Decoder::Failed => return 0,
        };
        count(rest)
    }
}

/// Number of bytes to the end, or to the first read error.
fn count(mut rest: impl Read) -> u64 {
    let mut scratch = vec![0; AT_ONCE];
    let mut total = 0;
    while let Ok(count @ 1..) = rest.read(&mut scratch) {
        total += count as u64;
    }
    total
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.decoder {
            Decoder::Plain(stored) => stored.read(into),
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
            Decoder::Failed => Ok(0),
        }
    }
}

/// Consecutive gzip members. Trailing bytes that are not a member are left for [`Input::abandon`] to count.
enum Gzip {
    Member(flate2::bufread::GzDecoder<Stored>),
    Behind(Stored),
    Moving,
}

impl Gzip {
    fn new(stored: Stored) -> Self {
        Self::Member(flate2::bufread::GzDecoder::new(stored))
    }

    /// Continues after the end of a member; returns whether there is another one.
    fn next_member(&mut self) -> io::Result<bool> {
        let Self::Member(decoder) = std::mem::replace(self, Self::Moving) else { return Ok(false) };
        let mut stored = decoder.into_inner();
        let next = stored.fill_buf().map(|bytes| bytes.first().copied());
        let another = matches!(next, Ok(Some(first)) if first == GZIP[0]);
        *self = if another { Self::new(stored) } else { Self::Behind(stored) };
        match next? {
            Some(_) if !another => Err(io::Error::other("what follows is no member of it")),
            _ => Ok(another),
        }
    }
}

impl Read for Gzip {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Self::Member(decoder) = self {
            let count = decoder.read(into)?;
            if count > 0 || into.is_empty() || !self.next_member()? {
                return Ok(count);
            }
        }
        Ok(0)
    }
}

fn compression(begin: &[u8]) -> Compression {
    if begin.starts_with(GZIP) {
        Compression::Gzip
    } else if begin == ZSTD {
        Compression::Zstd
    } else {
        Compression::None
    }
}
