package failpoints

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/must"
)

// Hits during a bypass change neither the later faults nor the earlier counts.
func TestBypassKeepsTheCounts(t *testing.T) {
	c, path := listen(t, nil, Crash(entry, 2))
	p, _ := connect(t, path, 5, nil)
	if a := p.ask(entry); a.Do != "off" {
		t.Fatal(a)
	}
	var end func()
	acknowledging(t, p, 1, func() { end = c.Bypass(time.Minute) })
	if armed := p.takeOver(); len(armed) > 0 {
		t.Error("still armed: ", armed)
	}
	if a := p.ask(entry); a.Do != "off" { // the process did not know of the bypass yet
		t.Error("a fault happened meanwhile: ", a)
	}
	if armed := acknowledging(t, p, 3, end); len(armed) != 1 {
		t.Error("not armed again: ", armed)
	}
	if a := p.ask(entry); a.Do != "crash" {
		t.Errorf("the second hit that counts: %v", a)
	}
	must.Equal(t, len(c.Hits()), 2, "hits are remembered")
}

// A process that acknowledges nothing, such as a frozen shim, does not hold a bypass up.
func TestABypassDoesNotWaitWithoutEnd(t *testing.T) {
	c, path := listen(t, nil, Crash(entry, 2))
	connect(t, path, 5, nil)
	within(t, func() { c.Bypass(time.Millisecond)() })
}

// acknowledging takes over the armed points so many times while f waits for it.
func acknowledging(t *testing.T, p *process, times int, f func()) (armed []string) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	for range times {
		armed = p.takeOver()
	}
	within(t, func() { <-done })
	return armed
}

// Calls about an ignored container, and all hits of its shim, are ignored.
func TestIgnoreIDs(t *testing.T) {
	c, path := listen(t, nil, Error(entry, 0, "no"))
	c.IgnoreIDs("b")
	p, armed := connectAs(t, path, 5, nil, "containerd-shim-runc-v2", "-namespace", "n", "-id", "b")
	if len(armed) > 0 {
		t.Error("its shim is armed: ", armed)
	}
	p.hit(entry, true)
	if a := p.receive().Decision; a == nil || a.Do != "off" {
		t.Errorf("its shim meets a fault: %v", a)
	}
	p, armed = connect(t, path, 6, nil)
	must.Equal(t, len(armed), 1, "armed", armed)
	for id, want := range map[string]string{"b": "off", "c": "error", "": "error"} {
		p.seq++
		p.send(probe.FromProcess{Hit: &probe.Hit{Seq: p.seq, Point: entry, Ask: true, ID: id}})
		if a := p.receive().Decision; a == nil || a.Do != want {
			t.Errorf("a call about %q: %v, want %s", id, a, want)
		}
	}
	if n := c.Fired(0); n != 2 || len(c.Hits()) != 2 {
		t.Errorf("fired %d times with %d hits, want 2 and 2", n, len(c.Hits()))
	}
}
