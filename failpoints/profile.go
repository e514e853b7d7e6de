package failpoints

import (
	"context"

	"github.com/shimquake/shimquake/failpoints/probe"
)

// Profile makes a process collect its garbage, and returns the profile of its goroutines
// in its text form (runtime/pprof, debug=1). pid is the number in the world. ok is false
// if there is no such process, if it could not collect, or if it has not responded before
// ctx ends.
func (c *Controller) Profile(ctx context.Context, pid int) (text string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var of *session
	for s := range c.sessions {
		if s.hello.PID == pid {
			of = s
		}
	}
	if of == nil {
		return "", false
	}
	c.asked++
	seq := c.asked
	c.profiles[seq] = nil
	defer delete(c.profiles, seq) // a later response is ignored
	of.send(probe.FromController{Profile: seq})
	for {
		if p := c.profiles[seq]; p != nil {
			return p.Goroutines, p.Collected
		}
		if _, connected := c.sessions[of]; !connected {
			return "", false
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if ctx.Err() != nil {
			return "", false
		}
	}
}

// profiled stores a process's response if a request still waits for it.
func (c *Controller) profiled(p probe.Profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, awaited := c.profiles[p.Seq]; awaited {
		c.profiles[p.Seq] = &p
		c.notify()
	}
}
