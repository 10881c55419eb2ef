// The P4 program of the NDP paper (SIGCOMM 2017, section 4), which is P4-14, written in P4-16 with its behaviour left as it was
// published: frames in the artifact's layout, no VLAN tags, options or IPv6; the arriving frame loses; no return to sender; a
// trim leaves 54 bytes whose IPv4 length says 20, where 40 would be right; a frame is control if its flags are above 1.
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_NDP = 199;

header ethernet_t {
    bit<48> to;
    bit<48> from;
    bit<16> ether;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> sum;
    bit<32> from;
    bit<32> to;
}

header ndp_t {
    bit<16> flags;
    bit<16> sum;
    bit<32> from;
    bit<32> to;
    bit<32> number;
    bit<32> pacer;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ndp_t ndp;
}

struct metadata_t {
    bit<32> next_hop;
    bit<16> held;
    bit<16> room;
}

parser Headers(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether) {
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_NDP: ndp;
            default: accept;
        }
    }
    state ndp {
        packet.extract(hdr.ndp);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// Packets in the normal queue of each port: four cells of 16 bits.
register<bit<16>>(4) qs;

control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }
    action set_next_hop(bit<32> next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table ipv4_lpm {
        key = { hdr.ipv4.to: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
    }
    action set_mac(bit<48> mac) {
        hdr.ethernet.to = mac;
    }
    table forward {
        key = { meta.next_hop: exact; }
        actions = { set_mac; drop; }
        default_action = drop();
    }
    action set_room(bit<16> room) {
        meta.room = room;
    }
    table buffer {
        actions = { set_room; }
        default_action = set_room(8);
    }
    action direct_priority() {
        standard_metadata.priority = 1;
    }
    action read_register() {
        qs.read(meta.held, (bit<32>) standard_metadata.egress_spec);
    }
    action low() {
        standard_metadata.priority = 0;
        qs.write((bit<32>) standard_metadata.egress_spec, meta.held + 1);
    }
    action high() {
        truncate(54);
        hdr.ipv4.length = 20;
        standard_metadata.priority = 1;
    }
    apply {
        buffer.apply();
        if (!hdr.ipv4.isValid()) {
            drop();
            exit;
        }
        ipv4_lpm.apply();
        if (standard_metadata.egress_spec == 511) {
            exit;
        }
        forward.apply();
        if (standard_metadata.egress_spec == 511) {
            exit;
        }
        if (hdr.ndp.isValid()) {
            if (hdr.ndp.flags > 1) {
                direct_priority();
                exit;
            }
        }
        read_register();
        if (meta.held < meta.room) {
            low();
        } else {
            high();
        }
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<16> held = 0;
        qs.read(held, (bit<32>) standard_metadata.egress_port);
        qs.write((bit<32>) standard_metadata.egress_port, held - (1 - (bit<16>) standard_metadata.priority));
    }
}

control Sums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
              hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.from, hdr.ipv4.to },
            hdr.ipv4.sum, HashAlgorithm.csum16);
    }
}

control Write(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ndp);
    }
}

V1Switch(Headers(), Verify(), Ingress(), Egress(), Sums(), Write()) main;
