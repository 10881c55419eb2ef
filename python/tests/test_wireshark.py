"""The dissector for Wireshark reads every vector of the wire format as the hosts do."""

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pullnet
from pullnet.runs.capture import parts as capture_parts

from .conftest import COMMAND

ROOT = Path(__file__).parents[2]
TSHARK = shutil.which("tshark")
DISSECTOR = ROOT / "python" / "pullnet" / "wireshark" / "pullnet.lua"
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="needs tshark (on Debian: apt-get install tshark)")
NAMES_OF_TYPES = {"data": 0, "ack": 1, "nack": 2, "pull": 3, "probe": 4, "reset": 5, "hello": 6, "cookie": 7}


def vectors(name: str) -> list[dict[str, Any]]:
    lines = (ROOT / "vectors" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def capture(file: Path, frames: list[bytes], lengths: list[int] | None = None) -> Path:
    """A pcap file of one frame per millisecond; `lengths` are those on the line where a capture cut them."""
    packets = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)]
    for at, (frame, length) in enumerate(zip(frames, lengths or map(len, frames), strict=True)):
        packets.append(struct.pack("<IIII", 0, at * 1000, len(frame), length) + frame)
    file.write_bytes(b"".join(packets))
    return file


def tshark(file: Path, *options: str, dissector: Path | None = DISSECTOR) -> str:
    script = [] if dissector is None else ["-X", f"lua_script:{dissector}"]
    done = subprocess.run(
        [str(TSHARK), *script, "-r", str(file), *options],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def fields(file: Path, *options: str) -> list[dict[str, Any]]:
    """Fields of pullnet of every packet, without their prefix; an empty dictionary for other packets."""
    packets = json.loads(tshark(file, "-T", "json", "--no-duplicate-keys", *options))
    found = []
    for packet in packets:
        layer = packet["_source"]["layers"].get("pullnet", {})
        flat: dict[str, Any] = {}
        flatten(layer, flat)
        found.append(flat)
    return found


def flatten(layer: dict[str, Any], into: dict[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, dict):
            flatten(value, into)
        elif key.startswith("pullnet.") and not key.endswith("_tree"):
            into[key.removeprefix("pullnet.")] = value


def expect_ndp(found: dict[str, Any], is_: dict[str, Any]) -> None:
    """Compare the fields of an accepted frame with what the vector says of it."""
    packet: dict[str, Any] = dict(is_["packet"])
    kind: str = packet.pop("type")
    assert (found["version"], found["transport"], int(found["type"])) == ("2", "ndp", NAMES_OF_TYPES[kind])
    assert found["kind"] == kind.upper()
    assert (int(found["home_port"]), found["check_status"]) == (is_["home"], "right")
    if kind not in {"hello", "cookie"}:
        assert (int(found["connection"], 16), int(found["tag"], 16)) == (is_["conn"], int(is_["tag"], 16))
    if is_["mark"] is not None:
        assert found["mark"] == is_["mark"]
    if is_["fate"] != "returned":
        assert int(found["path"]) == is_["label"]
    if kind == "data" or is_["fate"] == "returned":
        fate = {"damaged": "whole"}.get(is_["fate"], is_["fate"])
        assert found["fate"] == fate
        if fate == "whole":
            assert found["payload_status"].startswith("wrong" if is_["fate"] == "damaged" else "right")
        if is_["payload"]:
            assert found["payload"].replace(":", "") == is_["payload"]
    names = {"seq": "number", "by_sender": "from_sender"}
    if kind == "pull":
        names["number"] = "pull"
    for key, value in packet.items():
        if value is None or (key == "stamp" and not packet["syn"]):
            continue
        mine = found[names.get(key, key)]
        if isinstance(value, bool):
            assert mine in {str(int(value)), str(value)}, key
        elif key in {"nonce", "token", "also"}:
            assert int(mine, 16) == (int(value, 16) if isinstance(value, str) else value), key
        else:
            assert int(mine) == value, key


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)


@needs_tshark
def test_every_accepted_frame_of_ndp_has_the_fields_of_its_vector(tmp_path: Path) -> None:
    listed = vectors("wire")
    found = fields(capture(tmp_path / "ndp.pcap", [bytes.fromhex(one["frame"]) for one in listed]))
    accepted = 0
    for one, mine in zip(listed, found, strict=True):
        if "refused" not in one["is"]:
            expect_ndp(mine, one["is"])
            accepted += 1
    assert accepted > 20


@needs_tshark
def test_a_wrong_header_check_is_an_error(tmp_path: Path) -> None:
    wrong = [one for one in vectors("wire") if "check is" in one["is"].get("refused", "")]
    frames = [bytes.fromhex(one["frame"]) for one in wrong]
    # At the home port a frame is shown as wrong; at another port it is not taken for one of ours.
    file = capture(tmp_path / "wrong.pcap", frames)
    for one, mine in zip(wrong, fields(file, "-d", "udp.port==61199,pullnet"), strict=True):
        right = one["is"]["refused"].split()[-4]
        assert right in mine["check_status"], mine
    other = [frame[:36] + (7000).to_bytes(2, "big") + frame[38:] for frame in frames]
    assert fields(capture(tmp_path / "other.pcap", other)) == [{}] * len(other)


@needs_tshark
def test_what_hosts_refuse_by_its_form_is_an_error(tmp_path: Path) -> None:
    listed = [one for one in vectors("wire") if re.match(r"byte (1[2-9]|1):", one["is"].get("refused", ""))]
    file = capture(tmp_path / "form.pcap", [bytes.fromhex(one["frame"]) for one in listed])
    shown = tshark(file, "-Y", "pullnet.expert.format").splitlines()
    assert len(shown) == len(listed) >= 2
    accepted = [bytes.fromhex(one["frame"]) for one in vectors("wire") if "refused" not in one["is"]]
    assert tshark(capture(tmp_path / "right.pcap", accepted), "-Y", "pullnet.expert.format") == ""


@needs_tshark
def test_other_protocols_are_not_taken_for_encrypted_packets(tmp_path: Path) -> None:
    sealed = bytes.fromhex(vectors("sealed")[0]["frame"])
    assert len(tshark(capture(tmp_path / "ours.pcap", [at_port(sealed, 34, 7777)]), "-Y", "pullnet").splitlines()) == 1
    # A QUIC packet may begin with the same byte; its flags and zeros are not those of a packet of ours.
    others = [sealed[:43] + bytes([flags]) + sealed[44:] for flags in (0x08, 0x40, 0x80)]
    others.append(sealed[:42] + b"\x40\x00" + bytes(range(1, 100)))
    for frame in others:
        assert tshark(capture(tmp_path / "other.pcap", [at_port(frame, 34, 7777)]), "-Y", "pullnet") == ""


@needs_tshark
def test_packets_of_all_other_transports_have_the_words_of_their_vectors(tmp_path: Path) -> None:
    listed = vectors("transports")
    found = fields(capture(tmp_path / "others.pcap", [bytes.fromhex(one["frame"]) for one in listed]))
    for one, mine in zip(listed, found, strict=True):
        words = one["words"]
        assert (mine["transport"], mine["check_status"]) == (one["protocol"], "right")
        assert mine["kind"] == one["type"].upper()
        assert (int(mine["connection"], 16), int(mine["flags"], 16) & 0xF0) == (words[0], one["flags"])
        for name, value in expected_words(one).items():
            assert int(mine[name]) == value, (one["protocol"], one["type"], name)
        if one["payload"]:
            assert mine["payload"].replace(":", "") == one["payload"]


def expected_words(one: dict[str, Any]) -> dict[str, int]:
    """Fields of a packet whose place docs/wire.md states, by transport and type."""
    words, at = one["words"], (one["protocol"], one["type"])
    if one["type"] == "ack":
        return {"first_missing": words[1], "answered": words[2]}
    if at == ("scdp", "symbol"):
        return {"block": words[1], "symbol": words[2] & 0xFFFFFF, "object_low": words[3], "senders": words[9] & 0xFFFF}
    if at == ("scdp", "pull"):
        return {"pull": words[1], "first_undecoded": words[2], "repair_pulled": words[4]}
    if one["protocol"] in {"d3", "rcp"}:
        return {"number": words[1], "desired": words[2] & 0xFFFFFF, "request": words[10] >> 24 & 0x7F}
    if one["protocol"] == "pdq":
        return {"number": words[1], "host": words[2], "paused_by": words[4] >> 24, "question": words[8] >> 16 & 0xFF}
    return {"number": words[1]} if one["type"] in {"data", "nack"} else {}


@needs_tshark
def test_encrypted_packets_show_their_headers(tmp_path: Path) -> None:
    listed = vectors("sealed")
    file = capture(tmp_path / "sealed.pcap", [bytes.fromhex(one["frame"]) for one in listed])
    for one, mine in zip(listed, fields(file), strict=True):
        covered = bytes.fromhex(one["covered"])
        assert (mine["version"], int(mine["key"])) == ("4", int.from_bytes(covered[28:30], "big"))
        assert int(mine["connection"], 16) == int.from_bytes(covered[4:8], "big")
        assert "payload_status" not in mine


@needs_tshark
@pytest.mark.parametrize("port", [61199, 7777])
@pytest.mark.parametrize("name", ["data", "data over IPv6"])
def test_an_answer_and_its_packet_name_each_other(tmp_path: Path, port: int, name: str) -> None:
    by_name = {one["name"]: bytes.fromhex(one["frame"]) for one in vectors("wire")}
    data = by_name[name]
    header = 54 if name.endswith("IPv6") else 34
    # Vectors all go one way: the answer goes back, with an ACK's header behind the same IP.
    ack = data[: header + 8] + by_name["ack"][42:]
    frames = [at_port(data, header, port), at_port(exchanged(ack, header), header, port)]
    found = fields(capture(tmp_path / "talk.pcap", frames), "-2")
    assert (found[0]["acked_in"], found[1]["acks_frame"]) == ("2", "1")
    assert found[1]["answer_time"] == "0.001000000"
    assert [one["check_status"] for one in found] == ["right", "right"]


def at_port(frame: bytes, header: int, port: int) -> bytes:
    return frame[: header + 2] + port.to_bytes(2, "big") + frame[header + 4 :]


def exchanged(frame: bytes, header: int) -> bytes:
    """A frame whose IP header ends at `header`, with its addresses exchanged and the check that belongs to them."""
    long = 16 if header == 54 else 4
    source, target = frame[header - 2 * long : header - long], frame[header - long : header]
    body = frame[header + 8 :]
    check = crc32c(target + source + body[:28]).to_bytes(4, "big")
    return frame[: header - 2 * long] + target + source + frame[header : header + 8] + body[:28] + check + body[32:]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@needs_tshark
def test_a_frame_that_the_capture_cut_is_not_taken_for_trimmed(tmp_path: Path) -> None:
    data = bytes.fromhex(next(one["frame"] for one in vectors("wire") if one["name"] == "data"))
    found = fields(capture(tmp_path / "snap.pcap", [data[:80]], [len(data)]))
    assert found[0]["fate"] == "whole"
    assert "payload_status" not in found[0]


@needs_tshark
def test_any_bytes_in_a_datagram_are_shown_without_an_error_of_lua(tmp_path: Path) -> None:
    frames = [bytes.fromhex(one["frame"]) for name in ("wire", "transports", "sealed") for one in vectors(name)]
    broken = [
        frame[:42] + bytes((byte * 7 + at) & 0xFF for byte in frame[42:])
        for at, frame in enumerate(frames)
        if len(frame) > 42
    ]
    cut = [frame[:length] for frame in frames for length in range(42, min(len(frame), 130), 5)]
    heads = [frames[0][:42] + bytes([first, second]) + bytes(150) for first in range(256) for second in (0, 255)]
    text = tshark(capture(tmp_path / "any.pcap", broken + cut + heads), "-d", "udp.port==61199,pullnet", "-V")
    assert "Lua Error" not in text


SIMULATED = """name = "small"
until = "all flows done"
seed = 3
[topology]
kind = "star"
hosts = 9
link = { rate = "10 Gbps", delay = "1 us" }
[transport]
kind = "KIND"
[switch]
kind = "SWITCH"
[[traffic]]
kind = "incast"
to = 0
degree = 8
size = "60 kB"
[probes]
packets = true
"""


@needs_tshark
@pytest.mark.parametrize(("kind", "switch"), [("ndp", "trim"), ("tcp", "drop-tail"), ("homa", "priority")])
def test_simulated_packets_are_those_of_the_table(tmp_path: Path, kind: str, switch: str) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SIMULATED.replace("KIND", kind).replace("SWITCH", switch), encoding="utf-8")
    result = pullnet.run(scenario)
    pullnet.export_packets(result, tmp_path / "small.pcapng")
    rows = result.packets.sort("at_ps", maintain_order=True)
    names = ["ip.src", "ip.dst", "frame.time_epoch", "frame.interface_name", "frame.len", "ip.checksum.status"]
    names += [f"pullnet.{name}" for name in ("fate", "kind", "flags", "flow", "number", "extra", "path")]
    asked = [word for name in names for word in ("-e", name)]
    text = tshark(
        tmp_path / "small.pcapng", "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=;", *asked
    )
    lines = [line.split(";") for line in text.splitlines()]
    assert len(lines) == rows.height > 100
    for line, row in zip(lines, rows.iter_rows(named=True), strict=True):
        ends = [f"10.0.0.{row['host'] + 1}", f"10.0.0.{row['peer'] + 1}"]
        source, target = ends if row["direction"] == "sent" else reversed(ends)
        length = max(row["wire_bytes"], 64) if row["fate"] == "whole" else 64
        path = "" if row["path"] is None else str(row["path"])
        nanoseconds = row["at_ps"] // 1000
        time = f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}"
        assert line == [
            *[source, target, time, f"host {row['host']}", str(length), "1"],
            *[row["fate"], row["kind"].upper(), f"0x{row['flags']:02x}", str(row["flow"])],
            *[str(row["number"]), str(row["extra"]), path],
        ]
    if kind == "ndp":
        assert rows.filter(fate="trimmed").height > 10


@needs_tshark
def test_only_paths_that_have_a_source_port_are_shown(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SIMULATED.replace("KIND", "ndp").replace("SWITCH", "trim"), encoding="utf-8")
    row = pullnet.run(scenario).packets.filter(direction="sent").head(1)
    paths = [0, 12_047, 16_383, 16_384, 65_535]  # the second has the home port for a source port
    rows = pl.concat([row.with_columns(path=pl.lit(path, row["path"].dtype)) for path in paths])
    (tmp_path / "paths.pcapng").write_bytes(b"".join(capture_parts(rows, "paths.pcapng")))
    shown = tshark(tmp_path / "paths.pcapng", "-T", "fields", "-e", "pullnet.path").splitlines()
    assert shown == ["0", "12047", "16383", "", ""]


def test_packets_that_were_not_recorded_are_not_exported(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    text = SIMULATED.replace("KIND", "ndp").replace("SWITCH", "trim")
    scenario.write_text(text.replace("packets = true", ""), encoding="utf-8")
    with pytest.raises(pullnet.NotRecordedError, match=r"packets = true"):
        pullnet.export_packets(pullnet.run(scenario), tmp_path / "small.pcapng")
    scenario.write_text(text, encoding="utf-8")
    for name, said in (("small.pcap", r"ending `.pcap` names no format; use .pcapng"), ("small", "without ending")):
        with pytest.raises(pullnet.InputError, match=said):
            pullnet.export_packets(pullnet.run(scenario), tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]


@needs_tshark
def test_it_is_found_in_the_folder_of_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = command("wireshark")
    written = tmp_path / ".local/lib/wireshark/plugins/pullnet.lua"
    assert (done.returncode, done.stdout) == (0, f"{written} written\n")
    frames = [bytes.fromhex(one["frame"]) for one in vectors("transports")]
    file = capture(tmp_path / "a.pcap", frames)
    assert "dctcp ACK" in tshark(file, dissector=None)
    # It may be there twice: the Debian package has it for all users.
    assert tshark(file) == tshark(file, dissector=None)


def test_it_is_written_to_a_folder(tmp_path: Path) -> None:
    done = command("wireshark", str(tmp_path / "new"))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/new/pullnet.lua written\n")
    assert (tmp_path / "new/pullnet.lua").read_bytes() == DISSECTOR.read_bytes()


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = command("wireshark", str(tmp_path / "file"))
    assert done.returncode == 2
    assert f"{tmp_path}/file/pullnet.lua: cannot be written: " in done.stderr
    assert "name another folder" in done.stderr
