// The trimming switch for v1model: the rule of pullnet's switch as far as P4-16 allows. docs/hardware.md says what it does not
// allow. Frames are those of docs/wire.md.
//
// The control plane fills `hosts`, `routes` and their copies `hosts_back` and `routes_back` for returned headers (a table is
// applied once for each packet), and sets the limits as default action of `settings`.
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;

const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_UDP = 17;

// Bytes of the UDP header and NDP's; version 4 of the latter is encrypted and longer. In version 3, that of other transports,
// up to 23 words follow.
const bit<16> UDP_AND_HEADER = 40;
const bit<16> UDP_AND_SEALED_HEADER = 72;
const bit<4> VERSION_WORDS = 3;
const bit<4> VERSION_SEALED = 4;
const bit<16> MOST_WORDS = 23;

// DSCP of data, control, trimmed and returned frames. Data may have a priority in the high three bits; all of it waits together.
const bit<6> DSCP_DATA = 3;
const bit<6> DSCP_CONTROL = 11;
const bit<6> DSCP_TRIMMED = 7;
const bit<6> DSCP_RETURNED = 15;

// What a frame is to the switch.
const bit<3> DATA = 0;
const bit<3> CONTROL = 1;
const bit<3> HEADER = 2;
const bit<3> RETURNED = 3;
const bit<3> FOREIGN = 4;

const bit<16> LABEL_BASE = 49152;
const bit<9> NOWHERE = 511;

header ethernet_t {
    mac_t to;
    mac_t from;
    bit<16> ether;
}

header vlan_t {
    bit<16> tag;
    bit<16> ether;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> id;
    bit<1> reserved;
    bit<1> whole;
    bit<14> fragment;      // "more fragments" and the offset
    bit<8> ttl;
    bit<8> protocol;
    bit<16> sum;
    bit<32> from;
    bit<32> to;
}

header options_t {
    varbit<320> bytes;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow;
    bit<16> length;
    bit<8> protocol;
    bit<8> hops;
    bit<128> from;
    bit<128> to;
}

header udp_t {
    bit<16> from;          // names the path
    bit<16> to;
    bit<16> length;
    bit<16> sum;
}

header ndp_t {
    bit<4> version;
    bit<12> kind;
    bit<16> home;          // port to which answers and returned headers go
    bit<32> connection;
    bit<32> number;
    bit<16> fields;
    bit<8> words;          // behind this header, in version 3
    bit<8> zero;
    bit<32> stamp;
    bit<64> tag;
    bit<32> check;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t vlan;
    ipv4_t ipv4;
    options_t options;
    ipv6_t ipv6;
    udp_t udp;
    ndp_t ndp;
}

struct metadata_t {
    bit<3> kind;
    bit<16> before;        // bytes before the UDP header, without a VLAN tag; 0: no IP header
    bit<16> least;         // bytes up to the end of the NDP header, without a VLAN tag
    bit<32> length;        // bytes of the frame, without a VLAN tag
    bit<1> changed;        // the IPv4 checksum is calculated anew
    bit<1> labelled;
    bit<16> label;
    bit<9> port;
    bit<16> data_held;
    bit<16> control_held;
    bit<16> data_room;     // frames; from `settings`
    bit<16> control_room;
    bit<16> trim_to;
    bit<1> send_back;
    bit<1> mark;
    bit<16> mark_above;
}

parser Headers(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        meta.kind = FOREIGN;
        transition select(hdr.ethernet.ether) {
            ETHERTYPE_VLAN: vlan;
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): carried4;
            (4, 0 &&& 0x0c): accept;      // a header length below 20 bytes
            (4, 4): accept;
            (4, _): options;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.options, ((bit<32>) hdr.ipv4.ihl - 5) * 32);
        transition carried4;
    }
    // From here on the IP header is there whole: `before` is not 0.
    state carried4 {
        meta.before = 14 + ((bit<16>) hdr.ipv4.ihl << 2);
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_UDP: udp;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.version) {
            6: carried6;
            default: accept;
        }
    }
    state carried6 {
        meta.before = 14 + 40;
        transition select(hdr.ipv6.protocol) {
            PROTOCOL_UDP: udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        packet.extract(hdr.ndp);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// Frames that wait at each port: ingress counts them up, egress down.
register<bit<16>>(512) data_frames;
register<bit<16>>(512) control_frames;

control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action set(bit<16> data_room, bit<16> control_room, bit<16> trim_to, bit<1> send_back, bit<1> mark, bit<16> mark_above) {
        meta.data_room = data_room;
        meta.control_room = control_room;
        meta.trim_to = trim_to;
        meta.send_back = send_back;
        meta.mark = mark;
        meta.mark_above = mark_above;
    }
    table settings {
        actions = { set; }
        default_action = set(8, 1125, 64, 1, 0, 0);
    }

    // One of four equal ports, by the label; with fewer, the control plane repeats them.
    action ways(bit<9> port0, bit<9> port1, bit<9> port2, bit<9> port3, bit<4> shift, bit<16> mask) {
        bit<16> digit = meta.labelled == 1 ? (meta.label >> shift) & mask : 0;
        if (digit[1:0] == 0) {
            meta.port = port0;
        } else if (digit[1:0] == 1) {
            meta.port = port1;
        } else if (digit[1:0] == 2) {
            meta.port = port2;
        } else {
            meta.port = port3;
        }
    }
    action unknown() {
        meta.port = NOWHERE;
    }
    // The control plane may set this as default action of `hosts`: copies are made behind ingress, so they cannot be trimmed.
    action flood(bit<16> group) {
        meta.port = NOWHERE;
        standard_metadata.mcast_grp = group;
    }
    table routes {
        key = { hdr.ipv4.to: lpm; }
        actions = { ways; unknown; }
        default_action = unknown();
    }
    table hosts {
        key = { hdr.ethernet.to: exact; }
        actions = { ways; unknown; flood; }
        default_action = unknown();
        size = 4096;
    }
    table routes_back {
        key = { hdr.ipv4.to: lpm; }
        actions = { ways; unknown; }
        default_action = unknown();
    }
    table hosts_back {
        key = { hdr.ethernet.to: exact; }
        actions = { ways; unknown; }
        default_action = unknown();
        size = 4096;
    }

    // A frame that ends within the header of its version is foreign.
    action classify(bit<6> dscp) {
        meta.least = meta.before + (hdr.ndp.version == VERSION_SEALED ? UDP_AND_SEALED_HEADER : UDP_AND_HEADER);
        bit<16> words = (bit<16>) hdr.ndp.words;
        if (hdr.ndp.version == VERSION_WORDS && words <= MOST_WORDS && meta.length >= (bit<32>) (meta.least + (words << 2))) {
            meta.least = meta.least + (words << 2);
        }
        if (meta.length < (bit<32>) meta.least) {
            return;
        }
        if (dscp == DSCP_CONTROL) {
            meta.kind = CONTROL;
        } else if (dscp == DSCP_TRIMMED) {
            meta.kind = HEADER;
        } else if (dscp == DSCP_RETURNED) {
            meta.kind = RETURNED;
        } else if ((dscp & 7) == DSCP_DATA && meta.length > (bit<32>) meta.least) {
            meta.kind = DATA;
        }
    }
    action path(bit<16> port) {
        meta.labelled = 0;
        if (port >= LABEL_BASE && meta.kind != FOREIGN) {
            meta.labelled = 1;
            meta.label = port - LABEL_BASE;
        }
    }

    // Cuts the payload: DSCP and lengths here, the checksum in `Sums`. A frame of no more than `trim_to` bytes stays as it is
    // and goes first.
    action trim() {
        bit<16> tag = hdr.vlan.isValid() ? 16w4 : 16w0;
        bit<16> keep = meta.trim_to > meta.least + tag ? meta.trim_to - tag : meta.least;
        meta.kind = HEADER;
        if ((bit<32>) keep < meta.length) {
            truncate((bit<32>) (keep + tag));
            meta.changed = 1;
            hdr.udp.length = keep - meta.before;
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.dscp = DSCP_TRIMMED;
                hdr.ipv4.length = keep - 14;
            } else {
                hdr.ipv6.dscp = DSCP_TRIMMED;
                hdr.ipv6.length = keep - meta.before;
            }
        }
    }
    action turn_round() {
        mac_t mac = hdr.ethernet.to;
        hdr.ethernet.to = hdr.ethernet.from;
        hdr.ethernet.from = mac;
        hdr.udp.from = hdr.udp.to;
        hdr.udp.to = hdr.ndp.home;
        if (hdr.ipv4.isValid()) {
            bit<32> ip = hdr.ipv4.to;
            hdr.ipv4.to = hdr.ipv4.from;
            hdr.ipv4.from = ip;
            hdr.ipv4.dscp = DSCP_RETURNED;
        } else {
            bit<128> ip = hdr.ipv6.to;
            hdr.ipv6.to = hdr.ipv6.from;
            hdr.ipv6.from = ip;
            hdr.ipv6.dscp = DSCP_RETURNED;
        }
        meta.kind = RETURNED;
        meta.changed = 1;
    }

    action congested() {
        if (meta.before == 0) {
            return;
        }
        if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.ecn != 0) {
                hdr.ipv4.ecn = 3;
                meta.changed = 1;
            }
        } else if (hdr.ipv6.isValid()) {
            if (hdr.ipv6.ecn != 0) {
                hdr.ipv6.ecn = 3;
            }
        }
    }

    apply {
        settings.apply();
        if (hdr.ndp.isValid()) {
            meta.length = standard_metadata.packet_length;
            if (hdr.vlan.isValid()) {
                meta.length = meta.length - 4;
            }
            if (hdr.ipv4.isValid()) {
                classify(hdr.ipv4.dscp);
            } else {
                classify(hdr.ipv6.dscp);
            }
            path(hdr.udp.from);
            if (hdr.ipv4.isValid()) {
                if (hdr.ipv4.fragment != 0) {
                    meta.labelled = 0;
                }
            }
        }

        bool routed = false;
        if (hdr.ipv4.isValid() && meta.before != 0) {
            routed = routes.apply().hit;
        }
        if (!routed) {
            hosts.apply();
        }
        if (meta.port == NOWHERE || meta.port == standard_metadata.ingress_port) {
            // To a multicast group, if there is one; otherwise nowhere.
            if (standard_metadata.mcast_grp == 0 || meta.port != NOWHERE) {
                mark_to_drop(standard_metadata);
            }
            exit;
        }

        // The arriving frame is the one that loses: a program never sees the frame at the tail of a queue.
        data_frames.read(meta.data_held, (bit<32>) meta.port);
        if (meta.kind == DATA || meta.kind == FOREIGN) {
            if (meta.mark == 1 && meta.data_held > meta.mark_above) {
                congested();
            }
            if (meta.data_held < meta.data_room) {
                data_frames.write((bit<32>) meta.port, meta.data_held + 1);
                standard_metadata.egress_spec = meta.port;
                standard_metadata.priority = 0;
                exit;
            }
            if (meta.kind == FOREIGN) {
                mark_to_drop(standard_metadata);
                exit;
            }
            trim();
        }

        // Control frames, headers, and data that has just become one.
        control_frames.read(meta.control_held, (bit<32>) meta.port);
        if (meta.control_held >= meta.control_room) {
            if (meta.kind != HEADER || meta.send_back == 0) {
                mark_to_drop(standard_metadata);
                exit;
            }
            bit<9> here = meta.port;
            turn_round();
            path(hdr.udp.from);
            routed = false;
            if (hdr.ipv4.isValid()) {
                if (hdr.ipv4.fragment != 0) {
                    meta.labelled = 0;
                }
                routed = routes_back.apply().hit;
            }
            if (!routed) {
                hosts_back.apply();
            }
            if (meta.port == NOWHERE || meta.port == here) {
                mark_to_drop(standard_metadata);
                exit;
            }
            control_frames.read(meta.control_held, (bit<32>) meta.port);
            if (meta.control_held >= meta.control_room) {
                mark_to_drop(standard_metadata);
                exit;
            }
        }
        control_frames.write((bit<32>) meta.port, meta.control_held + 1);
        standard_metadata.egress_spec = meta.port;
        standard_metadata.priority = 1;
    }
}

// A frame that reaches egress has left its queue.
control Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<16> held = 0;
        if (standard_metadata.mcast_grp == 0) {
            if (standard_metadata.priority == 0) {
                data_frames.read(held, (bit<32>) standard_metadata.egress_port);
                data_frames.write((bit<32>) standard_metadata.egress_port, held - 1);
            } else {
                control_frames.read(held, (bit<32>) standard_metadata.egress_port);
                control_frames.write((bit<32>) standard_metadata.egress_port, held - 1);
            }
        }
    }
}

control Sums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.changed == 1 && hdr.ipv4.isValid() && !hdr.options.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.reserved,
              hdr.ipv4.whole, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.from, hdr.ipv4.to },
            hdr.ipv4.sum, HashAlgorithm.csum16);
        update_checksum(meta.changed == 1 && hdr.options.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.reserved,
              hdr.ipv4.whole, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.from, hdr.ipv4.to,
              hdr.options.bytes },
            hdr.ipv4.sum, HashAlgorithm.csum16);
    }
}

control Write(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.udp);
        packet.emit(hdr.ndp);
    }
}

V1Switch(Headers(), Verify(), Ingress(), Egress(), Sums(), Write()) main;
