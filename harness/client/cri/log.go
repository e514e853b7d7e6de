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

// logRate is the number of bytes of a log that are read in a second. At this rate, the
// last output of a container takes some tenths of a second to reach the log after the
// container has ended.
const logRate, logChunk = 1 << 20, 4 << 10

// slowLog is a FIFO in place of a container's log. It acts as a slow disk.
type slowLog struct {
	pipe *os.File
	done chan struct{}
	mu   sync.Mutex // of a read and what it has read
	text bytes.Buffer
}

// newSlowLog makes the FIFO, and begins to read it. It opens the FIFO for writing, too,
// so that the reader sees no end of file when containerd has ended.
func newSlowLog(dir *foreign.Dir, name string) (*slowLog, error) {
	path := dir.Path(name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make the log %s: %w", path, err)
	}
	pipe, err := dir.OpenFIFO(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	l := &slowLog{pipe: pipe, done: make(chan struct{})}
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
			next = now // it has waited for input
		}
		next = next.Add(time.Duration(n) * time.Second / logRate)
		<-time.After(time.Until(next))
	}
}

// take reads up to a number of bytes, without waiting.
func (l *slowLog) take(most int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn, err := l.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { n = l.takeFrom(int(fd), most) })
	}
	return n
}

// takeFrom is take while the lock is held.
func (l *slowLog) takeFrom(fd, most int) int {
	buf := make([]byte, most)
	n, _ := unix.Read(fd, buf) // -1: there is no input
	n = max(n, 0)
	l.text.Write(buf[:n])
	return n
}

// now returns the text that was written to the log before the call. Writers may write
// more meanwhile.
func (l *slowLog) now() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn, err := l.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			if waiting, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil && waiting > 0 {
				l.takeFrom(int(fd), waiting)
			}
		})
	}
	return l.text.String()
}

// close ends the reading, and removes the FIFO. Its text can still be read afterwards.
func (l *slowLog) close() error {
	l.now()
	err := errors.Join(os.Remove(l.pipe.Name()), l.pipe.Close())
	<-l.done
	return err
}

// logName is a container's log, in the world's folder for records.
func logName(i *harness.Instance) string { return i.Name + ".out" }

// openLog makes the log of a container that writes output. The log exists until
// closeLogs.
func (c *Client) openLog(i *harness.Instance) error {
	if c.again || !write(i.Spec) || c.logs[i] != nil {
		return nil
	}
	l, err := newSlowLog(c.Truth, logName(i))
	if err != nil {
		return err
	}
	if c.logs == nil {
		c.logs = map[*harness.Instance]*slowLog{}
	}
	c.logs[i] = l
	return nil
}

// readLog reads the current content of a container's log. It returns nil if there is no
// log.
func (c *Client) readLog(i *harness.Instance) *harness.Outputs {
	l := c.logs[i]
	if l == nil || i.ID == "" {
		return nil
	}
	out := client.ReadLog(time.Now(), l.now())
	if i.Spec.TTY {
		out = client.ReadTerminalLog(time.Now(), l.now())
	}
	return &out
}

// closeLogs reads the logs to their ends, when the run is over.
func (c *Client) closeLogs() {
	for _, i := range c.instances {
		if i.Outputs = c.readLog(i); c.logs[i] != nil {
			c.Record.Failed("client", "the log of "+i.Name+" is removed", c.logs[i].close())
			delete(c.logs, i)
		}
	}
}
