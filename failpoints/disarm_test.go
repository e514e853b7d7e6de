package failpoints

import "testing"

// A process that stands still (SIGSTOP) never says that it knows. A run whose plan stops
// one must end all the same.
func TestDisarmWaitsForNobody(t *testing.T) {
	c, path := listen(t, nil, Error(entry, 0, "no"))
	p, _ := connect(t, path, 5, nil)
	within(t, func() { c.Arm(nil) })
	p.receive() // and says nothing
	if a := p.ask(entry); a.Do != "off" {
		t.Errorf("after the plan was taken away: %v", a)
	}
}
