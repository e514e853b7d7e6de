package failpoints

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
)

// What is passed while all is bypassed changes neither what a fault meets afterwards nor
// what was counted before.
func TestBypassKeepsTheCounts(t *testing.T) {
	c, path := listen(t, nil, Crash(entry, 2))
	p, _ := connect(t, path, 5, nil)
	if a := p.ask(entry); a.Do != "off" {
		t.Fatal(a)
	}
	var end func()
	answering(t, p, 1, func() { end = c.Bypass(time.Minute) })
	if armed := p.takeOver(); len(armed) > 0 {
		t.Error("still armed: ", armed)
	}
	if a := p.ask(entry); a.Do != "off" { // it was on its way
		t.Error("a fault happened meanwhile: ", a)
	}
	if armed := answering(t, p, 2, end); len(armed) != 1 {
		t.Error("not armed again: ", armed)
	}
	if a := p.ask(entry); a.Do != "crash" {
		t.Errorf("the second hit that counts: %v", a)
	}
	if n := len(c.Hits()); n != 2 {
		t.Errorf("%d hits are remembered, want 2", n)
	}
}

// answering has a process take over what is armed, that often, while f waits for it.
func answering(t *testing.T, p *process, times int, f func()) (armed []string) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	for range times {
		armed = p.takeOver()
	}
	within(t, func() { <-done })
	return armed
}

// Calls about a container that stands apart, and all that its shim passes, are nobody's.
func TestApart(t *testing.T) {
	c, path := listen(t, nil, Error(entry, 0, "no"))
	c.SetApart("b")
	p, armed := connectAs(t, path, 5, nil, "containerd-shim-runc-v2", "-namespace", "n", "-id", "b")
	if len(armed) > 0 {
		t.Error("its shim is armed: ", armed)
	}
	p.hit(entry, true)
	if a := p.receive().Answer; a == nil || a.Do != "off" {
		t.Errorf("its shim meets a fault: %v", a)
	}
	p, armed = connect(t, path, 6, nil)
	if len(armed) != 1 {
		t.Error("others are not armed: ", armed)
	}
	for id, want := range map[string]string{"b": "off", "c": "error", "": "error"} {
		p.seq++
		p.send(probe.FromProcess{Hit: &probe.Hit{Seq: p.seq, Point: entry, Ask: true, ID: id}})
		if a := p.receive().Answer; a == nil || a.Do != want {
			t.Errorf("a call about %q: %v, want %s", id, a, want)
		}
	}
	if n := c.Fired(0); n != 2 || len(c.Hits()) != 2 {
		t.Errorf("fired %d times with %d hits, want 2 and 2", n, len(c.Hits()))
	}
}
