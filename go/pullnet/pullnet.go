// Package pullnet gives Go programs streams of NDP, through the daemon pullnetd of this machine and the C library libpullnet.
//
//	host, err := pullnet.Open("/run/pullnet/host.sock")
//	stream, err := host.Dial("10.0.0.2:61199", 7)
//	answer, err := host.Call("10.0.0.2:61199", 7, []byte("a request"), time.Second)
//
// Stream and Listener are a net.Conn and a net.Listener, so that packages such as net/http work over them. A call that waits
// holds a thread of the system.
//
// The compiler has to find pullnet.h and libpullnet.so: the Debian package pullnet-host installs both; otherwise set CGO_CFLAGS
// and CGO_LDFLAGS.
package pullnet

// #cgo LDFLAGS: -lpullnet
// #include <stdlib.h>
// #include <pullnet.h>
import "C"

import (
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"
)

// Socket is where the daemon is found unless its file says otherwise.
const Socket = "/run/pullnet/host.sock"

// Code is the reason of a failure, one of the PULLNET_CODE_... of pullnet.h.
type Code int

// Reasons of failures.
const (
	Refused      Code = C.PULLNET_CODE_REFUSED
	Reset        Code = C.PULLNET_CODE_RESET
	Silent       Code = C.PULLNET_CODE_SILENT
	Full         Code = C.PULLNET_CODE_FULL
	Closed       Code = C.PULLNET_CODE_CLOSED
	ServiceTaken Code = C.PULLNET_CODE_SERVICE_TAKEN
	NoListener   Code = C.PULLNET_CODE_NO_LISTENER
	Family       Code = C.PULLNET_CODE_FAMILY
	Unreachable  Code = C.PULLNET_CODE_UNREACHABLE
	TimedOut     Code = C.PULLNET_CODE_TIMED_OUT
	Stopped      Code = C.PULLNET_CODE_STOPPED
	Argument     Code = C.PULLNET_CODE_ARGUMENT
	Fault        Code = C.PULLNET_CODE_FAULT
	NoKey        Code = C.PULLNET_CODE_NO_KEY
	Failed       Code = C.PULLNET_CODE_FAILED
)

// Error is a failure of a call: a net.Error.
type Error struct {
	Code Code
	text string
}

func (e *Error) Error() string { return e.text }

// Timeout reports whether a deadline has passed.
func (e *Error) Timeout() bool { return e.Code == TimedOut }

// Temporary reports whether later calls may succeed: a deadline has passed, or this application is at its limit of streams.
// Servers such as net/http's wait a moment and accept again.
func (e *Error) Temporary() bool { return e.Code == TimedOut || e.Code == Full }

// Is makes errors.Is(err, net.ErrClosed) hold for an object that was closed, and errors.Is(err, os.ErrDeadlineExceeded) after a
// deadline.
func (e *Error) Is(target error) bool {
	return e.Code == Closed && target == net.ErrClosed || e.Code == TimedOut && target == os.ErrDeadlineExceeded
}

// do carries out a call of the library. The message of a failure is kept for each thread of the system.
func do(work func() C.int64_t) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	result := work()
	if result < 0 {
		return 0, &Error{Code(result), C.GoString(C.pullnet_error())}
	}
	return int(result), nil
}

// Host is a connection to the daemon of this machine. Any number of goroutines may use it.
type Host struct {
	handle *C.pullnet_host
	user   user
}

// Open connects to the daemon whose socket is at path.
func Open(path string) (*Host, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	host := &Host{user: user{what: "the connection to the daemon"}}
	_, err := do(func() C.int64_t { return C.int64_t(C.pullnet_open(text, &host.handle)) })
	if err != nil {
		return nil, err
	}
	return host, nil
}

// Close ends the connection. Its streams, listeners and calls under way go on.
func (h *Host) Close() {
	// An error says that it is closed already.
	_ = h.user.end(func() { C.pullnet_host_close(h.handle) })
}

// Dial opens a stream to a service of the host at address, such as "10.0.0.2:61199". It does not wait: the first bytes that are
// written travel in the first packet, and a refusal is told by the first read or a later write.
func (h *Host) Dial(address string, service uint16) (*Stream, error) {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	var handle *C.pullnet_stream
	_, err := h.user.call(func() C.int64_t {
		return C.int64_t(C.pullnet_connect(h.handle, text, C.uint16_t(service), 0, &handle))
	})
	if err != nil {
		return nil, err
	}
	return newStream(handle, Addr{address, service}), nil
}

// Listen accepts streams to a service from now on.
func (h *Host) Listen(service uint16) (*Listener, error) {
	listener := &Listener{service: service, user: user{what: "the listener"}}
	_, err := h.user.call(func() C.int64_t {
		return C.int64_t(C.pullnet_listen(h.handle, C.uint16_t(service), &listener.handle))
	})
	if err != nil {
		return nil, err
	}
	return listener, nil
}

// Call sends a request on a stream of its own and returns what comes back up to the end; a timeout of 0 waits for ever. At most
// once: after an error it is unknown whether the request was carried out.
func (h *Host) Call(address string, service uint16, request []byte, timeout time.Duration) ([]byte, error) {
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	stream, err := h.Dial(address, service)
	if err != nil {
		return nil, err
	}
	answer, err := stream.exchange(request, deadline)
	if err != nil {
		stream.Abort()
		return nil, err
	}
	stream.Close()
	return answer, nil
}
