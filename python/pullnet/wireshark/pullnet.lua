-- Wireshark dissector for the packets of pullnet: NDP (versions 2 and 4 of the header), the transports that share version 3
-- (docs/wire.md), and simulated packets (docs/how-to/wireshark.md).
--
-- `pullnet wireshark` copies this file to the folder of personal plugins. Wireshark 4.0 or newer (Lua 5.2 to 5.4).

set_plugin_info({ version = "1.0.0", author = "pullnet", description = "Data-centre transports of pullnet" })

-- A personal plugin beside that of the Debian package: the first one counts.
local loaded, other = pcall(Dissector.get, "pullnet")
if loaded and other then return end

local pullnet = Proto("pullnet", "pullnet transport")

-- Bit operations: a library in Lua 5.2, operators since 5.3, which 5.2 cannot parse.
local band, bxor, rshift
if bit32 then
    band, bxor, rshift = bit32.band, bit32.bxor, bit32.rshift
else
    band = load("return function(a, b) return a & b end")()
    bxor = load("return function(a, b) return a ~ b end")()
    rshift = load("return function(a, n) return a >> n end")()
end

-- CRC-32C (Castagnoli), reflected.
local CRC_TABLE = {}
for byte = 0, 255 do
    local crc = byte
    for _ = 1, 8 do
        crc = band(crc, 1) == 1 and bxor(rshift(crc, 1), 0x82F63B78) or rshift(crc, 1)
    end
    CRC_TABLE[byte] = crc
end

-- Continues a CRC over a string; a new one begins with 0xFFFFFFFF and ends with crc_end.
local function crc_add(crc, bytes)
    for at = 1, #bytes do
        crc = bxor(rshift(crc, 8), CRC_TABLE[band(bxor(crc, bytes:byte(at)), 0xFF)])
    end
    return crc
end

local function crc_end(crc)
    return bxor(crc, 0xFFFFFFFF)
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Names of the format

local NDP, SHARED, SEALED, SIMULATED = 2, 3, 4, 15
local VERSIONS = { [NDP] = "NDP", [SHARED] = "other transports", [SEALED] = "NDP under a key", [SIMULATED] = "simulated" }
local HEADER = { [NDP] = 32, [SHARED] = 32, [SEALED] = 64, [SIMULATED] = 22 }
local CHECK, AUTHENTICATOR = 4, 16
local FIRST_PATH_PORT, HOME_PORT = 49152, 61199

local NDP_TYPES = { [0] = "DATA", "ACK", "NACK", "PULL", "PROBE", "RESET", "HELLO", "COOKIE" }
local DATA, ACK, NACK, PULL, PROBE, RESET, HELLO, COOKIE = 0, 1, 2, 3, 4, 5, 6, 7
-- Flags that each type may have.
local NDP_FLAGS = { [DATA] = 0x27, [ACK] = 0x08, [NACK] = 0x08, [PULL] = 0, [PROBE] = 0, [RESET] = 0x10, [HELLO] = 0, [COOKIE] = 0 }
local REASONS = {
    "service has no listener",
    "connection is not known",
    "dropped by the application",
    "too many connections",
    "violation of the protocol",
    "host is shutting down",
    "opening without a valid tag, or too old",
    "service accepts encrypted streams only",
}
local FATES = { [0] = "whole", "trimmed", "returned" } -- of simulated packets
local TRANSPORTS = { "tcp", "dctcp", "go-back-n", "scdp", "d3", "rcp", "pdq" }

-- A word of a version 3 packet, or a part of one: the word, the first bit (0 is the lowest), the number of bits, and what it is.
local function word(number, name, shift, bits)
    return { word = number, name = name, shift = shift or 0, bits = bits or 32 }
end

local NUMBER = word(1, "number")

local function grants(first, last)
    local slots = {}
    for slot = first, last do
        slots[#slots + 1] = word(slot, "grant", 0, 24)
        slots[#slots + 1] = word(slot, "epoch", 24, 8)
    end
    return slots
end

local function joined(...)
    local all = {}
    for _, list in ipairs({ ... }) do
        for _, one in ipairs(list) do all[#all + 1] = one end
    end
    return all
end

local TCP = {
    [0] = { name = "SYN", flags = {}, words = {} },
    [1] = { name = "SYN-ACK", flags = {}, words = {} },
    [2] = { name = "DATA", data = true, flags = { [0x10] = "opens", [0x20] = "last" }, words = { NUMBER } },
    [3] = {
        name = "ACK",
        answers = 2,
        flags = { [0x10] = "echo of a mark", [0x20] = "all there" },
        words = { word(1, "first_missing"), word(2, "answered") },
        sack = true,
    },
    [4] = { name = "NACK", answers = 1, flags = {}, words = { NUMBER } },
}
local OFFER = joined({ NUMBER, word(2, "desired", 0, 24), word(2, "switches", 24, 8) }, grants(3, 9), {
    word(10, "desired_before", 0, 24),
    word(10, "request", 24, 7),
})
local D3 = {
    [0] = {
        name = "DATA",
        data = true,
        flags = { [0x10] = "last", [0x20] = "asks", [0x40] = "hands grants back" },
        words = OFFER,
    },
    [1] = { name = "REQUEST", flags = { [0x40] = "hands grants back", [0x80] = "quenched" }, words = OFFER },
    [2] = {
        name = "ACK",
        answers = 2,
        flags = { [0x10] = "answers a packet", [0x20] = "all there", [0x40] = "carries grants" },
        words = joined({ word(1, "first_missing"), word(2, "answered") }, grants(3, 9), {
            word(10, "switches", 0, 8),
            word(10, "request", 24, 7),
        }),
    },
}
local TURN = {
    NUMBER,
    word(2, "host"),
    word(3, "offered", 0, 24),
    word(3, "switches", 24, 8),
    word(4, "rate", 0, 24),
    word(4, "paused_by", 24, 8),
    word(5, "deadline_low"),
    word(6, "deadline_high", 0, 16),
    word(6, "remaining_trips", 16, 16),
    word(7, "remaining_time"),
    word(8, "probe_interval", 0, 16),
    word(8, "question", 16, 8),
}
local KINDS = {
    ["tcp"] = TCP,
    ["dctcp"] = TCP,
    ["go-back-n"] = {
        [0] = { name = "DATA", data = true, flags = { [0x10] = "last" }, words = { NUMBER } },
        [1] = { name = "ACK", answers = 2, flags = {}, words = { word(1, "first_missing"), word(2, "answered") } },
    },
    ["scdp"] = {
        [0] = {
            name = "SYMBOL",
            data = true,
            flags = { [0x10] = "SYN", [0x20] = "FIN", [0x40] = "endless", [0x80] = "to a group" },
            words = {
                word(1, "block"),
                word(2, "priority", 24, 8),
                word(2, "symbol", 0, 24),
                word(3, "object_low"),
                word(4, "object_high"),
                word(5, "symbol_bytes", 16, 16),
                word(5, "block_symbols", 0, 16),
                word(6, "sent"),
                word(7, "initial_window"),
                word(8, "pull"),
                word(9, "sender", 16, 16),
                word(9, "senders", 0, 16),
            },
        },
        [1] = {
            name = "PULL",
            flags = { [0x20] = "FIN" },
            words = { word(1, "pull"), word(2, "first_undecoded"), word(3, "block"), word(4, "repair_pulled") },
        },
        [2] = { name = "DONE", flags = {}, words = {} },
    },
    ["d3"] = D3,
    ["rcp"] = D3,
    ["pdq"] = {
        [0] = { name = "DATA", data = true, flags = { [0x10] = "last", [0x20] = "ends" }, words = TURN },
        [1] = { name = "PROBE", flags = { [0x20] = "ends", [0x40] = "given up" }, words = TURN },
        [2] = {
            name = "ACK",
            answers = 2,
            flags = { [0x10] = "answers a packet", [0x20] = "all there", [0x40] = "carries an answer" },
            words = {
                word(1, "first_missing"),
                word(2, "answered"),
                word(3, "rate", 0, 24),
                word(3, "paused_by", 24, 8),
                word(4, "probe_interval", 0, 16),
                word(4, "question", 16, 8),
            },
        },
    },
}

-- ---------------------------------------------------------------------------------------------------------------------
-- Settings

pullnet.prefs.port = Pref.uint("Home port", HOME_PORT, "UDP port whose packets are taken for pullnet's even if their check is wrong")
pullnet.prefs.data = Pref.uint("DSCP of data", 3, "Low three bits of the DSCP of data packets that may be trimmed")
pullnet.prefs.control = Pref.uint("DSCP of control", 11, "DSCP of control packets")
pullnet.prefs.trimmed = Pref.uint("DSCP of trimmed packets", 7, "DSCP that a switch writes when it trims a packet")
pullnet.prefs.returned = Pref.uint("DSCP of returned headers", 15, "DSCP that a switch writes when it returns a header to its sender")

-- ---------------------------------------------------------------------------------------------------------------------
-- Fields

local fields = {}
local function field(kind, name, label, ...)
    local made = ProtoField[kind]("pullnet." .. name, label, ...)
    fields[name] = made
    return made
end

field("uint8", "version", "Version", base.DEC, VERSIONS, 0xF0)
field("uint8", "type", "Type", base.DEC, nil, 0x0F)
field("string", "kind", "Packet")
field("string", "transport", "Transport")
field("string", "mark", "Mark (DSCP)")
field("uint16", "path", "Path label")
field("uint16", "home_port", "Home port of the sending host")
field("uint32", "connection", "Connection", base.HEX)
field("uint32", "flow", "Flow number")
field("uint32", "extra", "Third word of the header")
field("bool", "reverse", "Reverse direction", 32, nil, 0x80000000)
field("uint32", "number", "Packet number")
field("uint32", "pull", "Pull number")
field("uint16", "length", "Payload length when sent")
field("uint16", "service", "Service")
field("uint8", "priority", "Priority")
field("uint8", "reason", "Reason", base.DEC, REASONS)
field("uint24", "stamp", "Stamp")
field("uint24", "clock", "Clock of the other host")
field("uint32", "also", "Also arrived, 32 numbers below", base.HEX)
field("uint64", "tag", "Tag", base.HEX)
field("uint64", "nonce", "Nonce", base.HEX)
field("uint64", "token", "Token", base.HEX)
field("uint8", "flags", "Flags", base.HEX)
field("bool", "syn", "SYN: may open the connection", 8, nil, 0x01)
field("bool", "last", "LAST: the last packet", 8, nil, 0x02)
field("bool", "pulled", "PULLED: sent on a pull", 8, nil, 0x04)
field("bool", "carries_pull", "PULL: carries a pull number", 8, nil, 0x08)
field("bool", "from_sender", "SENDER: sent by the sender of the data", 8, nil, 0x10)
field("bool", "again", "AGAIN: retransmission", 8, nil, 0x20)
field("uint32", "check", "Header check", base.HEX)
field("string", "check_status", "Header check status")
field("uint32", "payload_check", "Payload check", base.HEX)
field("string", "payload_status", "Payload status")
field("bytes", "payload", "Payload")
field("uint16", "key", "Key number")
field("uint16", "newest_key", "Sender's newest key number")
field("uint32", "counter", "Packet counter under this salt")
field("bytes", "salt", "Salt")
field("bytes", "authenticator", "Authenticator of the header")
field("bytes", "payload_authenticator", "Authenticator of the payload")
field("uint8", "words", "Words behind the header")
field("string", "fate", "Fate")
field("framenum", "acks_frame", "Answers the packet in frame", base.NONE, frametype.REQUEST)
field("framenum", "acked_in", "Answered in frame", base.NONE, frametype.RESPONSE)
field("relative_time", "answer_time", "Time since that packet")

-- Fields of version 3, by the name of the word or the part of it.
local WORD_LABELS = {
    first_missing = "First missing number",
    answered = "Number answered",
    sack_begin = "SACK range, first number",
    sack_end = "SACK range, number after the last",
    desired = "Desired rate (100 kb/s)",
    desired_before = "Desired rate of the request before (100 kb/s)",
    request = "Request number (modulo 128)",
    switches = "Switches passed",
    grant = "Granted rate (100 kb/s)",
    epoch = "Epoch of the grant (0: none)",
    host = "Number of the sending host",
    offered = "Offered rate (100 kb/s)",
    rate = "Rate (100 kb/s)",
    paused_by = "Switch that pauses the flow (255: none)",
    deadline_low = "Deadline, low 32 bits (us)",
    deadline_high = "Deadline, high 16 bits (us)",
    remaining_trips = "Remaining time (hundredths of the round trip)",
    remaining_time = "Remaining time at the rate of the link (10 ns)",
    probe_interval = "Interval of probes (hundredths of the round trip)",
    question = "Number of the question",
    block = "Block (SBN)",
    symbol = "Encoding symbol id (ESI)",
    object_low = "Bytes of the object, low half (F)",
    object_high = "Bytes of the object, high half (F)",
    symbol_bytes = "Symbol size (T)",
    block_symbols = "Most source symbols of a block",
    sent = "Number among all symbols of this sender",
    initial_window = "Symbols in the initial window",
    sender = "Number of the sender",
    senders = "Senders of the object",
    first_undecoded = "First block that cannot be decoded",
    repair_pulled = "Repair symbols of that block pulled so far",
}
for name, label in pairs(WORD_LABELS) do
    field("uint32", name, label)
end

local listed = {}
for _, made in pairs(fields) do listed[#listed + 1] = made end
pullnet.fields = listed

local experts = {
    trimmed = ProtoExpert.new("pullnet.expert.trimmed", "Trimmed: the payload was cut off", expert.group.SEQUENCE, expert.severity.NOTE),
    returned = ProtoExpert.new("pullnet.expert.returned", "Header returned to its sender", expert.group.SEQUENCE, expert.severity.NOTE),
    again = ProtoExpert.new("pullnet.expert.again", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE),
    nack = ProtoExpert.new("pullnet.expert.nack", "NACK: a header arrived without its payload", expert.group.SEQUENCE, expert.severity.NOTE),
    reset = ProtoExpert.new("pullnet.expert.reset", "Connection reset or refused", expert.group.SEQUENCE, expert.severity.WARN),
    check = ProtoExpert.new("pullnet.expert.check", "Wrong header check", expert.group.CHECKSUM, expert.severity.ERROR),
    damaged = ProtoExpert.new("pullnet.expert.damaged", "Wrong payload check", expert.group.CHECKSUM, expert.severity.WARN),
    short = ProtoExpert.new("pullnet.expert.short", "Shorter than its header", expert.group.MALFORMED, expert.severity.ERROR),
    format = ProtoExpert.new("pullnet.expert.format", "Not in the format", expert.group.MALFORMED, expert.severity.ERROR),
}
local listed_experts = {}
for _, made in pairs(experts) do listed_experts[#listed_experts + 1] = made end
pullnet.experts = listed_experts

-- Dissectors of a service's payload: DissectorTable.get("pullnet.service"):add(7, my_protocol). A packet at a time.
local services = DissectorTable.new("pullnet.service", "pullnet service", ftypes.UINT16, base.DEC, pullnet)

-- Fields of the layers below.
local below = {}
for _, name in ipairs({ "ip.dsfield.dscp", "ipv6.tclass.dscp", "udp.srcport" }) do
    below[name] = Field.new(name)
end

-- The innermost of a field's values, or nil.
local function innermost(name)
    local values = { below[name]() }
    return values[#values]
end

-- Bytes of an IP address from its text, or nil: the first pass over a capture has no fields that hold them.
local function address_bytes(text)
    local four = { text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$") }
    if #four == 4 then return string.char(table.unpack(four)) end
    if not text:find(":", 1, true) then return nil end
    local function groups(part)
        local bytes = {}
        for group in part:gmatch("%x+") do
            local value = tonumber(group, 16)
            bytes[#bytes + 1] = string.char(math.floor(value / 256), value % 256)
        end
        return table.concat(bytes)
    end
    local before, behind = text:match("^(.-)::(.*)$")
    if not before then return groups(text) end
    before, behind = groups(before), groups(behind)
    return before .. string.rep("\0", 16 - #before - #behind) .. behind
end

local function addresses(pinfo)
    local source, target = address_bytes(tostring(pinfo.net_src)), address_bytes(tostring(pinfo.net_dst))
    if not source or not target then return nil end
    return source, target
end

-- The mark, or nil where the DSCP is not known: the first pass over a capture has no fields.
local function mark()
    local dscp = innermost("ip.dsfield.dscp") or innermost("ipv6.tclass.dscp")
    if not dscp then return nil end
    dscp = dscp.value
    local prefs = pullnet.prefs
    if dscp == prefs.control then return "control" end
    if dscp == prefs.trimmed then return "trimmed" end
    if dscp == prefs.returned then return "returned" end
    local class = rshift(dscp, 3)
    if dscp == prefs.data or (class >= 2 and band(dscp, 7) == band(prefs.data, 7)) then return "data" end
    return "other (" .. dscp .. ")"
end

-- ---------------------------------------------------------------------------------------------------------------------
-- What is known of other packets, by the frame

local sent, answers, answered_in = {}, {}, {}

function pullnet.init()
    sent, answers, answered_in = {}, {}, {}
end

-- Hosts, connection and number of a data packet.
local function key(from, to, connection, number)
    return table.concat({ from, to, connection, number }, " ")
end

-- Remembers a data packet, and finds the one that an answer names. Connection and number are those of the data.
local function remember(pinfo, from, to, connection, number)
    if not pinfo.visited then
        sent[key(from, to, connection, number)] = { frame = pinfo.number, time = pinfo.rel_ts }
    end
end

local function answer(pinfo, from, to, connection, number)
    if pinfo.visited then return end
    local data = sent[key(to, from, connection, number)]
    if not data then return end
    answers[pinfo.number] = { frame = data.frame, time = pinfo.rel_ts - data.time }
    answered_in[data.frame] = answered_in[data.frame] or pinfo.number
end

local function add_links(pinfo, tree)
    local of = answers[pinfo.number]
    if of then
        tree:add(fields.acks_frame, of.frame):set_generated()
        local nanoseconds = math.floor(of.time * 1e9 + 0.5)
        local seconds = math.floor(nanoseconds / 1e9)
        tree:add(fields.answer_time, NSTime.new(seconds, nanoseconds - seconds * 1e9)):set_generated()
    end
    if answered_in[pinfo.number] then
        tree:add(fields.acked_in, answered_in[pinfo.number]):set_generated()
    end
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Versions 2 and 4

-- Words of the flags that are set, in the order of their bits.
local function flag_names(flags, names)
    local found = {}
    for bit = 0, 7 do
        local value = 2 ^ bit
        if band(flags, value) ~= 0 then
            found[#found + 1] = names[value] or string.format("0x%02x", value)
        end
    end
    return table.concat(found, ", ")
end

local NDP_FLAG_NAMES = { [0x01] = "SYN", [0x02] = "LAST", [0x04] = "PULLED", [0x08] = "PULL", [0x10] = "SENDER", [0x20] = "AGAIN" }
local FLAG_FIELDS = { { 0x01, "syn" }, { 0x02, "last" }, { 0x04, "pulled" }, { 0x08, "carries_pull" }, { 0x10, "from_sender" }, { 0x20, "again" } }

-- Bytes that are 0 in a packet of each type: first and last.
local ZEROS = {
    [DATA] = {},
    [ACK] = {},
    [NACK] = { { 16, 19 } },
    [PULL] = { { 12, 19 } },
    [PROBE] = { { 12, 19 } },
    [RESET] = { { 8, 11 }, { 13, 19 } },
    [HELLO] = { { 4, 19 } },
    [COOKIE] = { { 4, 7 }, { 16, 16 } },
}

-- What no host writes in the first 28 bytes of a header of NDP, or nil.
local function format_fault(tvb, kind, flags)
    if band(flags, 0xFF - NDP_FLAGS[kind]) ~= 0 then return NDP_TYPES[kind] .. " has no such flags" end
    local zeros = { table.unpack(ZEROS[kind]) }
    if kind == DATA and band(flags, 0x01) == 0 then zeros[#zeros + 1] = { 17, 19 } end
    if (kind == ACK or kind == NACK) and band(flags, 0x08) == 0 then zeros[#zeros + 1] = { 12, 15 } end
    for _, range in ipairs(zeros) do
        for at = range[1], range[2] do
            if tvb(at, 1):uint() ~= 0 then return "byte " .. at .. " of " .. NDP_TYPES[kind] .. " is 0" end
        end
    end
    return nil
end

-- The header of NDP; returns what the Info column says of it.
local function ndp_header(tvb, pinfo, tree, kind, flags, from, to)
    local connection = tvb(4, 4):uint()
    local about = { NDP_TYPES[kind] }
    local fault = format_fault(tvb, kind, flags)
    if fault then tree:add_proto_expert_info(experts.format, "Hosts refuse it: " .. fault) end
    local flag_tree = tree:add(fields.flags, tvb(1, 1))
    for _, of in ipairs(FLAG_FIELDS) do
        if band(NDP_FLAGS[kind], of[1]) ~= 0 then flag_tree:add(fields[of[2]], tvb(1, 1)) end
    end
    if kind ~= HELLO and kind ~= COOKIE then
        tree:add(fields.connection, tvb(4, 4)):add(fields.reverse, tvb(4, 4))
        about[#about + 1] = string.format("conn=0x%08x", connection)
    end
    if kind == DATA or kind == ACK or kind == NACK or kind == PROBE then
        tree:add(fields.number, tvb(8, 4))
        about[#about + 1] = "number=" .. tvb(8, 4):uint()
    end
    if kind == DATA then
        tree:add(fields.length, tvb(12, 2))
        tree:add(fields.service, tvb(14, 2))
        tree:add(fields.priority, tvb(16, 1))
        if band(flags, 0x01) ~= 0 then tree:add(fields.stamp, tvb(17, 3)) end
        about[#about + 1] = "len=" .. tvb(12, 2):uint() .. " service=" .. tvb(14, 2):uint()
        remember(pinfo, from, to, connection, tvb(8, 4):uint())
        if band(flags, 0x20) ~= 0 then tree:add_proto_expert_info(experts.again) end
    elseif kind == ACK or kind == NACK then
        if band(flags, 0x08) ~= 0 then
            tree:add(fields.pull, tvb(12, 4))
            about[#about + 1] = "pull=" .. tvb(12, 4):uint()
        end
        local number = tvb(8, 4):uint()
        answer(pinfo, from, to, connection, number)
        if kind == ACK then
            local also = tvb(16, 4):uint()
            tree:add(fields.also, tvb(16, 4))
            local count = 0
            for bit = 0, 31 do
                if band(rshift(also, bit), 1) == 1 and number > bit then
                    count = count + 1
                    local data = sent[key(to, from, connection, number - bit - 1)]
                    if data and not pinfo.visited then
                        answered_in[data.frame] = answered_in[data.frame] or pinfo.number
                    end
                end
            end
            if count > 0 then about[#about + 1] = "and " .. count .. " more" end
        else
            tree:add_proto_expert_info(experts.nack)
        end
    elseif kind == PULL then
        tree:add(fields.pull, tvb(8, 4))
        about[#about + 1] = "pull=" .. tvb(8, 4):uint()
    elseif kind == RESET then
        tree:add(fields.reason, tvb(12, 1))
        about[#about + 1] = "(" .. (REASONS[tvb(12, 1):uint()] or "reason " .. tvb(12, 1):uint()) .. ")"
        tree:add_proto_expert_info(experts.reset)
    elseif kind == COOKIE then
        tree:add(fields.token, tvb(8, 8))
        tree:add(fields.clock, tvb(17, 3))
    end
    if kind == HELLO or kind == COOKIE then
        tree:add(fields.nonce, tvb(20, 8))
    else
        tree:add(fields.tag, tvb(20, 8))
    end
    local names = flag_names(flags, NDP_FLAG_NAMES)
    if names ~= "" then about[#about + 1] = "[" .. names .. "]" end
    return table.concat(about, " "), kind == DATA
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Version 3

local function word_range(tvb, index)
    if index < 2 then return tvb(4 + 4 * index, 4) end
    if index < 4 then return tvb(12 + 4 * index, 4) end
    return tvb(16 + 4 * index, 4)
end

local function shared_header(tvb, pinfo, tree, transport, kind, flags, from, to)
    local words = 4 + tvb(14, 1):uint()
    local connection = tvb(4, 4):uint()
    local of = KINDS[transport][kind]
    if not of then
        tree:add_proto_expert_info(experts.format, transport .. " has no packet type " .. kind)
        return transport .. " type " .. kind, false
    end
    tree:add(fields.flags, tvb(1, 1)):append_text(" " .. flag_names(band(flags, 0xF0), of.flags))
    tree:add(fields.connection, tvb(4, 4))
    tree:add(fields.length, tvb(12, 2))
    tree:add(fields.words, tvb(14, 1))
    local about = { string.format("%s %s conn=0x%08x", transport, of.name, connection) }
    local shown = { number = "number", first_missing = "missing from", answered = "answers", pull = "pull", block = "block", symbol = "symbol" }
    for _, part in ipairs(of.words) do
        local value, range = 0, nil
        if part.word < words then
            range = word_range(tvb, part.word)
            value = band(rshift(range:uint(), part.shift), 2 ^ part.bits - 1)
        end
        -- A grant that no switch has given is not worth a line.
        if not (value == 0 and (part.name == "grant" or part.name == "epoch")) then
            if range then tree:add(fields[part.name], range, value) else tree:add(fields[part.name], value) end
        end
        if shown[part.name] then about[#about + 1] = shown[part.name] .. "=" .. value end
    end
    if of.sack then
        for first = 3, math.min(words, 11) - 2, 2 do
            local last = word_range(tvb, first + 1)
            if last:uint() ~= 0 then
                tree:add(fields.sack_begin, word_range(tvb, first))
                tree:add(fields.sack_end, last)
                about[#about + 1] = string.format("SACK=%d-%d", word_range(tvb, first):uint(), last:uint() - 1)
            end
        end
    end
    if of.data then
        about[#about + 1] = "len=" .. tvb(12, 2):uint()
        if transport ~= "scdp" then remember(pinfo, from, to, connection, tvb(8, 4):uint()) end
    elseif of.answers then
        answer(pinfo, from, to, connection, word_range(tvb, of.answers):uint())
    end
    if of.name == "NACK" then tree:add_proto_expert_info(experts.nack) end
    local names = flag_names(band(flags, 0xF0), of.flags)
    if names ~= "" then about[#about + 1] = "[" .. names .. "]" end
    return table.concat(about, " "), of.data or false
end

-- ---------------------------------------------------------------------------------------------------------------------
-- A packet

-- The header's check: carried, expected, and whether the addresses had to be exchanged. Nil without addresses below.
local function header_check(tvb, pinfo, version)
    local source, target = addresses(pinfo)
    if not source then return nil end
    local covered = tvb(0, 28):raw()
    if version == SHARED then covered = covered .. tvb(32, 4 * tvb(14, 1):uint()):raw() end
    local carried = tvb(28, 4):uint()
    local function of(one, other)
        return crc_end(crc_add(crc_add(crc_add(0xFFFFFFFF, one), other), covered))
    end
    local expected = of(source, target)
    if carried == expected then return carried, expected, false end
    if carried == of(target, source) then return carried, carried, true end
    return carried, expected, false
end

-- Packet type of a simulated packet: up to eight letters, then zeros.
local function simulated_kind(tvb)
    return tvb(2, 8):raw():match("^[^\0]*")
end

-- Length of the header, or nil and what is wrong.
local function header_length(tvb)
    if tvb:captured_len() < 22 then return nil, "shorter than 22 B" end
    local version = rshift(tvb(0, 1):uint(), 4)
    local length = HEADER[version]
    if not length then return nil, "version " .. version end
    if version == SHARED then length = length + 4 * tvb(14, 1):uint() end
    if tvb:captured_len() < length then return nil, "shorter than its header of " .. length .. " B" end
    return length
end

-- Whether a datagram is a packet of ours. Versions 2 and 3 have a check of 32 bits; version 4 has a fixed form only.
local function is_ours(tvb, pinfo)
    local length = header_length(tvb)
    if not length then return false end
    local version, kind, flags = rshift(tvb(0, 1):uint(), 4), band(tvb(0, 1):uint(), 0x0F), tvb(1, 1):uint()
    if version == SEALED then
        local known = mark()
        return NDP_TYPES[kind] ~= nil and not format_fault(tvb, kind, flags) and not (known and known:find("^other"))
    end
    if version == SIMULATED then return FATES[kind] ~= nil and pinfo.dst_port == HOME_PORT end
    if version == SHARED and not TRANSPORTS[tvb(16, 1):uint()] then return false end
    local carried, expected = header_check(tvb, pinfo, version)
    return carried ~= nil and carried == expected
end

-- Payload behind the header: its tree, whether it is whole, and its words for the Info column.
local function payload_of(tvb, pinfo, tree, top, at, version, service)
    local wanted = tvb(12, 2):uint()
    local before, behind = CHECK, 0
    if version == SEALED then before, behind = 0, AUTHENTICATOR end
    -- A frame that a switch has cut may keep its lengths; one that the capture has cut (snap length) is whole.
    local cut_by_capture = pinfo.caplen < pinfo.len
    local here = cut_by_capture and tvb:reported_len() or tvb:captured_len()
    if here < at + before + wanted + behind then
        tree:add(fields.fate, "trimmed"):set_generated()
        tree:add_proto_expert_info(experts.trimmed)
        return "trimmed"
    end
    tree:add(fields.fate, "whole"):set_generated()
    if tvb:captured_len() < at + before + wanted + behind then return nil end
    if version == SEALED then
        if wanted > 0 then tree:add(fields.payload, tvb(at, wanted)):append_text(" (encrypted)") end
        tree:add(fields.payload_authenticator, tvb(at + wanted, behind))
        return nil
    end
    local payload = wanted > 0 and tvb(at + before, wanted)
    local carried, expected = tvb(at, CHECK):uint(), crc_end(crc_add(0xFFFFFFFF, payload and payload:raw() or ""))
    tree:add(fields.payload_check, tvb(at, CHECK))
    tree:add(fields.payload_status, carried == expected and "right" or string.format("wrong, should be 0x%08x", expected)):set_generated()
    if carried ~= expected then
        tree:add_proto_expert_info(experts.damaged)
        return "damaged"
    end
    if payload then
        tree:add(fields.payload, payload)
        if version ~= NDP or services:try(service, payload:tvb(), pinfo, top) == 0 then
            Dissector.get("data"):call(payload:tvb(), pinfo, top)
        end
    end
    return nil
end

-- A packet of a simulation, as `pullnet export packets` writes it: what the table `packets` of a result has.
local function simulated(tvb, pinfo, tree)
    local fate, kind = FATES[band(tvb(0, 1):uint(), 0x0F)], simulated_kind(tvb):upper()
    tree:add(fields.version, tvb(0, 1))
    if not fate then
        tree:add_proto_expert_info(experts.format, "A simulated packet is whole, trimmed or returned")
        fate = "unknown"
    end
    tree:add(fields.fate, tvb(0, 1), fate)
    tree:add(fields.kind, tvb(2, 8), kind)
    tree:add(fields.flags, tvb(1, 1))
    tree:add(fields.flow, tvb(10, 4))
    tree:add(fields.number, tvb(14, 4))
    tree:add(fields.extra, tvb(18, 4))
    local label = innermost("udp.srcport")
    if label and label.value >= FIRST_PATH_PORT then
        tree:add(fields.path, label.value - FIRST_PATH_PORT):set_generated()
    end
    local about = string.format("%s flow=%d number=%d", kind, tvb(10, 4):uint(), tvb(14, 4):uint())
    if tvb(18, 4):uint() ~= 0 then about = about .. " extra=" .. tvb(18, 4):uint() end
    if experts[fate] then
        tree:add_proto_expert_info(experts[fate])
        about = about .. " " .. fate
    end
    pinfo.cols.protocol = "simulated"
    pinfo.cols.info = about
    tree:append_text(", " .. about)
    return tvb:captured_len()
end

function pullnet.dissector(tvb, pinfo, top)
    pinfo.cols.protocol = "pullnet"
    local tree = top:add(pullnet, tvb())
    local length, wrong = header_length(tvb)
    if not length then
        tree:add_proto_expert_info(experts.short, "Not a packet of pullnet: " .. wrong)
        pinfo.cols.info = wrong
        return tvb:captured_len()
    end
    if rshift(tvb(0, 1):uint(), 4) == SIMULATED then return simulated(tvb, pinfo, tree) end
    local first, flags = tvb(0, 1):uint(), tvb(1, 1):uint()
    local version, kind = rshift(first, 4), band(first, 0x0F)
    local marked = mark()
    tree:add(fields.version, tvb(0, 1))
    tree:add(fields.type, tvb(0, 1))
    local transport = version == SHARED and TRANSPORTS[tvb(16, 1):uint()]
    local shared = transport and KINDS[transport][kind]
    local name
    if version == SHARED then name = shared and shared.name else name = NDP_TYPES[kind] end
    if name then tree:add(fields.kind, tvb(0, 1), name):set_generated() end
    if marked then tree:add(fields.mark, marked):set_generated() end

    local carried, expected, exchanged
    if version ~= SEALED then carried, expected, exchanged = header_check(tvb, pinfo, version) end
    local returned = exchanged or marked == "returned"
    local from, to = tostring(pinfo.net_src), tostring(pinfo.net_dst)
    if returned then from, to = to, from end
    local label = innermost("udp.srcport")
    if label and label.value >= FIRST_PATH_PORT and not returned then
        tree:add(fields.path, label.value - FIRST_PATH_PORT):set_generated()
    end
    tree:add(fields.home_port, tvb(2, 2))

    local about, data
    if version == SHARED then
        if transport then
            pinfo.cols.protocol = transport:upper() .. "/pullnet"
            tree:add(fields.transport, tvb(16, 1), transport)
            about, data = shared_header(tvb, pinfo, tree, transport, kind, flags, from, to)
            data = data and band(flags, 0x01) ~= 0
        else
            about, data = "transport number " .. tvb(16, 1):uint(), false
            tree:add_proto_expert_info(experts.format, "There is no " .. about)
        end
    elseif not NDP_TYPES[kind] then
        about, data = "packet type " .. kind, false
        tree:add_proto_expert_info(experts.format, "NDP has no " .. about)
    else
        pinfo.cols.protocol = "NDP/pullnet"
        tree:add(fields.transport, "ndp"):set_generated()
        about, data = ndp_header(tvb, pinfo, tree, kind, flags, from, to)
    end

    if version == SEALED then
        tree:add(fields.key, tvb(28, 2))
        tree:add(fields.newest_key, tvb(30, 2))
        tree:add(fields.counter, tvb(32, 4))
        tree:add(fields.salt, tvb(36, 12))
        tree:add(fields.authenticator, tvb(48, 16))
        about = about .. " encrypted"
    else
        tree:add(fields.check, tvb(28, 4))
        local status = "cannot be checked: no IP header below"
        if carried then status = carried == expected and "right" or string.format("wrong, should be 0x%08x", expected) end
        tree:add(fields.check_status, status):set_generated()
        if carried and carried ~= expected then
            tree:add_proto_expert_info(experts.check)
            about = about .. " [wrong header check]"
        end
    end

    if returned then
        tree:add(fields.fate, "returned"):set_generated()
        tree:add_proto_expert_info(experts.returned)
        about = about .. " returned"
    elseif data then
        local fate = payload_of(tvb, pinfo, tree, top, length, version, tvb(14, 2):uint())
        if fate then about = about .. " " .. fate end
    end
    add_links(pinfo, tree)
    tree:append_text(", " .. about)
    pinfo.cols.info = about
    return tvb:captured_len()
end

local function heuristic(tvb, pinfo, tree)
    if not is_ours(tvb, pinfo) then return false end
    pullnet.dissector(tvb, pinfo, tree)
    return true
end

-- Port 0 leaves all packets to the heuristic.
local port_added = 0
local function add_port()
    local ports = DissectorTable.get("udp.port")
    if port_added ~= 0 then ports:remove(port_added, pullnet) end
    port_added = pullnet.prefs.port
    if port_added ~= 0 then ports:add(port_added, pullnet) end
end

pullnet.prefs_changed = add_port
pullnet:register_heuristic("udp", heuristic)
add_port()
