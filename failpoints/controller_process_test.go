package failpoints

import (
	"bufio"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/must"
)

func listen(t *testing.T, onPause func(Pause), plan ...Fault) (*Controller, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	c := must.Get(Listen(path, plan, onPause))(t)
	t.Cleanup(func() { must.Succeed(t, c.Close()) })
	return c, path
}

// process speaks the wire format like an instrumented process.
type process struct {
	t    *testing.T
	conn net.Conn
	enc  *json.Encoder
	in   *bufio.Reader
	seq  int64
}

// connect introduces a process and acknowledges the first list of armed points.
func connect(t *testing.T, path string, pid int, terms map[string]string) (*process, []string) {
	t.Helper()
	return connectAs(t, path, pid, terms, "shim")
}

// connectAs is connect for a process with that command line.
func connectAs(t *testing.T, path string, pid int, terms map[string]string, args ...string) (*process, []string) {
	t.Helper()
	conn := must.Get(net.Dial("unix", path))(t)
	must.Succeed(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	t.Cleanup(func() { _ = conn.Close() })
	p := &process{t: t, conn: conn, enc: json.NewEncoder(conn), in: bufio.NewReader(conn)}
	p.send(probe.FromProcess{Hello: &probe.Hello{Who: "shim", PID: pid, Args: args, Terms: terms}})
	return p, p.takeOver()
}

func (p *process) send(m probe.FromProcess) {
	p.t.Helper()
	if err := p.enc.Encode(m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) receive() probe.FromController {
	p.t.Helper()
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var m probe.FromController
	if err := json.Unmarshal(line, &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// takeOver acknowledges a list of armed points.
func (p *process) takeOver() []string {
	p.t.Helper()
	m := p.receive()
	p.send(probe.FromProcess{Ack: m.Generation})
	return m.Armed
}

// hit reports a hit and does not wait for the decision.
func (p *process) hit(point string, ask bool) {
	p.t.Helper()
	p.seq++
	p.send(probe.FromProcess{Hit: &probe.Hit{Seq: p.seq, Point: point, Ask: ask, At: time.Now().UnixNano(), ID: "c1"}})
}

// ask reports a hit of an armed point and returns the decision.
func (p *process) ask(point string) probe.Decision {
	p.t.Helper()
	p.hit(point, true)
	m := p.receive()
	if m.Decision == nil || m.Decision.Seq != p.seq {
		p.t.Fatalf("answer %+v to hit %d", m, p.seq)
	}
	return *m.Decision
}

// within fails the test if f does not return in time.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it takes too long")
	}
}

// await waits until the controller is in that state.
func (c *Controller) await(t *testing.T, is func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatal("it does not come to pass")
		}
	}
}

// A process is asked for its goroutines by its pid. The wait for an unknown, a frozen or
// an ending process ends with the caller's context.
func TestProfile(t *testing.T) {
	c, path := listen(t, nil)
	shim, _ := connect(t, path, 7, nil)
	type answer struct {
		text string
		ok   bool
	}
	answers := make(chan answer, 1)
	ask := func(patience time.Duration) {
		ctx := must.Within(t, patience)
		text, ok := c.Profile(ctx, 7)
		answers <- answer{text, ok}
	}
	go ask(10 * time.Second)
	m := shim.receive()
	shim.hit("rpc:shim:Task.Create:entry", false)
	shim.send(probe.FromProcess{Profile: &probe.Profile{Seq: m.Profile, Goroutines: "all", Collected: true}})
	must.Equal(t, <-answers, (answer{"all", true}))
	go ask(10 * time.Second)
	for m.Profile < 2 {
		m = shim.receive()
	}
	shim.send(probe.FromProcess{Profile: &probe.Profile{Seq: m.Profile}})
	if got := <-answers; got.ok {
		t.Errorf("one that could not collect has answered %+v", got)
	}
	if _, ok := c.Profile(t.Context(), 8); ok {
		t.Error("a process that is not there has answered")
	}
	ask(10 * time.Millisecond)
	if got := <-answers; got.ok {
		t.Errorf("one that stands still has answered %+v", got)
	}
	go ask(10 * time.Second)
	for m.Profile < 4 {
		m = shim.receive()
	}
	must.Succeed(t, shim.conn.Close())
	if got := <-answers; got.ok {
		t.Errorf("one that is gone has answered %+v", got)
	}
}
