package client

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/harness"
)

// Reader reads the outputs of a task or of an exec by FIFOs, as dockerd does, so that
// they survive every end of containerd.
type Reader struct {
	// Slow has it read no more than 128 KiB/s, as a reader that has other things to do: what
	// was written last is still with the shim for half a second when the process has ended.
	Slow bool
	// Unread has it read nothing before Close, but for one chunk that nobody sees.
	Unread bool
	// Stdin makes a FIFO for the standard input, too, from which nothing comes by itself.
	Stdin bool
	// Terminal has it read a terminal: both outputs come by one FIFO.
	Terminal       bool
	stdout, stderr buffer
	mu             sync.Mutex
	io             cio.IO
	unread         chan struct{} // closed by Close; nil: it reads at once
}

// Create makes the FIFOs, in a folder, and begins to read them.
func (r *Reader) Create(dir string) cio.Creator {
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
		opts := []cio.Opt{cio.WithStreams(stdin, &r.stdout, &r.stderr), cio.WithFIFODir(dir)}
		if r.Terminal {
			opts = append(opts, cio.WithTerminal)
		}
		made, err := cio.NewCreator(opts...)(id)
		if err != nil {
			return nil, err
		}
		r.set(made)
		return made, nil
	}
}

func (r *Reader) set(to cio.IO) (was cio.IO) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, r.io = r.io, to
	return was
}

// Input is the path of the FIFO of the standard input; "": there is none.
func (r *Reader) Input() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.io == nil {
		return ""
	}
	return r.io.Config().Stdin
}

// drain is how long the last of the output may be on its way once the task is deleted: a
// shim answers Delete when it has copied all.
const drain = 2 * time.Second

// Close waits for the end of the output, and removes its FIFOs. It may be called again.
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
	patience := time.NewTimer(drain)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		is.Cancel() // a shim that was killed may have left the FIFO to a process that lives on
		<-done
	}
	_ = is.Close() // what is left of it is a leak, and found as such
}

// Discard removes the FIFOs of a process that does not exist: nothing comes from them.
func (r *Reader) Discard() {
	if is := r.set(nil); is != nil {
		is.Cancel()
		is.Wait()
		_ = is.Close() // a FIFO that stays is a leak, and found as such
	}
}

// Outputs are what was read.
func (r *Reader) Outputs() harness.Outputs {
	if r.Terminal {
		return ReadTerminal(r.stdout.String())
	}
	return ReadLines(r.stdout.String(), r.stderr.String())
}

// pace is how long a slow reader takes for each chunk.
const pace, chunk = 8 * time.Millisecond, 1 << 10

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	pace time.Duration   // how long it takes for a chunk
	from <-chan struct{} // nothing is read before; nil: at once
	mu   sync.Mutex
	b    bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.from != nil {
		<-b.from
	}
	if b.pace > 0 {
		<-time.After(b.pace * time.Duration(len(p)/chunk)) // what is not read yet stays with the shim
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
