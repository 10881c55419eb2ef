//! Messages on streams.

use std::io::{self, Read, Write};

use pullnet_host::{NdpStream, StreamError};

use crate::message::{Head, Sink, Source};

/// Bytes per read.
const READ: usize = 16 * 1024;

/// Writes a message without ending the stream.
pub(super) fn write(mut stream: &NdpStream, mut source: Source) -> Result<(), StreamError> {
    loop {
        let piece = source.next();
        if piece.is_empty() {
            return Ok(());
        }
        let long = piece.len();
        stream.write_all(piece).map_err(cause)?;
        source.take(long);
    }
}

/// Reads until the head is complete; `None` if the stream ended before.
pub(super) fn read_head(stream: &NdpStream, sink: &mut Sink) -> Result<Option<Head>, StreamError> {
    while sink.head().is_none() && read(stream, sink)? {}
    Ok(sink.head())
}

/// Reads to the end of the stream.
pub(super) fn read_all(stream: &NdpStream, sink: &mut Sink) -> Result<(), StreamError> {
    while read(stream, sink)? {}
    Ok(())
}

/// Reads the available bytes. False at the end of the stream.
fn read(mut stream: &NdpStream, sink: &mut Sink) -> Result<bool, StreamError> {
    let mut room = [0; READ];
    let got = stream.read(&mut room).map_err(cause)?;
    sink.take(&room[..got]);
    Ok(got > 0)
}

/// Unwraps the stream error inside an I/O error of `Read` or `Write`.
fn cause(error: io::Error) -> StreamError {
    error.downcast().unwrap_or_else(|error| StreamError::Stopped(error.to_string()))
}
