package pullnet

// #include <pullnet.h>
import "C"

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// look is the longest time that a call spends in the library, so that it notices a Close and a new deadline.
const look = 100 * time.Millisecond

// Addr is a service of a host: a net.Addr.
type Addr struct {
	// Host is its address and home port.
	Host string
	// Service is the number of the service there.
	Service uint16
}

// Network is "ndp".
func (Addr) Network() string { return "ndp" }

func (a Addr) String() string { return a.Host + "/" + strconv.Itoa(int(a.Service)) }

// user guards an object of the library: its use, and its end when nobody uses it any more.
type user struct {
	// what names the object in errors.
	what   string
	mutex  sync.RWMutex
	closed atomic.Bool
}

// call carries out a call of the library, unless the object is closed.
func (u *user) call(work func() C.int64_t) (int, error) {
	u.mutex.RLock()
	defer u.mutex.RUnlock()
	if u.closed.Load() {
		return 0, u.isClosed()
	}
	return do(work)
}

func (u *user) isClosed() error { return &Error{Closed, u.what + " is closed"} }

// wait carries out a call that takes a timeout, again and again until it is done, the deadline has passed, or the object is
// closed.
func (u *user) wait(deadline *atomic.Int64, work func(timeout C.int64_t) C.int64_t) (int, error) {
	for {
		left := look
		if at := deadline.Load(); at != 0 {
			left = min(look, time.Until(time.Unix(0, at)))
		}
		result, err := u.call(func() C.int64_t { return work(C.int64_t(max(left, 0))) })
		var failed *Error
		// The deadline may have moved during a wait.
		if left <= 0 || !errors.As(err, &failed) || failed.Code != TimedOut {
			return result, err
		}
	}
}

// end carries out the last call, once, when the others have returned.
func (u *user) end(work func()) error {
	if u.closed.Swap(true) {
		return u.isClosed()
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	work()
	return nil
}

// set stores a deadline.
func set(place *atomic.Int64, at time.Time) {
	if at.IsZero() {
		place.Store(0)
		return
	}
	place.Store(at.UnixNano())
}

// Stream is a stream of bytes in both directions: a net.Conn. Any number of goroutines may use it.
type Stream struct {
	handle      *C.pullnet_stream
	user        user
	peer        Addr
	read, write atomic.Int64
}

var _ net.Conn = (*Stream)(nil)

func newStream(handle *C.pullnet_stream, peer Addr) *Stream {
	return &Stream{handle: handle, user: user{what: "the stream"}, peer: peer}
}

// Read reads at least one byte. At the end it returns io.EOF.
func (s *Stream) Read(out []byte) (int, error) {
	if len(out) == 0 {
		return 0, nil
	}
	long, err := s.user.wait(&s.read, func(timeout C.int64_t) C.int64_t {
		return C.int64_t(C.pullnet_read(s.handle, unsafe.Pointer(&out[0]), C.size_t(len(out)), timeout))
	})
	if err == nil && long == 0 {
		return 0, io.EOF
	}
	return long, err
}

// Write writes all of data; it waits for room.
func (s *Stream) Write(data []byte) (int, error) { return s.put(data, false) }

// WriteLast writes all of data and ends the writing half behind it: the end travels with the data.
func (s *Stream) WriteLast(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, s.CloseWrite()
	}
	return s.put(data, true)
}

func (s *Stream) put(data []byte, last bool) (int, error) {
	written := 0
	for written < len(data) {
		left := data[written:]
		long, err := s.user.wait(&s.write, func(timeout C.int64_t) C.int64_t {
			return C.int64_t(C.pullnet_write(s.handle, unsafe.Pointer(&left[0]), C.size_t(len(left)), C.bool(last), timeout))
		})
		if err != nil {
			return written, err
		}
		written += long
	}
	return written, nil
}

// CloseWrite ends the writing half: the other side reads to the end.
func (s *Stream) CloseWrite() error {
	_, err := s.user.call(func() C.int64_t { return C.int64_t(C.pullnet_shutdown(s.handle)) })
	return err
}

// exchange sends a request with the end of the stream, and reads to the end.
func (s *Stream) exchange(request []byte, deadline time.Time) ([]byte, error) {
	s.SetDeadline(deadline)
	if _, err := s.WriteLast(request); err != nil {
		return nil, err
	}
	return io.ReadAll(s)
}

// Settle waits until the other host has acknowledged everything that was written, or until the write deadline.
func (s *Stream) Settle() error {
	_, err := s.user.wait(&s.write, func(timeout C.int64_t) C.int64_t {
		return C.int64_t(C.pullnet_settle(s.handle, timeout))
	})
	return err
}

// Close lets the stream go: what was written still arrives, and what still comes is refused. Calls that wait return.
func (s *Stream) Close() error { return s.user.end(func() { C.pullnet_close(s.handle) }) }

// Abort ends the stream at once, at both ends. Calls that wait return.
func (s *Stream) Abort() error { return s.user.end(func() { C.pullnet_abort(s.handle) }) }

// LocalAddr names the network alone: a stream has no address of its own.
func (s *Stream) LocalAddr() net.Addr { return Addr{} }

// RemoteAddr is the service that was dialled; for a stream that was accepted, the service that it was accepted for.
func (s *Stream) RemoteAddr() net.Addr { return s.peer }

// SetDeadline sets both deadlines. One that has passed makes calls fail, also those that wait; a zero time is none.
func (s *Stream) SetDeadline(at time.Time) error {
	set(&s.read, at)
	set(&s.write, at)
	return nil
}

// SetReadDeadline sets the deadline of reads.
func (s *Stream) SetReadDeadline(at time.Time) error {
	set(&s.read, at)
	return nil
}

// SetWriteDeadline sets the deadline of writes.
func (s *Stream) SetWriteDeadline(at time.Time) error {
	set(&s.write, at)
	return nil
}

// Listener accepts the streams that others open for a service: a net.Listener. Any number of goroutines may use it.
type Listener struct {
	handle   *C.pullnet_listener
	user     user
	service  uint16
	deadline atomic.Int64
}

var _ net.Listener = (*Listener)(nil)

// Accept waits for the next stream, a *Stream. At the limit of streams of this application it fails with Full, which is
// Temporary: the next stream stays queued, and a later call accepts it once another stream is closed.
func (l *Listener) Accept() (net.Conn, error) {
	var handle *C.pullnet_stream
	_, err := l.user.wait(&l.deadline, func(timeout C.int64_t) C.int64_t {
		return C.int64_t(C.pullnet_accept(l.handle, timeout, &handle))
	})
	if err != nil {
		return nil, err
	}
	return newStream(handle, Addr{Service: l.service}), nil
}

// SetDeadline makes calls of Accept fail from then on; a zero time is none.
func (l *Listener) SetDeadline(at time.Time) error {
	set(&l.deadline, at)
	return nil
}

// Close stops listening, and resets the streams that have not been accepted. Calls that wait return.
func (l *Listener) Close() error { return l.user.end(func() { C.pullnet_listener_close(l.handle) }) }

// Addr is the service.
func (l *Listener) Addr() net.Addr { return Addr{Service: l.service} }
