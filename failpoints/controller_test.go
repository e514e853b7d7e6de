package failpoints

import (
	"bufio"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

const (
	entry = "rpc:shim:Task.Delete:entry"
	other = "rpc:shim:Task.State:exit"
)

func TestCountsAreOfTheCase(t *testing.T) {
	c, path := listen(t, nil, Crash(entry, 3), Once(other, term.Lose))
	a, armed := connect(t, path, 1, nil)
	must.Equal(t, armed, []string{entry, other}, "armed")
	b, _ := connect(t, path, 2, nil)
	var did []string
	for _, p := range []*process{a, b, a, b} { // the third hit of the case is a's second
		did = append(did, p.ask(entry).Do)
	}
	must.Equal(t, did, []string{"off", "off", "crash", "off"}, "did")
	a.hit("rpc:shim:Task.Wait:entry", false)
	c.await(t, func() bool { return len(c.Hits()) == 5 })
	must.Equal(t, c.Fired(0), 1, "fired")
	must.Equal(t, c.Fired(1), 0, "fired")
	h := c.Hits()[2]
	if h.PID != 1 || h.Who != "shim" || h.Did != term.Crash || h.Fault != 0 || h.ID != "c1" || h.Point != entry {
		t.Errorf("hit %+v", h)
	}
	if h := c.Hits()[4]; h.Fault != -1 || h.Did != term.Off {
		t.Errorf("an unarmed hit: %+v", h)
	}
}

func TestTwoFaultsAtOnePoint(t *testing.T) {
	c, path := listen(t, nil, Error(entry, 1, "one"), Error(entry, 2, "two"))
	p, _ := connect(t, path, 1, nil)
	var args []string
	for range 3 {
		args = append(args, p.ask(entry).Arg)
	}
	// Both count every hit; the first fault with an action at this hit acts.
	if want := []string{"one", "two", ""}; !slices.Equal(args, want) || c.Fired(0) != 1 || c.Fired(1) != 1 {
		t.Errorf("%v, fired %d and %d", args, c.Fired(0), c.Fired(1))
	}
}

func TestPauseAndRelease(t *testing.T) {
	paused := make(chan Pause)
	c, path := listen(t, func(p Pause) { paused <- p }, PauseAt(entry, Steps("release")...))
	p, _ := connect(t, path, 7, nil)
	p.hit(entry, true)
	held := <-paused
	must.Equal(t, held.Hit.PID, 7, "paused")
	must.Equal(t, held.Fault.At.String(), entry, "paused")
	// Another request of the process continues meanwhile, and is decided first.
	if a := p.ask(entry); a.Do != "off" {
		t.Errorf("the second hit is answered %q", a.Do)
	}
	held.Release()
	held.Release()
	m := p.receive()
	if m.Decision == nil || m.Decision.Seq != 1 || m.Decision.Do != "pause" {
		t.Errorf("released with %+v", m)
	}
	if a := p.ask(entry); a.Do != "off" { // so the second Release has sent nothing
		t.Errorf("the third hit is answered %q", a.Do)
	}
	if c.Hits()[0].Held <= 0 || c.Fired(0) != 1 {
		t.Errorf("held for %s, fired %d", c.Hits()[0].Held, c.Fired(0))
	}
}

// A process that is killed while it waits is not waited for.
func TestAProcessKilledAtAPoint(t *testing.T) {
	paused := make(chan Pause)
	c, path := listen(t, func(p Pause) { paused <- p }, PauseAt(entry, Steps("release")...))
	p, _ := connect(t, path, 1, nil)
	q, _ := connect(t, path, 2, nil)
	p.hit(entry, true)
	held := <-paused
	must.Succeed(t, p.conn.Close())
	c.await(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.sessions) == 1 })
	within(t, held.Release)
	within(t, func() {
		armed := make(chan []string)
		go func() { armed <- q.takeOver() }()
		c.Disarm()
		if got := <-armed; len(got) != 0 {
			t.Errorf("armed %v", got)
		}
	})
	if c.Fired(0) != 1 || c.Err() != nil { // the judge asks after the plan is disarmed
		t.Errorf("fired %d, %v; want 1 and no error", c.Fired(0), c.Err())
	}
}

func TestGarbage(t *testing.T) {
	for _, text := range []string{"no json\n", "{\"hit\": 7}\n", "\x00\xff\n"} {
		c, path := listen(t, nil, Once(entry, term.Lose))
		p, _ := connect(t, path, 1, nil)
		must.Get(p.conn.Write([]byte(text)))(t)
		must.Fail(t, must.ErrorOf(p.in.ReadByte()), text, "the controller goes on talking")
		must.FailWith(t, c.Err(), "a probe sent", text)
		q, _ := connect(t, path, 2, nil) // other processes are still served
		must.Equal(t, q.ask(entry).Do, "loseResult", "the next process is not served")
	}
}

// Faults that a shim finds in its bundle join the plan.
func TestTermsOfAProcess(t *testing.T) {
	c, path := listen(t, nil)
	_, armed := connect(t, path, 1, nil)
	must.Equal(t, len(armed), 0, "armed", armed)
	p, armed := connect(t, path, 2, map[string]string{entry: "1*error(x)"})
	must.Equal(t, armed, []string{entry}, "armed")
	if a := p.ask(entry); a.Do != "error" || a.Arg != "x" {
		t.Errorf("answer %+v", a)
	}
	for point, do := range map[string]string{"rpc:shim:Task.Delte:entry": "1*crash", entry: "crahs", other: "1*kill"} {
		connect(t, path, 3, map[string]string{point: do})
		must.FailWith(t, c.Err(), "process 3", point, do)
	}
}

func TestListenFails(t *testing.T) {
	must.Fail(t, must.ErrorOf(Listen(filepath.Join(t.TempDir(), "none", "s"), nil, nil)),
		"listens in a folder that is not there")
}

func FuzzController(f *testing.F) {
	f.Add(
		[]byte(
			"{\"hello\":{\"who\":\"shim\",\"pid\":1,\"args\":[]}}\n" +
				"{\"hit\":{\"seq\":1,\"point\":\"" + entry + "\",\"ask\":true}}\n",
		),
	)
	f.Add([]byte("{\"ack\":-5}\n{\"hit\":{\"seq\":1}}\n"))
	f.Add([]byte("{\"hello\":null,\"hit\":null}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Controller{sessions: map[*session]struct{}{}, changed: make(chan struct{})}
		c.setPlan(Plan{Once(entry, term.Lose)})
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() { defer close(done); c.serve(theirs) }()
		go func() { _, _ = bufio.NewReader(ours).WriteTo(discard{}) }() // until the other end closes
		_, _ = ours.Write(text)                                         // the controller may have hung up before the end
		_ = ours.Close()
		within(t, func() { <-done })
		for _, h := range c.Hits() {
			if h.Fault >= 0 && !h.Ask {
				t.Errorf("a process that asked nothing was answered: %+v", h)
			}
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestFlushWaitsForWhatWasSent(t *testing.T) {
	c, path := listen(t, nil)
	p, _ := connect(t, path, 7, nil)
	const hits = 20000
	for i := range hits {
		p.send(probe.FromProcess{Hit: &probe.Hit{Seq: int64(i), Point: other}})
	}
	if err := p.conn.Close(); err != nil { // an ended process acknowledges nothing
		t.Fatal(err)
	}
	c.Flush(time.Minute)
	must.Equal(t, len(c.Hits()), hits, "hits have arrived")
}

func TestFlushGivesUpOnAFrozenProcess(t *testing.T) {
	c, path := listen(t, nil)
	_, _ = connect(t, path, 7, nil)
	c.Flush(time.Millisecond)
}

func TestStatementFaultsAreDecidedWhereTheyApply(t *testing.T) {
	const at = "stmt:shim:runc-task.service.Delete:a"
	c, path := listen(
		t,
		nil,
		Fault{At: MustPoint(at), Do: mustTerm(t, "1*error(x)")},
		Fault{At: MustPoint(at), Do: mustTerm(t, "5*off->1*crash")},
		Fault{At: MustPoint(at), Do: mustTerm(t, "1*cancel")},
	)
	p, armed := connect(t, path, 7, nil)
	if !slices.Contains(armed, at) {
		t.Fatalf("armed: %q", armed)
	}
	for i, step := range []struct {
		hit  probe.Hit
		want term.Action
	}{
		{probe.Hit{Ctx: probe.ByTimeout}, term.Off},
		{probe.Hit{Call: true}, term.Error},
		{probe.Hit{Ctx: probe.ByCaller}, term.Cancel},
	} {
		step.hit.Seq, step.hit.Point, step.hit.Ask = int64(i), at, true
		p.send(probe.FromProcess{Hit: &step.hit})
		if a := p.receive().Decision; a == nil || a.Do != string(step.want) {
			t.Errorf("hit %d: answer %+v, want %s", i, a, step.want)
		}
	}
	if c.Fired(0) != 1 || c.Fired(2) != 1 {
		t.Errorf("fired %d and %d times", c.Fired(0), c.Fired(2))
	}
}

func mustTerm(t *testing.T, s string) term.Term {
	t.Helper()
	return must.Get(term.Parse(s))(t)
}

// The faults that a process brings with it do not change the plan of the case, even if
// the plan's slice has spare capacity.
func TestHelloDoesNotChangeThePlan(t *testing.T) {
	own := append(make(Plan, 0, 4), Crash(entry, 1))
	c, path := listen(t, nil)
	c.setPlan(own)
	if _, armed := connect(t, path, 1, map[string]string{other: "1*loseResult"}); len(armed) != 2 {
		t.Errorf("armed %v", armed)
	}
	if after := own[:2][1]; after.At != (Point{}) {
		t.Errorf("%v stands behind the case's plan", after)
	}
}
