package pullnet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const service = 7

// daemon starts pullnetd, which the environment names, over the kernel's UDP at a loopback address of its own. Tables of its file
// may follow.
func daemon(t *testing.T, number int, tables string) (socket, address string) {
	t.Helper()
	program := os.Getenv("PULLNETD")
	if program == "" {
		t.Skip("PULLNETD names no daemon to test with")
	}
	// The daemon is another user once it serves, and has to reach its folder.
	folder, err := os.MkdirTemp("", "pullnet-go-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	os.Chmod(folder, 0o755)
	pid := os.Getpid()
	ip := fmt.Sprintf("127.%d.%d.%d", 1+(pid>>8)%250, pid%256, 200+number)
	socket = filepath.Join(folder, "run", "host.sock")
	config := filepath.Join(folder, "host.toml")
	text := fmt.Sprintf("backend = \"udp\"\naddress = %q\nrate = \"1 Gbps\"\nfarewell = \"0 s\"\n[socket]\npath = %q\n"+
		"[ndp]\ngive_up = \"120 s\"\n%s", ip, socket, tables)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, config)
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill(); command.Wait() })
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), " serves ") {
			go io.Copy(io.Discard, output)
			return socket, ip + ":61199"
		}
	}
	t.Fatal("the daemon has ended")
	return "", ""
}

// hosts starts two daemons; the file of the second ends with tables.
func hosts(t *testing.T, number int, tables string) (here, there *Host, address string) {
	t.Helper()
	var opened [2]*Host
	for at, tables := range [2]string{"", tables} {
		var socket string
		socket, address = daemon(t, number+at, tables)
		host, err := Open(socket)
		opened[at] = host
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(opened[at].Close)
	}
	return opened[0], opened[1], address
}

// accepted opens a stream with a byte in it. It returns both ends.
func accepted(t *testing.T, here *Host, address string, listener *Listener) (*Stream, net.Conn) {
	t.Helper()
	stream, err := here.Dial(address, service)
	if err != nil {
		t.Fatal(err)
	}
	stream.Write([]byte("x"))
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return stream, other
}

func listen(t *testing.T, host *Host) *Listener {
	t.Helper()
	listener, err := host.Listen(service)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestCallsAreAnsweredAndErrorsHaveCodes(t *testing.T) {
	here, there, address := hosts(t, 0, "")
	listener := listen(t, there)
	go func() {
		for {
			stream, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer stream.Close()
				request, err := io.ReadAll(stream)
				if err == nil {
					stream.(*Stream).WriteLast(bytes.ToUpper(request))
				}
			}()
		}
	}()
	for _, request := range [][]byte{{}, []byte("hello"), bytes.Repeat([]byte("every byte "), 100_000)} {
		answer, err := here.Call(address, service, request, time.Minute)
		if err != nil || !bytes.Equal(answer, bytes.ToUpper(request)) {
			t.Fatalf("%d B, %v", len(answer), err)
		}
	}
	var failed *Error
	if _, err := here.Call(address, service+1, []byte("x"), time.Minute); !errors.As(err, &failed) || failed.Code != Refused {
		t.Fatal(err)
	} else if err.Error() != "refused: no application listens at the service" {
		t.Fatal(err)
	}
	if _, err := here.Dial("nowhere", service); !errors.As(err, &failed) || failed.Code != Argument {
		t.Fatal(err)
	}
	if _, err := there.Listen(service); !errors.As(err, &failed) || failed.Code != ServiceTaken {
		t.Fatal(err)
	}
	if _, err := Open("/nowhere/host.sock"); !errors.As(err, &failed) || failed.Code != Stopped {
		t.Fatal(err)
	}
}

func TestWaitingCallsEndByDeadlineAndByClose(t *testing.T) {
	here, there, address := hosts(t, 2, "")
	listener := listen(t, there)
	stream, other := accepted(t, here, address, listener)
	stream.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var late net.Error
	if _, err := stream.Read(make([]byte, 1)); !errors.As(err, &late) || !late.Timeout() || !isLate(err) {
		t.Fatal(err)
	}
	listener.SetDeadline(time.Now().Add(30 * time.Millisecond))
	if _, err := listener.Accept(); !isLate(err) {
		t.Fatal(err)
	}
	listener.SetDeadline(time.Time{})
	if _, err := there.Listen(service + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Call(address, service+1, []byte("nobody accepts it"), 30*time.Millisecond); !isLate(err) {
		t.Fatal(err)
	}
	stream.SetReadDeadline(time.Time{})
	ended := make(chan error, 2)
	go func() { _, err := stream.Read(make([]byte, 1)); ended <- err }()
	go func() { _, err := listener.Accept(); ended <- err }()
	time.Sleep(10 * time.Millisecond)
	stream.Close()
	listener.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	}
	if err := stream.Close(); !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	other.Read(make([]byte, 1))
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
}

// isLate reports whether err is what the packages of the standard library take for a deadline that has passed.
func isLate(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed)
}

func TestADeadlineThatMovesWhileACallWaitsHolds(t *testing.T) {
	here, there, address := hosts(t, 6, "")
	listener := listen(t, there)
	stream, other := accepted(t, here, address, listener)
	// Less than a look of the library is left when the deadline moves.
	stream.SetReadDeadline(time.Now().Add(look / 2))
	time.AfterFunc(look/4, func() { stream.SetReadDeadline(time.Now().Add(time.Minute)) })
	time.AfterFunc(look, func() { other.Write([]byte("late")) })
	if long, err := stream.Read(make([]byte, 10)); err != nil || long != 4 {
		t.Fatal(long, err)
	}
}

func TestAServerGoesOnWhenItsApplicationIsFull(t *testing.T) {
	// The listener and two streams.
	here, there, address := hosts(t, 8, "[limits]\nstreams_per_application = 3\n")
	listener := listen(t, there)
	heard, said := io.Pipe()
	server := http.Server{ErrorLog: log.New(said, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "served")
	})}
	ended := make(chan error, 1)
	go func() {
		err := server.Serve(listener)
		said.Close()
		ended <- err
	}()
	var idle []*Stream
	for range 3 {
		stream, err := here.Dial(address, service)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Write([]byte("G")); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, stream)
	}
	lines := bufio.NewScanner(heard)
	if !lines.Scan() || !strings.Contains(lines.Text(), "limits allow") || !strings.Contains(lines.Text(), "retrying") {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	go io.Copy(io.Discard, heard)
	for _, stream := range idle {
		stream.Close()
	}
	client := http.Client{Transport: &http.Transport{
		Dial: func(string, string) (net.Conn, error) { return here.Dial(address, service) },
	}}
	response, err := client.Get("http://there/")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != "served" {
		t.Fatal(string(got), err)
	}
	response.Body.Close()
	client.CloseIdleConnections()
	server.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Fatal(err)
	}
}

func TestAHostIsClosedWhileOthersUseIt(t *testing.T) {
	_, there, address := hosts(t, 10, "")
	socket, _ := daemon(t, 12, "")
	go echo(listen(t, there))
	for range 20 {
		host, err := Open(socket)
		if err != nil {
			t.Fatal(err)
		}
		const users = 32
		ended := make(chan error, users)
		var answered atomic.Int32
		for number := range users {
			go func() {
				for {
					err := use(host, number, address)
					if err != nil {
						ended <- err
						return
					}
					answered.Add(1)
				}
			}()
		}
		for answered.Load() < users {
			runtime.Gosched()
		}
		for range 3 {
			go host.Close()
		}
		for range users {
			if err := <-ended; !errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}

var listened atomic.Uint32

// use calls, dials or listens, by the number of the user.
func use(host *Host, number int, address string) error {
	switch number % 4 {
	case 0:
		stream, err := host.Dial(address, service)
		if err == nil {
			stream.Abort()
		}
		return err
	case 1:
		// The daemon may still have the listener that was closed last.
		listener, err := host.Listen(uint16(100 + listened.Add(1)%60000))
		if err == nil {
			listener.Close()
		}
		return err
	default:
		answer, err := host.Call(address, service, []byte("hello"), time.Minute)
		if err == nil && string(answer) != "hello" {
			return errors.New("another answer: " + string(answer))
		}
		return err
	}
}

func TestACallOutlivesItsHost(t *testing.T) {
	here, there, address := hosts(t, 13, "")
	listener := listen(t, there)
	answered := make(chan error, 1)
	go func() {
		answer, err := here.Call(address, service, []byte("hello"), time.Minute)
		if err == nil && string(answer) != "hello" {
			err = errors.New("another answer: " + string(answer))
		}
		answered <- err
	}()
	stream, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	here.Close()
	if _, err := here.Call(address, service, nil, time.Minute); !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	stream.(*Stream).WriteLast([]byte("hello"))
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

// echo answers every request with itself, up to the end of the listener.
func echo(listener *Listener) {
	for {
		stream, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer stream.Close()
			if request, err := io.ReadAll(stream); err == nil {
				stream.(*Stream).WriteLast(request)
			}
		}()
	}
}

func TestHTTPWorksOverIt(t *testing.T) {
	here, there, address := hosts(t, 4, "")
	body := strings.Repeat("content ", 100_000)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })}
	go server.Serve(listen(t, there))
	defer server.Close()
	client := http.Client{Transport: &http.Transport{
		Dial: func(string, string) (net.Conn, error) { return here.Dial(address, service) },
	}}
	for range 3 {
		response, err := client.Get("http://there/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(got) != body {
			t.Fatalf("%d B, %v", len(got), err)
		}
	}
}
