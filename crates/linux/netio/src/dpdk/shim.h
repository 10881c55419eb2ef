/* What dpdk/shim.rs calls: DPDK's calls for bursts are inline functions in its headers, which only C can include. */
#ifndef PULLNET_DPDK_SHIM_H
#define PULLNET_DPDK_SHIM_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* How a port is to be opened. */
struct pullnet_dpdk_asked {
    uint16_t mtu;
    uint16_t frames;
    uint16_t buffer_room;
    bool promiscuous;
};

/* A port that has been opened: its buffers, its number, its Ethernet address, and the index of the kernel interface whose
 * frames it carries, or 0. */
struct pullnet_dpdk_port {
    struct rte_mempool *pool;
    uint32_t interface;
    uint16_t number;
    uint8_t mac[6];
};

/* Starts DPDK's environment with such arguments, `argv[0]` being the name of the program. The strings have to stay.
 * Returns 0 or a negative error number, as all functions here do that return an int. */
int pullnet_dpdk_start(int argc, char **argv);

/* Has `call` called with `argument` in the thread in which DPDK handles interrupts, without waiting for it. */
int pullnet_dpdk_in_its_thread(void (*call)(void *), void *argument);

/* Makes the device `device` (what DPDK's --vdev or --allow would say), if it is not there yet, and starts it with one
 * queue in each direction, each of about `frames` descriptors, and with buffers of `buffer_room` bytes. `promiscuous` is
 * for network cards, and without effect on those that cannot. -EBUSY if it has been opened already. */
int pullnet_dpdk_open(const char *device, const struct pullnet_dpdk_asked *asked, struct pullnet_dpdk_port *port);

/* Stops and removes the device, and gives up its buffers. None of them may be in use by the caller. */
void pullnet_dpdk_close(const struct pullnet_dpdk_port *port);

/* At most `most` frames that have arrived; they are the caller's then. Returns how many. */
uint16_t pullnet_dpdk_receive(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t most);

/* Hands over frames, oldest first. Returns how many the driver took; the rest remains the caller's. */
uint16_t pullnet_dpdk_send(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t count);

/* Takes `count` buffers, all or none. */
int pullnet_dpdk_allocate(const struct pullnet_dpdk_port *port, struct rte_mbuf **frames, uint16_t count);

/* Gives buffers back. */
void pullnet_dpdk_release(struct rte_mbuf **frames, uint16_t count);

/* The bytes of a frame, `*length` of them; null if it lies in several buffers, since it is longer than one of them. */
const uint8_t *pullnet_dpdk_bytes(const struct rte_mbuf *frame, uint32_t *length);

/* Where the frame in a buffer fresh from pullnet_dpdk_allocate is to be written. */
uint8_t *pullnet_dpdk_room(struct rte_mbuf *frame);

/* Says how long the frame is that has been written there. */
void pullnet_dpdk_written(struct rte_mbuf *frame, uint16_t length);

/* 1 if the other end can be reached, else 0. */
int pullnet_dpdk_is_up(const struct pullnet_dpdk_port *port);

/* Frames so far that arrived and found no room, and that could not be sent. */
int pullnet_dpdk_counted(const struct pullnet_dpdk_port *port, uint64_t *missed, uint64_t *refused);

#endif
