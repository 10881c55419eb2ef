package pullnet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const service = 7

// daemon starts pullnetd, which the environment names, over the kernel's UDP at a loopback address of its own.
func daemon(t *testing.T, number int) (socket, address string) {
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
		"[ndp]\ngive_up = \"120 s\"\n", ip, socket)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, config)
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill(); command.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), " serves ") {
			go io.Copy(io.Discard, log)
			return socket, ip + ":61199"
		}
	}
	t.Fatal("the daemon has ended")
	return "", ""
}

func hosts(t *testing.T, number int) (here, there *Host, address string) {
	t.Helper()
	var opened [2]*Host
	for at := range opened {
		var socket string
		socket, address = daemon(t, number+at)
		host, err := Open(socket)
		opened[at] = host
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(opened[at].Close)
	}
	return opened[0], opened[1], address
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
	here, there, address := hosts(t, 0)
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
	} else if err.Error() != "refused: nobody listens for the service" {
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
	here, there, address := hosts(t, 2)
	listener := listen(t, there)
	stream, err := here.Dial(address, service)
	if err != nil {
		t.Fatal(err)
	}
	stream.Write([]byte("x"))
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stream.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var late net.Error
	if _, err := stream.Read(make([]byte, 1)); !errors.As(err, &late) || !late.Timeout() {
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

func TestHTTPWorksOverIt(t *testing.T) {
	here, there, address := hosts(t, 4)
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
