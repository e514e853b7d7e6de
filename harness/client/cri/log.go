package cri

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// logRate is how many bytes of a log are read in a second. At this rate, the last output
// of a container reaches the log some tenths of a second after the container's end.
const logRate, logChunk = 1 << 20, 4 << 10

// log is the log of a container.
type log interface {
	// texts returns what was written to the files of the log before the call.
	texts() []string
	// close ends the log. Afterwards texts still returns the same.
	close() error
}

// slowLog is a FIFO in place of a container's log file. It behaves like a slow disk.
type slowLog struct {
	pipe   *os.File
	remove func() error // removes the FIFO
	done   chan struct{}
	mu     sync.Mutex // for a read together with the change of text
	text   bytes.Buffer
}

// newSlowLog creates the FIFO, and begins to read it. It also opens the FIFO for writing,
// so that the reader sees no end of file after containerd has exited.
func newSlowLog(dir *foreign.Dir, name string) (*slowLog, error) {
	if err := dir.MakeFIFO(name, 0o600); err != nil {
		return nil, fmt.Errorf("create a log: %w", err)
	}
	pipe, err := dir.OpenFIFO(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	l := &slowLog{pipe: pipe, done: make(chan struct{}), remove: func() error { return dir.Remove(name) }}
	go l.read()
	return l, nil
}

// read reads from the FIFO at logRate until the log is closed.
func (l *slowLog) read() {
	defer close(l.done)
	conn, err := l.pipe.SyscallConn()
	if err != nil {
		return
	}
	next := time.Now()
	for {
		var n int
		err := conn.Read(func(uintptr) bool { // waits until there is input
			n = l.take(logChunk)
			return n > 0
		})
		if err != nil {
			return
		}
		if now := time.Now(); next.Before(now.Add(-logChunk * time.Second / logRate)) {
			next = now // Read has waited for input
		}
		next = next.Add(time.Duration(n) * time.Second / logRate)
		<-time.After(time.Until(next))
	}
}

// take reads at most this many bytes, without waiting.
func (l *slowLog) take(most int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn, err := l.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { n = l.takeFrom(int(fd), most) })
	}
	return n
}

// takeFrom does the work of take, with the FIFO's descriptor. The caller must hold the
// lock.
func (l *slowLog) takeFrom(fd, most int) int {
	buf := make([]byte, most)
	n, _ := unix.Read(fd, buf) // n is -1 if there is no input
	n = max(n, 0)
	l.text.Write(buf[:n])
	return n
}

func (l *slowLog) texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn, err := l.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			if waiting, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil && waiting > 0 {
				l.takeFrom(int(fd), waiting)
			}
		})
	}
	return []string{l.text.String()}
}

// close reads the rest, and removes the FIFO.
func (l *slowLog) close() error {
	l.texts()
	err := errors.Join(l.remove(), l.pipe.Close())
	<-l.done
	return err
}

// logName returns the name of a container's log, which is in the folder Truth.
func logName(i *harness.Instance) string { return i.Name + ".out" }

// hasLog reports whether a container has a log: if it writes output, or if the client
// rotates the log.
func (c *Client) hasLog(i *harness.Instance) bool {
	return !c.again && (i.Spec.Lines > 0 || i.Spec.Stdin > 0 || c.rotates(i))
}

// openLog creates the log of a container. The log exists until closeLogs.
func (c *Client) openLog(i *harness.Instance) error {
	if !c.hasLog(i) || c.logs[i] != nil {
		return nil
	}
	if c.logs == nil {
		c.logs = map[*harness.Instance]log{}
	}
	if c.rotates(i) {
		c.logs[i] = &rotatedLog{dir: c.Truth, name: logName(i)}
		return nil
	}
	l, err := newSlowLog(c.Truth, logName(i))
	if err != nil {
		return err
	}
	c.logs[i] = l
	return nil
}

// readLog returns the lines that are in a container's log now, or nil if there is no log.
func (c *Client) readLog(i *harness.Instance) *harness.Outputs {
	l := c.logs[i]
	if l == nil || i.ID == "" {
		return nil
	}
	read, texts := client.ReadLog, l.texts()
	if i.Spec.TTY {
		read = client.ReadTerminalLog
	}
	out := read(time.Now(), texts...)
	return &out
}

// closeLogs reads the rest of all logs, and removes them.
func (c *Client) closeLogs() {
	for _, i := range c.instances {
		if i.Outputs = c.readLog(i); c.logs[i] != nil {
			i.Rotations = rotations(c.logs[i])
			c.Record.Failed("client", "removes the log of "+i.Name, c.logs[i].close())
			delete(c.logs, i)
		}
	}
}
