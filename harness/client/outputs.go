package client

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/pkg/cio"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// Reader reads the outputs of a task or of an exec from FIFOs, as dockerd does. It keeps
// reading when containerd exits.
type Reader struct {
	// Slow limits the reader to 125 KiB/s, like a busy client. The shim then still has
	// unread output half a second after the process has ended.
	Slow bool
	// Unread makes the reader read nothing before Close, except for one chunk.
	Unread bool
	// Stdin also creates a FIFO for the standard input. The reader writes nothing to it.
	Stdin bool
	// Terminal makes the reader expect a terminal: both outputs come through one FIFO.
	Terminal       bool
	stdout, stderr buffer
	mu             sync.Mutex
	io             cio.IO
	unread         chan struct{} // closed by Close; nil unless Unread is set
}

// Create returns a function that creates the FIFOs in a folder, and begins to read them.
func (r *Reader) Create(dir *foreign.Dir) cio.Creator {
	if r.Slow {
		r.stdout.pace, r.stderr.pace = pace, pace
	}
	if r.Unread {
		r.unread = make(chan struct{})
		r.stdout.from, r.stderr.from = r.unread, r.unread
	}
	var stdin io.Reader
	if r.Stdin {
		stdin = strings.NewReader("")
	}
	return func(id string) (cio.IO, error) {
		opts := []cio.Opt{cio.WithStreams(stdin, &r.stdout, &r.stderr)}
		if r.Terminal {
			opts = append(opts, cio.WithTerminal)
		}
		fifos, err := r.makeFIFOs(dir, id)
		if err != nil {
			return nil, err
		}
		made, err := cio.NewAttach(opts...)(fifos.links)
		fifos.closeHandles()
		if err != nil {
			return nil, errors.Join(err, fifos.links.Close())
		}
		fifos.IO = made
		r.set(fifos)
		return fifos, nil
	}
}

// fifoSet are the FIFOs of a process. A program of the world could replace a FIFO by a
// link to a file of the host. So the harness opens them by links of /proc, which lead to
// the FIFOs that it has made.
type fifoSet struct {
	cio.IO
	paths   cio.Config // in the world
	links   *cio.FIFOSet
	handles []*os.File
}

// Config returns the paths for containerd.
func (s *fifoSet) Config() cio.Config { return s.paths }

// makeFIFOs makes the FIFOs of a process in a new folder.
func (r *Reader) makeFIFOs(dir *foreign.Dir, id string) (s *fifoSet, err error) {
	in := rand.Text()
	s = &fifoSet{paths: cio.Config{Terminal: r.Terminal}}
	s.links = cio.NewFIFOSet(s.paths, func() error { return dir.RemoveAll(in) })
	defer func() {
		if err != nil {
			s.closeHandles()
			err = errors.Join(err, s.links.Close())
		}
	}()
	if err := dir.MkdirAll(in, 0o700); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		suffix     string
		needed     bool
		path, link *string
	}{
		{"stdin", r.Stdin, &s.paths.Stdin, &s.links.Stdin},
		{"stdout", true, &s.paths.Stdout, &s.links.Stdout},
		{"stderr", !r.Terminal, &s.paths.Stderr, &s.links.Stderr},
	} {
		if !f.needed {
			continue
		}
		name := filepath.Join(in, id+"-"+f.suffix)
		if err := dir.MakeFIFO(name, 0o700); err != nil {
			return nil, err
		}
		handle, err := dir.OpenFIFO(name, unix.O_PATH)
		if err != nil {
			return nil, err
		}
		s.handles = append(s.handles, handle)
		*f.path, *f.link = dir.Path(name), fmt.Sprintf("/proc/self/fd/%d", handle.Fd())
	}
	return s, nil
}

// closeHandles closes the files to which the links lead.
func (s *fifoSet) closeHandles() {
	for _, h := range s.handles {
		_ = h.Close() // nothing was read or written by it
	}
}

func (r *Reader) set(to cio.IO) (was cio.IO) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, r.io = r.io, to
	return was
}

// Input returns the path of the FIFO for the standard input, or "" if there is none.
func (r *Reader) Input() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.io == nil {
		return ""
	}
	return r.io.Config().Stdin
}

// drain is how long Close waits for the last output. The client closes after
// the response to Delete, which the shim sends after it has copied all output.
const drain = 2 * time.Second

// Close waits for the end of the output, and removes the FIFOs. A second call does
// nothing.
func (r *Reader) Close() {
	is := r.set(nil)
	if is == nil {
		return
	}
	if r.unread != nil {
		close(r.unread)
	}
	done := make(chan struct{})
	go func() { defer close(done); is.Wait() }()
	select {
	case <-done:
	case <-time.After(drain):
		is.Cancel() // a process of a killed fakeshim may still have the FIFO open
		<-done
	}
	_ = is.Close() // the oracle reports a FIFO that is left
}

// Discard removes the FIFOs of a process that was never created. They have no output.
func (r *Reader) Discard() {
	if is := r.set(nil); is != nil {
		is.Cancel()
		is.Wait()
		_ = is.Close() // the oracle reports a FIFO that is left
	}
}

// Outputs returns the output that was read.
func (r *Reader) Outputs() harness.Outputs {
	if r.Terminal {
		return ReadTerminal(r.stdout.String())
	}
	return ReadLines(r.stdout.String(), r.stderr.String())
}

// pace is the time that a slow reader takes for each chunk.
const pace, chunk = 8 * time.Millisecond, 1 << 10

// buffer is a bytes.Buffer that another goroutine may read while it is written.
type buffer struct {
	pace time.Duration   // the time for each chunk
	from <-chan struct{} // closed when reading may begin; nil if it may begin at once
	mu   sync.Mutex
	b    bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.from != nil {
		<-b.from
	}
	if b.pace > 0 {
		<-time.After(b.pace * time.Duration(len(p)/chunk)) // until then the shim cannot write the rest
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p[:min(len(p), MaxOutput-b.b.Len())]) // the rest is read, and dropped
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
