package daemon

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener is the shim's listener. It can close all its connections, and end the shim
// after a reply.
type listener struct {
	net.Listener
	end    func() // ends the shim
	ending atomic.Bool

	mu    sync.Mutex
	conns map[*conn]bool
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = true
	return c, nil
}

// closeConns closes every connection; the listener stays.
func (l *listener) closeConns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Conn.Close()
	}
}

// endAfterReply lets the next reply end the shim.
func (l *listener) endAfterReply() { l.ending.Store(true) }

// conn is a connection of the shim. Each Write is a whole reply: ttrpc writes a reply of
// less than 4 KiB at once.
type conn struct {
	net.Conn
	of *listener
}

func (c *conn) Write(p []byte) (int, error) {
	ending := c.of.ending.Load() // before the write, because p may be the reply to an earlier call
	n, err := c.Conn.Write(p)
	if ending {
		c.of.end()
	}
	return n, err
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
