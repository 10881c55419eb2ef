//! Arbitrary bytes are an NDP frame or rejected; a parsed header is encoded to the same header; a switch's edits never
//! panic, and preserve the meaning of the header.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_wire::switch::{self, Lengths};
use pullnet_wire::{Mark, Marks, PORT, Packet, parse};

fn check(frame: &[u8], marks: &Marks) -> Option<Packet> {
    let arrived = parse(frame, marks, PORT).ok()?;
    let again = arrived.packet.encode((&[], &[]));
    assert_eq!(Packet::decode(&again), Ok(arrived.packet));
    assert!(
        arrived.payload.is_empty() || arrived.payload.len() == usize::from(arrived.packet.shape.length())
    );
    Some(arrived.packet)
}

/// Corrects wrong checksums in a frame, so that the code after the checks is reached.
fn seal(frame: &mut [u8]) {
    if frame.len() >= 74 && frame[12..14] == [8, 0] && frame[14] == 0x45 {
        let check = pullnet_wire::crc32c(&[&frame[26..30], &frame[30..34], &frame[42..70]]);
        frame[70..74].copy_from_slice(&check.to_be_bytes());
        let mark = switch::mark(frame, &Marks::default());
        mark.map(|mark| switch::set_mark(frame, mark, &Marks::default()));
    }
}

fuzz_target!(|input: (bool, u8, Vec<u8>)| {
    let (sealed, keep, mut frame) = input;
    let marks = Marks::default();
    if sealed {
        seal(&mut frame);
    }
    // Trimming a returned header, which no switch does, would undo the return.
    let back = switch::mark(&frame, &marks) == Some(Mark::Returned);
    let before = check(&frame, &marks).filter(|_| !back);
    let lengths = if keep & 1 == 0 { Lengths::Corrected } else { Lengths::Kept };
    if let Some(long) = switch::trim(&mut frame, keep.into(), lengths, &marks) {
        frame.truncate(long);
        if before.is_some() {
            assert_eq!(check(&frame, &marks), before);
        }
    }
    switch::send_back(&mut frame, &marks);
    check(&frame, &marks);
    let _ = (switch::label(&frame), switch::datagram(&frame), switch::least(&frame));
});
