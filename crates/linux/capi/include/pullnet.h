/* libpullnet: streams of NDP through the daemon pullnetd. See docs/host.md.
 *
 * Made from the code by tools/header.sh; not to be changed by hand. */

#ifndef PULLNET_H
#define PULLNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 Why a function failed.
 */
enum pullnet_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Nobody listens for the service, or the other host has as many streams as it wants.
   */
  PULLNET_CODE_REFUSED = -1,
  /*
   The other application or the other host ended the stream.
   */
  PULLNET_CODE_RESET = -2,
  /*
   Nothing was heard of the other host for too long.
   */
  PULLNET_CODE_SILENT = -3,
  /*
   This host, or this application, has as many streams as it may.
   */
  PULLNET_CODE_FULL = -4,
  /*
   The stream was let go, or its writing half is ended.
   */
  PULLNET_CODE_CLOSED = -5,
  /*
   The service has a listener already.
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
   Nobody answers for the address on this network.
   */
  PULLNET_CODE_UNREACHABLE = -9,
  /*
   It took longer than the caller allows.
   */
  PULLNET_CODE_TIMED_OUT = -10,
  /*
   The daemon is gone, or goes away.
   */
  PULLNET_CODE_STOPPED = -11,
  /*
   An argument cannot be.
   */
  PULLNET_CODE_ARGUMENT = -12,
  /*
   A fault of the library's own.
   */
  PULLNET_CODE_FAULT = -13,
  /*
   The daemon encrypts its streams, and has no key for the other host.
   */
  PULLNET_CODE_NO_KEY = -14,
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
 Takes the streams that others open for a service. Any number of threads may use one; one of them closes it.
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
 The words of the last failure of a function in this thread; valid until the next one. Empty if there was none.
 */
const char *pullnet_error(void);

/*
 Connects to the daemon whose socket is at `path`, and puts the connection at `host`.

 # Safety
 `path` is a text that ends with 0; `host` is a place for a pointer.
 */
int32_t pullnet_open(const char *path, pullnet_host **host);

/*
 Lets a connection go. Its streams and listeners live on until they are closed. NULL does nothing.

 # Safety
 `host` came from `pullnet_open` and is not used any more.
 */
void pullnet_host_close(pullnet_host *host);

/*
 Opens a stream to `service` of the host `to` ("10.0.0.2:61199", "[fd00::2]:61199") and puts it at `stream`. Waits for
 nothing: what is written first travels in the first packet. Higher `priority` asks to be pulled first; 0 is ordinary.

 # Safety
 `host` came from `pullnet_open`, `to` is a text that ends with 0, `stream` is a place for a pointer.
 */
int32_t pullnet_connect(const pullnet_host *host,
                        const char *to,
                        uint16_t service,
                        uint8_t priority,
                        pullnet_stream **stream);

/*
 Takes streams for `service` from now on; puts the listener at `listener`.

 # Safety
 `host` came from `pullnet_open`; `listener` is a place for a pointer.
 */
int32_t pullnet_listen(const pullnet_host *host, uint16_t service, pullnet_listener **listener);

/*
 Waits for the next stream and puts it at `stream`. `timeout_ns`: nanoseconds, negative for ever.

 # Safety
 `listener` came from `pullnet_listen` and is open; `stream` is a place for a pointer.
 */
int32_t pullnet_accept(const pullnet_listener *listener,
                       int64_t timeout_ns,
                       pullnet_stream **stream);

/*
 Takes no more streams; those that nobody accepted are reset. NULL does nothing.

 # Safety
 `listener` came from `pullnet_listen` and is not used any more.
 */
void pullnet_listener_close(pullnet_listener *listener);

/*
 Reads at least one byte and at most `room` bytes to `out`. Returns how many; 0: the stream has ended.

 # Safety
 `stream` is open; `out` has `room` bytes.
 */
ptrdiff_t pullnet_read(const pullnet_stream *stream,
                       void *out,
                       size_t room,
                       int64_t timeout_ns);

/*
 Writes at least one and at most `size` bytes; waits for room. With `last`, the stream's writing half ends behind them if
 all of them were taken. Returns how many were.

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
 Data of this stream is pulled at this priority, higher first, whatever its sender asks for.

 # Safety
 `stream` is open.
 */
int32_t pullnet_prefer(const pullnet_stream *stream, uint8_t priority);

/*
 Lets a stream go: what was written still arrives, and what still comes is refused. NULL does nothing.

 # Safety
 `stream` came from this library and is not used any more.
 */
void pullnet_close(pullnet_stream *stream);

/*
 Ends a stream at once, at both ends, and lets it go. NULL does nothing.

 # Safety
 `stream` came from this library and is not used any more.
 */
void pullnet_abort(pullnet_stream *stream);

/*
 Sends a request of `size` bytes to `service` of the host `to` on a stream of its own, and puts the response at
 `response`, its length at `response_size`; `pullnet_free` takes it back. At most once: after a failure nobody knows
 whether the request was carried out. `timeout_ns` is for all of it.

 # Safety
 `host` came from `pullnet_open`, `to` is a text that ends with 0, `request` has `size` bytes, the last two are places
 for a pointer and a length.
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
 Takes a response back. NULL does nothing.

 # Safety
 `response` and `size` came from one `pullnet_call` and are not used any more.
 */
void pullnet_free(uint8_t *response, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PULLNET_H */
/* made from 53c279ff113b8ac09d14079db4a0522d9fb9eed18d4b040e35e13266240fd8fb */
