package failpoints

import (
	"slices"
	"time"
)

// Bypass lets processes pass every point as if nothing were armed: nothing is done
// there, counted or remembered, until the returned function is called, which keeps
// counts and hits as they were. It waits until what was passed before has arrived, so
// that nothing of it is lost; a process that stands still is waited for until patience
// has passed.
func (c *Controller) Bypass(patience time.Duration) (end func()) {
	c.Flush(patience)
	c.setBypass(true)
	return func() {
		c.Flush(patience) // or what was passed meanwhile would count
		c.setBypass(false)
		c.awaitAcks()
	}
}

func (c *Controller) setBypass(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bypass = is
	c.announce()
}

// SetApart takes containers and shims out of the case, by their ids: what they pass, and
// the calls about them, meets no fault, and is neither counted nor remembered. A
// statement has no id: what containerd passes at statements for their sake counts.
func (c *Controller) SetApart(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apart = map[string]bool{}
	for _, id := range ids {
		c.apart[id] = true
	}
	delete(c.apart, "") // the id of what has none
	c.announce()
}

// id is the container, or the sandbox, that a shim was started for; "" of another
// process. All releases start shims and their helpers with -id.
func (s *session) id() string {
	if i := slices.Index(s.hello.Args, "-id"); i >= 0 && i+1 < len(s.hello.Args) {
		return s.hello.Args[i+1]
	}
	return ""
}
