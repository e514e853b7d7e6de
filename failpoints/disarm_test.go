package failpoints

import "testing"

// A frozen process (SIGSTOP) never acknowledges. A run whose plan freezes a process must
// end all the same.
func TestDisarmDoesNotWait(t *testing.T) {
	c, path := listen(t, nil, Error(entry, 0, "no"))
	p, _ := connect(t, path, 5, nil)
	within(t, func() { c.Disarm() })
	p.receive() // and acknowledges nothing
	if a := p.ask(entry); a.Do != "off" {
		t.Errorf("after the plan was taken away: %v", a)
	}
}
