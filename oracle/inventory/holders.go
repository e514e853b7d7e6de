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

// handles reads the handles of containerd and of the shims among the processes. It reads
// goroutines before descriptors: the connection of the goroutines' request is a
// descriptor, too, and so it is in every inventory.
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
	sockets, out := scan.ByInode(listed), []Handles{}
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
		return nil, fmt.Errorf("containerd, process %d, exited during the scan", s.Daemon)
	}
	return out, nil
}

// beginPause is the time between two requests while some goroutine has not begun.
const beginPause = time.Millisecond

// askGoroutines repeats its request until all goroutines have begun, because before that
// their function is unknown.
func askGoroutines(ctx context.Context, s Scene) ([]Held, error) {
	var p goroutines
	err := poll.Until(ctx, beginPause, func() (bool, error) {
		text, err := s.Profile(ctx)
		if err != nil {
			return false, err
		}
		p, err = parseGoroutines(bytes.NewReader(text))
		return p.notBegun() == 0, err
	})
	return p.held, err
}

// shimTimeout is how long a shim may take to collect its garbage and respond. It takes
// some 2 ms. A frozen shim never responds.
const shimTimeout = 500 * time.Millisecond

// askShim makes a shim collect its garbage and send its goroutines, until all of them
// have begun. ok is false if the shim does not respond.
func askShim(ctx context.Context, s Scene, pid int) (held []Held, ok bool, err error) {
	if s.ShimProfile == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shimTimeout)
	defer cancel()
	var p goroutines
	err = poll.Until(ctx, beginPause, func() (bool, error) {
		text, answers := s.ShimProfile(ctx, pid)
		if !answers {
			return false, errNoResponse
		}
		var err error
		p, err = parseGoroutines(strings.NewReader(text))
		return p.nameless == 0, err
	})
	if errors.Is(err, errNoResponse) || ctx.Err() != nil {
		return nil, false, nil
	}
	return p.held, err == nil, err
}

// errNoResponse reports that a shim did not send its profile.
var errNoResponse = errors.New("the shim does not respond")
