// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A switch inside the kernel: XDP programs on the interfaces of its ports, one object for all of them.
//
// XDP has no queue. Each port has a virtual one instead (a phantom queue, as in HULL): a word that says when the line
// would be free if the port sent at its rate. What arrives for a port whose virtual data queue is full is trimmed, or
// dropped if it is not NDP. Frames leave at once; nothing is delayed, reordered or paced. What that means for the rules
// of crates/core/qdisc stands in docs/switch.md.
//
// Compiled by: clang -O2 -g -target bpf -mcpu=v3
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define be16(x) __builtin_bswap16(x)

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*redirect_map)(void *map, __u64 key, __u64 flags) = (void *)BPF_FUNC_redirect_map;
static long (*adjust_tail)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;
static __u64 (*buffer_length)(struct xdp_md *ctx) = (void *)BPF_FUNC_xdp_get_buff_len;
static __u64 (*ktime)(void) = (void *)BPF_FUNC_ktime_get_ns;
static __u32 (*get_random)(void) = (void *)BPF_FUNC_get_prandom_u32;

#define PORTS 64
#define ENTRIES 4096
#define GROUP 16
// Bytes of the header of NDP in UDP, all of which a trim leaves (docs/wire.md); version 4, under a key, has a longer one. In
// version 3, that of other transports, up to 23 words follow; byte 14 says how many.
#define NDP_HEADER 32
#define SEALED_HEADER 64
#define SEALED_VERSION 4
#define WORDS_VERSION 3
#define MOST_WORDS 23
#define WORDS_AT 14
#define LABEL_BASE 49152

enum forwarding { BY_PATH, AT_RANDOM, BY_FLOW };

// Of the whole switch.
struct rules {
	__u64 clock;        // if not 0, the time in ns: for tests
	__u32 forwarding;
	__u32 overhead;     // bytes that count beside those of the frame
	__u32 shortest;     // a shorter frame counts as so many bytes
	__u32 trim_to;      // bytes of the frame that a trim leaves, or its headers
	__u8 data, control, trimmed, returned; // DSCP
	__u32 trims;        // 0: what finds no room is dropped whole
};

// Of a port, by its number.
struct port {
	__u64 ns_per_kib;   // time on the wire of 1024 bytes
	__u32 packets;      // room for data, in frames of `full` bytes, the one in service included
	__u32 full;         // bytes that count of a full frame
};

// Virtual time at which the line is free, ns; one word, so that compare-and-swap suffices.
struct queue {
	__u64 free;
};

enum counter {
	IF_IN_UCAST_PKTS, IF_IN_OCTETS, IF_IN_DISCARDS, IF_IN_ERRORS, IF_OUT_UCAST_PKTS, IF_OUT_OCTETS,
	IF_OUT_DISCARDS, TRIM_PACKETS, TX_TRIM_PACKETS, CONTENDED, COUNTERS
};

struct counters {
	__u64 of[COUNTERS];
};

// The ports that lead to an address.
struct entry {
	__u32 count;
	__u16 shift, mask;
	__u8 ports[GROUP];
};

#define MAP(name, kind, k, v, n)                                                                               \
	struct {                                                                                               \
		int (*type)[kind];                                                                             \
		k *key;                                                                                        \
		v *value;                                                                                      \
		int (*max_entries)[n];                                                                         \
	} name SEC(".maps")

MAP(rules, BPF_MAP_TYPE_ARRAY, __u32, struct rules, 1);
MAP(ports, BPF_MAP_TYPE_ARRAY, __u32, struct port, PORTS);
MAP(queues, BPF_MAP_TYPE_ARRAY, __u32, struct queue, PORTS);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct counters, PORTS);
MAP(entries, BPF_MAP_TYPE_HASH, __u64, struct entry, ENTRIES);
MAP(ingress, BPF_MAP_TYPE_HASH, __u32, __u32, PORTS);
MAP(egress, BPF_MAP_TYPE_DEVMAP, __u32, __u32, PORTS);

INLINE void count(__u32 port, enum counter which, __u64 by)
{
	struct counters *all = map_lookup(&counters, &port);

	if (all)
		all->of[which] += by;
}

// What a frame is, and where its parts lie.
struct frame {
	void *at, *end;
	__u32 length, ip, udp, least;
	int v6, dscp, is_udp, is_fragment;
	__u16 source_port;
	__u32 flow;
};

INLINE __u32 mix(__u32 hash, __u32 word)
{
	hash ^= word;
	return hash * 0x9e3779b1u;
}

INLINE void see_v4(struct frame *f)
{
	struct iphdr *ip = f->at + f->ip;

	// Options are rare; a frame with them is foreign.
	if ((void *)(ip + 1) > f->end || ip->ihl != 5 || ip->version != 4)
		return;
	f->dscp = ip->tos >> 2;
	f->is_udp = ip->protocol == 17;
	f->is_fragment = (ip->frag_off & be16(0x3fff)) != 0;
	f->flow = mix(mix(ip->protocol, ip->saddr), ip->daddr);
	f->udp = f->ip + sizeof(*ip);
}

INLINE void see_v6(struct frame *f)
{
	struct ipv6hdr *ip = f->at + f->ip;

	if ((void *)(ip + 1) > f->end || ip->version != 6)
		return;
	f->v6 = 1;
	f->dscp = (ip->priority << 2 | ip->flow_lbl[0] >> 6) & 63;
	f->is_udp = ip->nexthdr == 17;
	f->flow = mix(mix(mix(ip->nexthdr, ip->saddr.s6_addr32[3]), ip->daddr.s6_addr32[3]), ip->saddr.s6_addr32[0]);
	f->udp = f->ip + sizeof(*ip);
}

// Bytes of the header that begins at `first`, where `there` bytes follow UDP.
INLINE __u32 header_length(const struct frame *f, const __u8 *first, __u32 there)
{
	__u32 words;

	if ((void *)(first + WORDS_AT + 1) > f->end)
		return NDP_HEADER;
	if (*first >> 4 == SEALED_VERSION)
		return SEALED_HEADER;
	words = first[WORDS_AT];
	if (*first >> 4 != WORDS_VERSION || words > MOST_WORDS || NDP_HEADER + 4 * words > there)
		return NDP_HEADER;
	return NDP_HEADER + 4 * words;
}

INLINE void see(struct frame *f, struct xdp_md *ctx)
{
	struct ethhdr *eth;
	struct udphdr *udp;
	const __u8 *first;

	f->at = (void *)(long)ctx->data;
	f->end = (void *)(long)ctx->data_end;
	f->length = buffer_length(ctx);
	f->ip = sizeof(*eth);
	f->dscp = -1;
	eth = f->at;
	if ((void *)(eth + 1) > f->end)
		return;
	if (eth->h_proto == be16(ETH_P_IP))
		see_v4(f);
	else if (eth->h_proto == be16(ETH_P_IPV6))
		see_v6(f);
	udp = f->at + f->udp;
	if (!f->is_udp || !f->udp || (void *)(udp + 1) > f->end) {
		f->is_udp = 0;
		return;
	}
	first = (void *)(udp + 1);
	f->least = f->udp + sizeof(*udp) + header_length(f, first, f->length - f->udp - sizeof(*udp));
	f->source_port = be16(udp->source);
}

INLINE __u32 wire(const struct rules *r, __u32 length)
{
	return (length < r->shortest ? r->shortest : length) + r->overhead;
}

INLINE __u64 now_of(const struct rules *r)
{
	return r->clock ? r->clock : ktime();
}

// Puts `bytes` behind everything that is virtually waiting at a port, unless more than `room` bytes would wait then.
INLINE int join(__u32 number, const struct port *port, __u32 bytes, __u64 room, __u64 now)
{
	struct queue *queue = map_lookup(&queues, &number);
	__u64 takes = ((__u64)bytes * port->ns_per_kib) >> 10;
	__u64 most = (room * port->ns_per_kib) >> 10;

	if (!queue)
		return 0;
#pragma unroll
	for (int attempt = 0; attempt < 8; attempt++) {
		__u64 before = *(volatile __u64 *)&queue->free;
		__u64 start = before > now ? before : now;

		if (start + takes - now > most)
			return 0;
		if (__sync_val_compare_and_swap(&queue->free, before, start + takes) == before)
			return 1;
	}
	// Eight others were faster: as good as full.
	count(number, CONTENDED, 1);
	return 0;
}

// A checksum that was wrong becomes right, as in the software switch: it is calculated over the whole header.
INLINE void mark_v4(struct iphdr *ip, __u8 dscp, __u16 total)
{
	const __u16 *words = (const __u16 *)ip;
	__u32 sum = 0;

	ip->tos = dscp << 2 | (ip->tos & 3);
	ip->tot_len = be16(total);
	ip->check = 0;
#pragma unroll
	for (int n = 0; n < 10; n++)
		sum += words[n];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = (__sum16)~sum;
}

// Cuts the payload and says so in every header. 0 if that is not possible.
INLINE int trim(struct xdp_md *ctx, struct frame *f, const struct rules *r)
{
	__u32 keep = r->trim_to > f->least ? r->trim_to : f->least;
	struct udphdr *udp;
	__u16 datagram;

	if (keep >= f->length || adjust_tail(ctx, (int)keep - (int)f->length))
		return 0;
	f->at = (void *)(long)ctx->data;
	f->end = (void *)(long)ctx->data_end;
	f->length = keep;
	datagram = keep - f->udp;
	if (f->v6) {
		struct ipv6hdr *ip = f->at + sizeof(struct ethhdr);

		udp = (void *)(ip + 1);
		if ((void *)(udp + 1) > f->end)
			return 0;
		ip->priority = r->trimmed >> 2;
		ip->flow_lbl[0] = (r->trimmed & 3) << 6 | (ip->flow_lbl[0] & 0x3f);
		ip->payload_len = be16(datagram);
	} else {
		struct iphdr *ip = f->at + sizeof(struct ethhdr);

		udp = (void *)(ip + 1);
		if ((void *)(udp + 1) > f->end)
			return 0;
		mark_v4(ip, r->trimmed, keep - sizeof(struct ethhdr));
	}
	udp->len = be16(datagram);
	return 1;
}

INLINE int choose(const struct frame *f, const struct rules *r, const struct entry *entry)
{
	__u32 label = f->flow, count = entry->count;

	if (count == 1)
		return entry->ports[0];
	if (r->forwarding == AT_RANDOM)
		label = get_random();
	else if (r->forwarding == BY_PATH && f->is_udp && !f->is_fragment && f->source_port >= LABEL_BASE)
		label = ((__u32)(f->source_port - LABEL_BASE) >> (entry->shift & 15)) & entry->mask;
	return entry->ports[label % count & (GROUP - 1)];
}

INLINE __u64 destination(const struct frame *f)
{
	const __u8 *to = f->at;
	__u64 address = 0;

	for (int n = 0; n < 6; n++)
		address = address << 8 | to[n];
	return address;
}

INLINE int leave(__u32 port, struct frame *f, const struct rules *r)
{
	count(port, IF_OUT_UCAST_PKTS, 1);
	count(port, IF_OUT_OCTETS, wire(r, f->length));
	return redirect_map(&egress, port, XDP_DROP);
}

INLINE int drop(__u32 port, enum counter why)
{
	count(port, why, 1);
	return XDP_DROP;
}

// A frame comes to the virtual queue of the port that it is to leave by.
INLINE int admit(struct xdp_md *ctx, struct frame *f, const struct rules *r, __u32 number)
{
	struct port *port = map_lookup(&ports, &number);
	int complete = f->is_udp && f->length >= f->least;
	int is_control = r->trims && complete && (f->dscp == r->control || f->dscp == r->trimmed || f->dscp == r->returned);
	// Data may have a priority in the high three bits of its DSCP; all of it waits together.
	int has_priority = r->data < 8 && (f->dscp & 7) == r->data && !is_control;
	int is_data = r->trims && complete && (f->dscp == r->data || has_priority);
	__u64 now = now_of(r);

	if (!port)
		return drop(number, IF_OUT_DISCARDS);
	// Control has room of its own, so it always joins; it takes time on the line, which data then waits for.
	if (is_control) {
		join(number, port, wire(r, f->length), 1ull << 40, now);
		if (f->dscp != r->control)
			count(number, TX_TRIM_PACKETS, 1);
		return leave(number, f, r);
	}
	if (join(number, port, wire(r, f->length), (__u64)port->packets * port->full, now))
		return leave(number, f, r);
	if (!is_data || !trim(ctx, f, r))
		return drop(number, IF_OUT_DISCARDS);
	count(number, TRIM_PACKETS, 1);
	count(number, TX_TRIM_PACKETS, 1);
	join(number, port, wire(r, f->length), 1ull << 40, now);
	return leave(number, f, r);
}

SEC("xdp.frags")
int pullnet_switch(struct xdp_md *ctx)
{
	__u32 zero = 0, interface = ctx->ingress_ifindex;
	struct rules *r = map_lookup(&rules, &zero);
	__u32 *from = map_lookup(&ingress, &interface);
	struct frame f = {};
	struct entry *entry;
	__u64 to;
	int port;

	if (!r || !from)
		return XDP_PASS;
	see(&f, ctx);
	if (f.at + sizeof(struct ethhdr) > f.end)
		return drop(*from, IF_IN_ERRORS);
	count(*from, IF_IN_UCAST_PKTS, 1);
	count(*from, IF_IN_OCTETS, wire(r, f.length));
	to = destination(&f);
	entry = map_lookup(&entries, &to);
	if (!entry || !entry->count)
		return drop(*from, IF_IN_DISCARDS);
	port = choose(&f, r, entry);
	if (port == (int)*from)
		return drop(*from, IF_IN_DISCARDS);
	return admit(ctx, &f, r, port);
}

// On the other end of a pair of veth: redirected frames arrive only where some program is attached.
SEC("xdp.frags")
int pullnet_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char licence[] SEC("license") = "Dual MIT/GPL";
