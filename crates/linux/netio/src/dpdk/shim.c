/* A thin layer over DPDK 22.11; shim.h says what each function is for. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "shim.h"

/* Buffers beyond two for each descriptor (AF_XDP holds as many): two bursts with the caller, and some with the driver. */
#define SPARE_BUFFERS 511

int pullnet_dpdk_start(int argc, char **argv)
{
    if (rte_eal_init(argc, argv) >= 0)
        return 0;
    return rte_errno != 0 ? -rte_errno : -EINVAL;
}

int pullnet_dpdk_in_its_thread(void (*call)(void *), void *argument)
{
    return rte_eal_alarm_set(1, call, argument);
}

/* The number of the device, which is made if it is not there. */
static int find(const char *device, uint16_t *number)
{
    char name[RTE_DEV_NAME_MAX_LEN];
    size_t length = strcspn(device, ",");
    if (length >= sizeof name)
        return -ENAMETOOLONG;
    memcpy(name, device, length);
    name[length] = '\0';
    if (rte_eth_dev_get_port_by_name(name, number) == 0)
        return 0;
    int failed = rte_dev_probe(device);
    return failed != 0 ? failed : rte_eth_dev_get_port_by_name(name, number);
}

/* Makes the device ours, so that nobody opens it a second time. */
static int own(uint16_t number)
{
    struct rte_eth_dev_owner owner = { .name = "pullnet" };
    int failed = rte_eth_dev_owner_new(&owner.id);
    if (failed != 0)
        return failed;
    failed = rte_eth_dev_owner_set(number, &owner);
    return failed == -EPERM ? -EBUSY : failed;
}

/* Virtual devices carry frames of any length, but their drivers say 1514 or 1518 bytes: they are told no MTU. */
static bool is_virtual(uint16_t number)
{
    struct rte_eth_dev_info info;
    return rte_eth_dev_info_get(number, &info) == 0 && strcmp(rte_bus_name(rte_dev_bus(info.device)), "vdev") == 0;
}

static int set_up(struct pullnet_dpdk_port *port, const struct pullnet_dpdk_asked *asked)
{
    uint16_t number = port->number, incoming = asked->frames, outgoing = asked->frames;
    struct rte_eth_conf wanted = { .rxmode = { .mtu = is_virtual(number) ? 0 : asked->mtu } };
    int failed = rte_eth_dev_configure(number, 1, 1, &wanted);
    if (failed == 0)
        failed = rte_eth_dev_adjust_nb_rx_tx_desc(number, &incoming, &outgoing);
    if (failed != 0)
        return failed;
    int socket = rte_eth_dev_socket_id(number);
    char name[RTE_MEMPOOL_NAMESIZE];
    snprintf(name, sizeof name, "pullnet-%u", number);
    unsigned buffers = 2 * ((unsigned)incoming + outgoing) + SPARE_BUFFERS;
    port->pool = rte_pktmbuf_pool_create(name, buffers, 0, 0, RTE_PKTMBUF_HEADROOM + asked->buffer_room, socket);
    if (port->pool == NULL)
        return -rte_errno;
    failed = rte_eth_rx_queue_setup(number, 0, incoming, socket, NULL, port->pool);
    if (failed == 0)
        failed = rte_eth_tx_queue_setup(number, 0, outgoing, socket, NULL);
    return failed != 0 ? failed : rte_eth_dev_start(number);
}

/* Virtual devices are left out: theirs would set a flag of the kernel interface, which stays when the port is gone. */
static int take_all(uint16_t number)
{
    int failed = is_virtual(number) ? 0 : rte_eth_promiscuous_enable(number);
    return failed == -ENOTSUP ? 0 : failed;
}

/* Asks what the port is to say of itself. */
static int describe(struct pullnet_dpdk_port *port)
{
    struct rte_ether_addr mac;
    struct rte_eth_dev_info info;
    int failed = rte_eth_macaddr_get(port->number, &mac);
    if (failed == 0)
        failed = rte_eth_dev_info_get(port->number, &info);
    if (failed != 0)
        return failed;
    memcpy(port->mac, mac.addr_bytes, sizeof port->mac);
    port->interface = info.if_index;
    return 0;
}

int pullnet_dpdk_open(const char *device, const struct pullnet_dpdk_asked *asked, struct pullnet_dpdk_port *port)
{
    memset(port, 0, sizeof *port);
    int failed = find(device, &port->number);
    if (failed == 0)
        failed = own(port->number);
    if (failed != 0)
        return failed;
    failed = set_up(port, asked);
    if (failed == 0 && asked->promiscuous)
        failed = take_all(port->number);
    if (failed == 0)
        failed = describe(port);
    if (failed != 0)
        pullnet_dpdk_close(port);
    return failed;
}

void pullnet_dpdk_close(const struct pullnet_dpdk_port *port)
{
    struct rte_eth_dev_info info;
    bool known = rte_eth_dev_info_get(port->number, &info) == 0;
    rte_eth_dev_stop(port->number);
    rte_eth_dev_close(port->number);
    if (known)
        rte_dev_remove(info.device);
    rte_mempool_free(port->pool);
}

uint16_t pullnet_dpdk_receive(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t most)
{
    return rte_eth_rx_burst(port->number, 0, frames, most);
}

uint16_t pullnet_dpdk_send(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t count)
{
    return rte_eth_tx_burst(port->number, 0, frames, count);
}

int pullnet_dpdk_allocate(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t count)
{
    return rte_pktmbuf_alloc_bulk(port->pool, frames, count);
}

void pullnet_dpdk_release(struct rte_mbuf **frames, uint16_t count)
{
    rte_pktmbuf_free_bulk(frames, count);
}

const uint8_t *pullnet_dpdk_bytes(const struct rte_mbuf *frame, uint32_t *length)
{
    *length = rte_pktmbuf_data_len(frame);
    return rte_pktmbuf_is_contiguous(frame) ? rte_pktmbuf_mtod(frame, const uint8_t *) : NULL;
}

uint8_t *pullnet_dpdk_room(struct rte_mbuf *frame)
{
    return rte_pktmbuf_mtod(frame, uint8_t *);
}

void pullnet_dpdk_written(struct rte_mbuf *frame, uint16_t length)
{
    rte_pktmbuf_data_len(frame) = length;
    rte_pktmbuf_pkt_len(frame) = length;
}

int pullnet_dpdk_is_up(const struct pullnet_dpdk_port *port)
{
    struct rte_eth_link link;
    return rte_eth_link_get_nowait(port->number, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

int pullnet_dpdk_counted(const struct pullnet_dpdk_port *port, uint64_t *missed, uint64_t *refused)
{
    struct rte_eth_stats stats;
    int failed = rte_eth_stats_get(port->number, &stats);
    if (failed != 0)
        return failed;
    *missed = stats.imissed + stats.rx_nombuf;
    *refused = stats.oerrors;
    return 0;
}
