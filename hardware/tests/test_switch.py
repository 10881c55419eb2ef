"""Single frames through the whole switch."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

BEAT = 16
MAX_FRAME = 1664


def checksum(header: bytes) -> int:
    """Return the sum of RFC 1071: 0 for a header whose checksum is right."""
    total = sum(int.from_bytes(header[n : n + 2], "big") for n in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(to: int, dscp: int, payload: int, *, protocol: int = 17, flags: int = 0xC000) -> bytes:
    """Build an NDP frame from port 0; with protocol 199 in the artifact's layout, whose flags come first."""
    ip = bytearray([0x45, dscp << 2, *(20 + 40 + payload).to_bytes(2, "big"), 0, 0, 0x40, 0, 64, protocol, 0, 0])
    ip += bytes([10, 0, 0, 1, 10, 0, 0, 2])
    ip[10:12] = checksum(bytes(ip)).to_bytes(2, "big")
    carried = flags.to_bytes(2, "big") + bytes([0xEE, 0x48]) + (40 + payload).to_bytes(2, "big") + bytes(range(34))
    body = bytes(n % 251 for n in range(payload))
    return bytes([2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 0x20, 8, 0]) + bytes(ip) + carried + body


async def write(dut: Any, address: int, value: int) -> None:
    """Write a register."""
    dut.host_write.value, dut.host_address.value, dut.host_write_data.value = 1, address, value
    await FallingEdge(dut.clk)
    dut.host_write.value = 0


async def start(dut: Any, flags: int = 0b1100) -> None:
    """Reset, and addresses 02:...:n behind port n."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for name in ("rx_valid", "rx_last", "rx_wrong", "rx_empty", "rx_data", "tx_ready", "host_write", "coin"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(4):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await write(dut, 0x01, flags)
    for port in range(4):
        words = (port, 1 << 16 | 0x0200, port, 0xFFFF)
        for at, word in enumerate(words):
            await write(dut, 0x40 + 4 * port + at, word)
    # The sender of the test's frames.
    for at, word in enumerate((0x20, 1 << 16 | 0x0200, 0, 0xFFFF)):
        await write(dut, 0x50 + at, word)


async def send(dut: Any, data: bytes, late: int = 0) -> None:
    """Give a frame to port 0, its last beat `late` cycles behind the others."""
    for at in range(0, len(data), BEAT):
        beat = data[at : at + BEAT]
        if late and at + BEAT >= len(data):
            dut.rx_valid.value = 0
            for _ in range(late):
                await FallingEdge(dut.clk)
        dut.rx_valid.value = 1
        dut.rx_last.value = int(at + BEAT >= len(data))
        dut.rx_empty.value = BEAT - len(beat)
        dut.rx_data.value = int.from_bytes(beat, "little")
        while True:
            ready = int(dut.rx_ready.value) & 1
            await FallingEdge(dut.clk)
            if ready:
                break
    dut.rx_valid.value = 0


async def collect(dut: Any, port: int, cycles: int = 3000) -> list[bytes]:
    """Take all frames that leave by a port."""
    frames, current = [], b""
    dut.tx_ready.value = int(dut.tx_ready.value) | 1 << port
    for _ in range(cycles):
        if int(dut.tx_valid.value) >> port & 1:
            current += (int(dut.tx_data.value) >> (128 * port) & (1 << 128) - 1).to_bytes(16, "little")
            if int(dut.tx_last.value) >> port & 1:
                empty = int(dut.tx_empty.value) >> (4 * port) & 15
                frames.append(current[: len(current) - empty])
                current = b""
        await FallingEdge(dut.clk)
    return frames


async def read(dut: Any, address: int) -> int:
    """Read a register."""
    dut.host_address.value = address
    for _ in range(6):
        await FallingEdge(dut.clk)
    return int(dut.host_read_data.value)


async def counter(dut: Any, port: int, number: int) -> int:
    """Read a counter."""
    return await read(dut, 0x80 + 32 * port + number)


@cocotb.test()
async def a_full_queue_trims_and_the_header_is_valid_and_first(dut: Any) -> None:
    """Eight frames are held; of the ninth and tenth the headers overtake them."""
    await start(dut)
    dut.coin.value = 1
    whole = frame(1, 3, 1436)
    for _ in range(10):
        await send(dut, whole)
    for _ in range(300):
        await FallingEdge(dut.clk)
    frames = await collect(dut, 1)
    assert sorted(len(one) for one in frames) == [74, 74] + [1510] * 8
    assert [len(one) for one in frames[:3]] == [1510, 74, 74]
    header = frames[1]
    assert header[15] >> 2 == 7
    assert checksum(header[14:34]) == 0
    assert int.from_bytes(header[16:18], "big") == 60
    assert int.from_bytes(header[38:40], "big") == 40
    assert header[40:74] == whole[40:74]
    assert all(one == whole for one in frames if len(one) > 74)
    assert await counter(dut, 1, 10) == 2


@cocotb.test()
async def a_full_control_queue_sends_headers_back(dut: Any) -> None:
    """The header returns to port 0 with exchanged addresses and ports."""
    await start(dut)
    dut.coin.value = 1
    await write(dut, 0x02, 1)
    await write(dut, 0x03, 1)
    whole = frame(1, 3, 1436)
    # One in service, one header waits, the third goes back.
    for _ in range(3):
        await send(dut, whole)
    back = await collect(dut, 0, 400)
    assert len(back) == 1
    assert back[0][:12] == whole[6:12] + whole[:6]
    assert back[0][26:34] == whole[30:34] + whole[26:30]
    assert back[0][34:36] == whole[36:38]
    assert back[0][36:38] == whole[44:46]
    assert back[0][15] >> 2 == 15
    assert checksum(back[0][14:34]) == 0
    assert await counter(dut, 1, 14) == 1


@cocotb.test()
async def settings_are_read_back_as_they_are_in_force(dut: Any) -> None:
    """A trim leaves 128 B at most, and in the artifact's layout nothing is sent back; the rest is as it was written."""
    await start(dut, 0b1111_1111)
    written = {0x02: 0x12345, 0x03: 0xFEDCB, 0x04: 0x21 << 16 | 129 << 8 | 7, 0x05: 0x3F011F2A}
    for address, word in written.items():
        await write(dut, address, word)
    found = [await read(dut, address) for address in range(6)]
    assert found == [0x504E5701, 0b1111_0111, 0x12345, 0xFEDCB, 0x21 << 16 | 128 << 8 | 7, 0x3F011F2A]
    for trim_to in (64, 128, 255):
        await write(dut, 0x04, trim_to << 8)
        assert await read(dut, 0x04) == min(trim_to, 128) << 8


@cocotb.test()
async def a_trim_leaves_bytes_of_its_own_frame_only(dut: Any) -> None:
    """Trims to the largest length: cells of the payloads are reused before the headers leave."""
    await start(dut)
    dut.coin.value = 1
    await write(dut, 0x04, 255 << 8 | 10)
    whole = frame(1, 3, 1436)
    for _ in range(10):
        await send(dut, whole)
    # As many frames as there are places for payloads.
    foreign = frame(2, 3, 0) + b"\xee" * 1436
    dut.tx_ready.value = 0b0100
    for _ in range(56):
        await send(dut, foreign)
    headers = [one for one in await collect(dut, 1) if len(one) < len(whole)]
    assert [len(one) for one in headers] == [128, 128]
    assert all(one[40:] == whole[40:128] for one in headers)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_line_that_stands_still_leaves_memory_to_the_others(dut: Any) -> None:
    """Of long control frames one is in service and three wait; the others are dropped and counted."""
    await start(dut)
    long, count = frame(1, 11, 1436), 60
    for _ in range(count):
        await send(dut, long)
    whole = frame(2, 3, 1436)
    collected = cocotb.start_soon(collect(dut, 2, 8000))
    for _ in range(count):
        await send(dut, whole)
    assert await collected == [whole] * count
    assert await counter(dut, 1, 8) == count - 4
    assert await collect(dut, 1) == [long] * 4


@cocotb.test()
async def the_artifacts_layout_is_trimmed_to_54_bytes(dut: Any) -> None:
    """IP protocol 199: 40 bytes of IP are left, with the NDP checksum zero; flags of an ACK go first."""
    await start(dut, 0b1000_1000)
    await write(dut, 0x02, 1)
    data, ack = frame(1, 0, 1000, protocol=199, flags=1), frame(1, 0, 100, protocol=199, flags=2)
    for one in (data, data, ack):
        await send(dut, one)
    for _ in range(200):
        await FallingEdge(dut.clk)
    frames = await collect(dut, 1, 600)
    assert [len(one) for one in frames] == [len(data), 54, len(ack)]
    assert int.from_bytes(frames[1][16:18], "big") == 40
    assert checksum(frames[1][14:34]) == 0
    assert frames[1][36:38] == b"\0\0"
    assert frames[2] == ack


@cocotb.test()
async def a_wrong_check_sequence_is_counted_and_leaves_nothing(dut: Any) -> None:
    """A frame with a wrong check sequence, and one that is too long."""
    await start(dut)
    dut.rx_wrong.value = 1
    await send(dut, frame(1, 3, 100))
    dut.rx_wrong.value = 0
    await send(dut, frame(1, 3, 1700))
    good = frame(1, 3, 77)
    await send(dut, good)
    assert await collect(dut, 1, 300) == [good]
    assert await counter(dut, 0, 4) == 2


@cocotb.test()
async def a_frame_that_is_too_long_is_thrown_away_whole_whenever_its_beats_come(dut: Any) -> None:
    """Its last cell has one to eight beats; the final beat comes late."""
    await start(dut)
    good = frame(1, 3, 77)
    lengths = [MAX_FRAME + BEAT * beats for beats in range(1, 9)]
    for length in lengths:
        for late in (3, 8, 20):
            await send(dut, frame(1, 3, length - len(frame(1, 3, 0))), late)
            await send(dut, good)
            assert await collect(dut, 1, 200) == [good], f"behind {length} B, the last beat {late} cycles late"
    assert await counter(dut, 0, 4) == 3 * len(lengths)
