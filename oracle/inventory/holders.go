package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/poll"
)

// handles reads what containerd and the shims among the processes hold. The goroutines
// come first: the connection that they are asked for over is a descriptor, too, and is
// there then in each look.
func handles(ctx context.Context, s Scene, all []Process) ([]Handles, error) {
	if s.Daemon == 0 {
		return nil, nil
	}
	var goroutines []Held
	if s.Profile != nil {
		var err error
		if goroutines, err = askGoroutines(ctx, s); err != nil {
			return nil, fmt.Errorf("ask containerd for its goroutines: %w", err)
		}
	}
	listed, err := scan.NetUnix(s.Proc, 1)
	if err != nil {
		return nil, err
	}
	sockets := make(map[uint64]scan.UnixSocket, len(listed))
	for _, u := range listed {
		sockets[u.Inode] = u
	}
	out := []Handles{}
	for _, p := range all {
		daemon := p.PID == s.Daemon
		if !daemon && (!p.Serves() || p.Foreign) {
			continue
		}
		h := Handles{PID: p.PID, Start: p.Start, Shim: p.Shim}
		var own []Held
		if daemon {
			own = goroutines
		} else if own, h.Collected, err = askShim(ctx, s, p.PID); err != nil {
			return nil, fmt.Errorf("ask shim process %d for its goroutines: %w", p.PID, err)
		}
		h.Held, err = readDescriptors(filepath.Join(s.Proc, strconv.Itoa(p.PID)), s.ContainerdRoot, sockets)
		if gone(err) && !daemon {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the descriptors of process %d: %w", p.PID, err)
		}
		h.Held = append(own, h.Held...)
		out = append(out, h)
	}
	if !slices.ContainsFunc(out, func(h Handles) bool { return h.Shim == nil }) {
		return nil, fmt.Errorf("containerd, process %d, ended while it was looked at", s.Daemon)
	}
	return out, nil
}

// beginPause is how long a goroutine is given to begin.
const beginPause = time.Millisecond

// askGoroutines asks until all goroutines have begun: of one that has not, nobody knows
// what it is going to be.
func askGoroutines(ctx context.Context, s Scene) ([]Held, error) {
	var p goroutines
	err := poll.Until(ctx, beginPause, func() (bool, error) {
		text, err := s.Profile(ctx)
		if err != nil {
			return false, err
		}
		p, err = parseGoroutines(bytes.NewReader(text))
		return p.unbegun() == 0, err
	})
	return p.held, err
}

// shimPatience is how long a shim may take to collect its garbage and answer: some 2 ms.
// One that stands still never does.
const shimPatience = 500 * time.Millisecond

// askShim has a shim collect its garbage, and asks until all its goroutines have begun;
// ok is false where it does not answer.
func askShim(ctx context.Context, s Scene, pid int) (held []Held, ok bool, err error) {
	if s.ShimProfile == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shimPatience)
	defer cancel()
	var p goroutines
	err = poll.Until(ctx, beginPause, func() (bool, error) {
		text, answers := s.ShimProfile(ctx, pid)
		if !answers {
			return false, errNoAnswer
		}
		var err error
		p, err = parseGoroutines(strings.NewReader(text))
		return p.nameless == 0, err
	})
	if errors.Is(err, errNoAnswer) || ctx.Err() != nil {
		return nil, false, nil
	}
	return p.held, err == nil, err
}

// errNoAnswer says that a shim gives no profile.
var errNoAnswer = errors.New("the shim does not answer")
