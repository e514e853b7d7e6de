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
	stdin *io.PipeWriter // nil if the stream has no standard input
	out   output
	done  chan struct{} // closed when the stream has ended
	err   error         // the stream's error; valid after done is closed
	end   func()        // ends the stream

	mu   sync.Mutex
	conn net.Conn // nil before the connection
}

// output has the output of a process, as the stream received it.
type output struct {
	stdout, stderr sink
	began          chan struct{} // closed at the first byte of stdout
}

// openStream starts a stream to the address in a response of CRI. The stream ends when
// ctx ends.
func (c *Client) openStream(ctx context.Context, address string, stdin bool) *stream {
	ctx, end := context.WithCancel(ctx)
	s := &stream{dial: c.Dial, done: make(chan struct{}), end: end, out: output{began: make(chan struct{})}}
	s.out.stdout.first = sync.OnceFunc(func() { close(s.out.began) })
	opts := remotecommand.StreamOptions{Stdout: &s.out.stdout, Stderr: &s.out.stderr}
	if stdin {
		opts.Stdin, s.stdin = io.Pipe()
	}
	ctx = klog.NewContext(ctx, logr.Discard()) // because the error of the stream is recorded
	go func() {
		defer close(s.done)
		defer end()
		s.err = s.run(ctx, address, opts)
		if stdin {
			_ = s.stdin.Close() // so that a blocked write returns
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

// breakOff closes the connection without a close message, as if the client's process had
// died. Then it waits for the end of the stream.
func (s *stream) breakOff() {
	s.mu.Lock()
	if s.conn != nil {
		_ = s.conn.Close() // the connection may be closed already
	}
	s.mu.Unlock()
	s.end()
	<-s.done
}

// write writes to the standard input. It returns when the stream has taken all, or has
// ended.
func (s *stream) write(_ context.Context, text []byte) (int, error) { return s.stdin.Write(text) }

// open reports whether the stream has not ended yet.
func (s *stream) open() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// feeder returns a writer to the stream's standard input. record is the record's name of
// the process that reads it.
func (s *stream) feeder(record string) client.Feeder {
	return client.Feeder{Record: record, Write: s.write, Alive: s.open}
}

// sink keeps all text that is written to it.
type sink struct {
	first func() // called before each write, if not nil
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
