/* libpullnet: streams of NDP through the daemon pullnetd. See docs/host.md.
 *
 * Made from the code by tools/header.sh; not to be changed by hand. */

#ifndef PULLNET_H
#define PULLNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 Reason of a failure.
 */
enum pullnet_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   The service has no listener, or the other host is at its limit of streams.
   */
  PULLNET_CODE_REFUSED = -1,
  /*
   The other application or the other host ended the stream.
   */
  PULLNET_CODE_RESET = -2,
  /*
   The other host was silent for too long.
   */
  PULLNET_CODE_SILENT = -3,
  /*
   This host or this application is at its limit of streams.
   */
  PULLNET_CODE_FULL = -4,
  /*
   The stream was closed, or its writing half was ended.
   */
  PULLNET_CODE_CLOSED = -5,
  /*
   The service already has a listener.
   */
  PULLNET_CODE_SERVICE_TAKEN = -6,
  /*
   The service has no listener.
   */
  PULLNET_CODE_NO_LISTENER = -7,
  /*
   One host has an IPv4 address, the other an IPv6 address.
   */
  PULLNET_CODE_FAMILY = -8,
  /*
   No host on this network answers for the address.
   */
  PULLNET_CODE_UNREACHABLE = -9,
  /*
   The timeout has expired.
   */
  PULLNET_CODE_TIMED_OUT = -10,
  /*
   The daemon has stopped or is stopping.
   */
  PULLNET_CODE_STOPPED = -11,
  /*
   An argument is invalid.
   */
  PULLNET_CODE_ARGUMENT = -12,
  /*
   An internal error of the library.
   */
  PULLNET_CODE_FAULT = -13,
  /*
   The daemon encrypts its streams, and has no key for the other host.
   */
  PULLNET_CODE_NO_KEY = -14,
  /*
   The transport gave up the stream, for instance because it has used up its packet numbers.
   */
  PULLNET_CODE_FAILED = -15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pullnet_code pullnet_code;
#else
typedef int32_t pullnet_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 A connection to the daemon of this machine. Any number of threads may use one.
 */
typedef struct pullnet_host pullnet_host;

/*
 Accepts streams that others open for a service. Any number of threads may use one; one of them closes it.
 */
typedef struct pullnet_listener pullnet_listener;

/*
 A stream of bytes in both directions. Any number of threads may use one; one of them closes it.
 */
typedef struct pullnet_stream pullnet_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The message of the last failed call in this thread; valid until the next failure. Empty if there was none.
 */
const char *pullnet_error(void);

/*
 Connects to the daemon whose socket is at `path`, and stores the connection at `host`.

 # Safety
 `path` is NUL-terminated; `host` is a place for a pointer.
 */
int32_t pullnet_open(const char *path, pullnet_host **host);

/*
 Closes a connection. Its streams and listeners stay usable until they are closed. NULL does nothing.

 # Safety
 `host` came from `pullnet_open` and is no longer used.
 */
void pullnet_host_close(pullnet_host *host);

/*
 Opens a stream to `service` of the host `to` ("10.0.0.2:61199", "[fd00::2]:61199") and stores it at `stream`.
 Returns without waiting: the first written bytes travel in the first packet. Nothing is sent before, so that the
 other host does not know of a stream that only reads: write to it, or shut it down, before you wait for data. A
 higher `priority` requests to be pulled earlier; 0 is ordinary.

 # Safety
 `host` came from `pullnet_open`, `to` is NUL-terminated, `stream` is a place for a pointer.
 */
int32_t pullnet_connect(const pullnet_host *host,
                        const char *to,
                        uint16_t service,
                        uint8_t priority,
                        pullnet_stream **stream);

/*
 Listens for streams to `service`; stores the listener at `listener`.

 # Safety
 `host` came from `pullnet_open`; `listener` is a place for a pointer.
 */
int32_t pullnet_listen(const pullnet_host *host, uint16_t service, pullnet_listener **listener);

/*
 Waits for the next stream and stores it at `stream`. `timeout_ns`: nanoseconds, negative for no timeout.

 # Safety
 `listener` came from `pullnet_listen` and is open; `stream` is a place for a pointer.
 */
int32_t pullnet_accept(const pullnet_listener *listener,
                       int64_t timeout_ns,
                       pullnet_stream **stream);

/*
 Stops listening; resets streams that were not accepted. NULL does nothing.

 # Safety
 `listener` came from `pullnet_listen` and is no longer used.
 */
void pullnet_listener_close(pullnet_listener *listener);

/*
 Reads at least one byte and at most `room` bytes into `out`. Returns the number of bytes; 0: the stream has ended.

 # Safety
 `stream` is open; `out` has `room` bytes.
 */
ptrdiff_t pullnet_read(const pullnet_stream *stream,
                       void *out,
                       size_t room,
                       int64_t timeout_ns);

/*
 Writes at least one and at most `size` bytes; waits for room. With `last`, ends the writing half if all bytes were
 accepted. Returns the number of bytes accepted.

 # Safety
 `stream` is open; `data` has `size` bytes.
 */
ptrdiff_t pullnet_write(const pullnet_stream *stream,
                        const void *data,
                        size_t size,
                        bool last,
                        int64_t timeout_ns);

/*
 Ends the writing half: the other side reads to the end.

 # Safety
 `stream` is open.
 */
int32_t pullnet_shutdown(const pullnet_stream *stream);

/*
 Waits until the other host has acknowledged everything that was written.

 # Safety
 `stream` is open.
 */
int32_t pullnet_settle(const pullnet_stream *stream, int64_t timeout_ns);

/*
 Pulls data of this stream at this priority, higher first, regardless of the sender's request.

 # Safety
 `stream` is open.
 */
int32_t pullnet_prefer(const pullnet_stream *stream, uint8_t priority);

/*
 Closes a stream: written data is still delivered, further incoming data is refused. NULL does nothing.

 # Safety
 `stream` came from this library and is no longer used.
 */
void pullnet_close(pullnet_stream *stream);

/*
 Aborts a stream at both ends and frees it. NULL does nothing.

 # Safety
 `stream` came from this library and is no longer used.
 */
void pullnet_abort(pullnet_stream *stream);

/*
 Sends a request of `size` bytes to `service` of the host `to` on a stream of its own. Stores the response at *`response`
 and its length at `response_size`; free it with `pullnet_free`. At-most-once: after a failure, it is unknown whether the
 request was carried out. `timeout_ns` covers the whole call.

 # Safety
 `host` came from `pullnet_open`, `to` is NUL-terminated, `request` has `size` bytes, the last two are places for a
 pointer and a length.
 */
int32_t pullnet_call(const pullnet_host *host,
                     const char *to,
                     uint16_t service,
                     const void *request,
                     size_t size,
                     uint8_t priority,
                     int64_t timeout_ns,
                     uint8_t **response,
                     size_t *response_size);

/*
 Frees a response. NULL does nothing.

 # Safety
 `response` and `size` came from one `pullnet_call` and are no longer used.
 */
void pullnet_free(uint8_t *response, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PULLNET_H */
/* made from 8f68a411973b5dfc933b87ab7171fd478a0305efd15b4c70a6b35043e04805b4 */
