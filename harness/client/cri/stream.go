package cri

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/remotecommand"
	upgrader "k8s.io/client-go/transport/spdy"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/shimquake/shimquake/harness/client"
)

// stream is a client of CRI's streaming server, like `kubectl exec` and `kubectl
// attach`. It uses SPDY, which every release of containerd supports.
type stream struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	stdin *io.PipeWriter // nil: the stream has none
	out   output
	done  chan struct{} // closed when it has ended
	err   error         // why it ended; set once done is closed
	end   func()        // ends it

	mu   sync.Mutex
	conn net.Conn // nil while there is none
}

// output holds the output of a process that a stream has received.
type output struct {
	stdout, stderr sink
	began          chan struct{} // closed at the first byte of stdout
}

// openStream connects to the address in a response of CRI. The stream ends with ctx.
func (c *Client) openStream(ctx context.Context, address string, stdin bool) *stream {
	ctx, end := context.WithCancel(ctx)
	s := &stream{dial: c.Dial, done: make(chan struct{}), end: end, out: output{began: make(chan struct{})}}
	s.out.stdout.first = sync.OnceFunc(func() { close(s.out.began) })
	opts := remotecommand.StreamOptions{Stdout: &s.out.stdout, Stderr: &s.out.stderr}
	if stdin {
		opts.Stdin, s.stdin = io.Pipe()
	}
	ctx = klog.NewContext(ctx, logr.Discard()) // the result of a broken connection is recorded
	go func() {
		defer close(s.done)
		defer end()
		s.err = s.run(ctx, address, opts)
		if stdin {
			_ = s.stdin.Close() // of a pipe; ends writes that wait
		}
	}()
	return s
}

func (s *stream) run(ctx context.Context, address string, opts remotecommand.StreamOptions) error {
	to, err := url.Parse(address)
	if err != nil {
		return err
	}
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{
		UpgradeTransport: &http.Transport{DialContext: s.connect}})
	if err != nil {
		return err
	}
	e, err := remotecommand.NewSPDYExecutorForTransports(upgrade, upgrader.NewUpgraderForStreaming(upgrade),
		http.MethodPost, to)
	if err != nil {
		return err
	}
	return e.StreamWithContext(ctx, opts)
}

func (s *stream) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
	return conn, err
}

// breakOff closes the connection, as the end of the client's process does, and waits
// for the end of the stream. The stream cannot send a close message of its own first.
func (s *stream) breakOff() {
	s.mu.Lock()
	if s.conn != nil {
		_ = s.conn.Close() // it may have ended already
	}
	s.mu.Unlock()
	s.end()
	<-s.done
}

// write writes to the standard input, until the stream has ended.
func (s *stream) write(_ context.Context, text []byte) (int, error) { return s.stdin.Write(text) }

// open reports whether it has not ended.
func (s *stream) open() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// feeder returns a writer to the standard input of the process with a record.
func (s *stream) feeder(record string) client.Feeder {
	return client.Feeder{Record: record, Write: s.write, Alive: s.open}
}

// sink keeps what is written to it.
type sink struct {
	first func() // called at each write; nil: no call
	mu    sync.Mutex
	b     bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first != nil && len(p) > 0 {
		s.first()
	}
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
