package daemon

import (
	"net"
	"sync"
	"sync/atomic"
)

// tracked is a listener that knows its connections. It can close them all, and end the
// shim once a reply has been written.
type tracked struct {
	net.Listener
	wrote  func() // called after a write, once endAfterReply has been called
	ending atomic.Bool

	mu    sync.Mutex
	conns map[*conn]bool
}

func (t *tracked) Accept() (net.Conn, error) {
	accepted, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, of: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns[c] = true
	return c, nil
}

// closeConns closes every connection; the listener stays.
func (t *tracked) closeConns() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		_ = c.Conn.Close()
	}
}

func (t *tracked) endAfterReply() { t.ending.Store(true) }

// conn is a connection of a tracked listener. ttrpc writes a reply of less than 4 KiB at
// once.
type conn struct {
	net.Conn
	of *tracked
}

func (c *conn) Write(p []byte) (int, error) {
	ending := c.of.ending.Load() // before the write: an earlier reply does not count
	n, err := c.Conn.Write(p)
	if ending {
		c.of.wrote()
	}
	return n, err
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
