package failpoints

import (
	"slices"
	"time"
)

// Bypass disables all faults, counts and records of hits until the returned function is
// called. The counts and hits from before the call of Bypass stay. Bypass first waits
// until the earlier hits have arrived. It waits no longer than the timeout, because a
// frozen process never acknowledges.
func (c *Controller) Bypass(timeout time.Duration) (end func()) {
	c.Flush(timeout)
	c.setBypass(true)
	return func() {
		c.Flush(timeout) // the hits during the bypass must not count
		c.setBypass(false)
		c.Flush(timeout)
	}
}

func (c *Controller) setBypass(is bool) { c.change(func() { c.bypass = is }) }

// IgnoreIDs excludes containers and their shims from the case. Hits of these shims, and
// calls with these ids, meet no fault and are neither counted nor recorded. A statement
// has no id, so the statements that containerd runs for these containers still count.
func (c *Controller) IgnoreIDs(ids ...string) {
	c.change(func() {
		c.ignoredIDs = map[string]bool{}
		for _, id := range ids {
			c.ignoredIDs[id] = true
		}
		delete(c.ignoredIDs, "") // many hits have no id
	})
}

// id returns the container or the sandbox that a shim was started for, or "" of another
// process. All releases start shims and their helpers with -id.
func (s *session) id() string {
	if i := slices.Index(s.hello.Args, "-id"); i >= 0 && i+1 < len(s.hello.Args) {
		return s.hello.Args[i+1]
	}
	return ""
}
