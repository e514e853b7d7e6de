package failpoints

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Hit is one process that reaches a point, and the action that was taken.
type Hit struct {
	probe.Hit
	Who  string        `json:"who"`              // containerd or shim.
	PID  int           `json:"pid"`              // in the PID namespace of the world
	Time time.Time     `json:"time"`             // when the process reached the point
	Did  term.Action   `json:"did"`              // off: no action.
	Held time.Duration `json:"heldNs,omitempty"` // how long a pause held the process
	// Fault is the index in the plan of the fault that acted, or -1.
	Fault int `json:"fault"`
}

// ParsedPoint returns the point, or the zero Point if this build cannot parse its name.
func (h Hit) ParsedPoint() Point {
	p, err := ParsePoint(h.Point)
	if err != nil {
		return Point{}
	}
	return p
}

// Pause is a process that waits at a point.
type Pause struct {
	Fault Fault
	Hit   Hit
	// Release lets the process go on. It may be called more than once.
	Release func()
}

// Controller decides and records every hit of one case.
type Controller struct {
	onPause  func(Pause)
	listener net.Listener
	wg       sync.WaitGroup

	mu         sync.Mutex
	plan       Plan
	trace      bool
	met        map[string]bool // functions, after Cover
	received   atomic.Int64    // bytes of all messages
	bypass     bool            // nothing is armed, counted or remembered
	ignoredIDs map[string]bool // of containers and their shims
	counts     []int           // hits of each fault's point so far
	hits       []Hit
	sessions   map[*session]struct{}
	generation int64
	profiles   map[int64]*probe.Profile // by request; nil until the process has responded
	asked      int64                    // requests for a profile so far.
	pauses     int                      // calls of onPause that have not returned
	changed    chan struct{}            // closed and replaced at every hit and ack
	errs       []error
}

// Listen starts a controller for a plan on a unix socket. Processes find the socket by
// SHIMQUAKE_SOCKET. onPause is called in its own goroutine when a process waits at a
// point. If it is nil, the process continues at once.
func Listen(path string, plan Plan, onPause func(Pause)) (*Controller, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	c := &Controller{onPause: onPause, listener: l, sessions: map[*session]struct{}{},
		profiles: map[int64]*probe.Profile{}, changed: make(chan struct{})}
	c.setPlan(plan)
	c.wg.Go(c.accept)
	return c, nil
}

// Close closes all connections; paused processes continue.
func (c *Controller) Close() error {
	err := c.listener.Close()
	c.mu.Lock()
	for s := range c.sessions {
		_ = s.conn.Close() // its reader removes the session
	}
	c.mu.Unlock()
	c.wg.Wait()
	return err
}

// Trace makes the processes report every statement that they reach, too.
func (c *Controller) Trace() { c.change(func() { c.trace = true }) }

// Cover makes the processes report each function with statements that they reach.
func (c *Controller) Cover() { c.change(func() { c.met = map[string]bool{} }) }

// Met returns the functions that processes have reached since Cover: "containerd
// runtime.binary.Start".
func (c *Controller) Met() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.met))
}

// Flush returns when all hits of the time before the call have arrived. If a process has
// ended, Flush waits until its connection has been read to the end. A frozen process
// (SIGSTOP) never acknowledges, so Flush returns after the timeout.
func (c *Controller) Flush(timeout time.Duration) {
	late := time.After(timeout)
	c.mu.Lock()
	c.announce()
	generation := c.generation
	for {
		waiting := false
		for s := range c.sessions {
			waiting = waiting || s.acked < generation
		}
		changed := c.changed
		c.mu.Unlock()
		if !waiting {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		}
		c.mu.Lock()
	}
}

// Disarm takes the plan away, and sets all counts to zero.
func (c *Controller) Disarm() { c.setPlan(nil) }

func (c *Controller) setPlan(plan Plan) {
	c.change(func() {
		c.plan, c.counts = slices.Clone(plan), make([]int, len(plan)) // a copy, because hello adds the faults of processes
	})
}

// change changes what the processes report, and announces it to them.
func (c *Controller) change(what func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what()
	c.announce()
}

// announce sends the armed points to all processes. c.mu is held.
func (c *Controller) announce() {
	c.generation++
	for s := range c.sessions {
		c.arm(s)
	}
}

// arm sends the armed points to a process. c.mu is held.
func (c *Controller) arm(s *session) {
	if c.bypass || c.ignoredIDs[s.id()] {
		s.arm(c.generation, []string{}, false, false)
		return
	}
	s.arm(c.generation, c.armed(), c.trace, c.met != nil)
}

func (c *Controller) armed() []string {
	points := []string{} // not nil: an empty list is a message too
	for _, f := range c.plan {
		if f.At.Kind.Probed() {
			points = append(points, f.At.String())
		}
	}
	return points
}

// AwaitPauses returns when onPause has returned for every process that has been paused.
func (c *Controller) AwaitPauses() {
	for {
		c.mu.Lock()
		pauses, changed := c.pauses, c.changed
		c.mu.Unlock()
		if pauses == 0 {
			return
		}
		<-changed
	}
}

// Hits returns all hits so far, in the order of their arrival.
func (c *Controller) Hits() []Hit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Hit(nil), c.hits...)
}

// Fired returns how often the i-th fault of a plan has acted since Listen; Arm(nil) keeps
// this count. It returns 0 if the fault's kind is not Probed, because the Controller does
// not decide such faults.
func (c *Controller) Fired(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, h := range c.hits {
		if h.Fault == i {
			n++
		}
	}
	return n
}

// Err returns the errors of the connections to processes, for example of annotations that
// do not parse.
func (c *Controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

func (c *Controller) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				c.fail(fmt.Errorf("accept a probe: %w", err))
			}
			return
		}
		c.wg.Go(func() { c.serve(conn) })
	}
}

func (c *Controller) serve(conn net.Conn) {
	s := &session{conn: conn}
	defer func() {
		_ = conn.Close() // the process has ended, or the case is over
		c.mu.Lock()
		delete(c.sessions, s)
		c.notify()
		c.mu.Unlock()
	}()
	r := bufio.NewReader(conn)
	var line []byte
	for {
		var err error
		line, err = readLine(r, line[:0])
		if all := c.received.Add(int64(len(line))); all > maxReceived {
			line, err = nil, fmt.Errorf("probes sent more than %d bytes: later hits are not recorded", maxReceived)
		}
		if line == nil {
			c.fail(err)
		}
		if err != nil {
			return
		}
		var m probe.FromProcess
		if err := json.Unmarshal(line, &m); err != nil {
			c.fail(fmt.Errorf("a probe sent %.200q: %w", line, err))
			return
		}
		switch {
		case m.Hello != nil:
			c.hello(s, *m.Hello)
		case m.Hit != nil:
			c.hit(s, *m.Hit)
		case m.Profile != nil:
			c.profiled(*m.Profile)
		default:
			c.mu.Lock()
			s.acked = m.Ack
			c.notify()
			c.mu.Unlock()
		}
	}
}

func (c *Controller) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepError(err)
}

// keepError keeps an error, unless there are too many already. c.mu is held.
func (c *Controller) keepError(err error) {
	if len(c.errs) < maxErrs {
		c.errs = append(c.errs, err)
	}
}

// notify wakes the callers that wait for hits or acks. c.mu is held.
func (c *Controller) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// hello adds a process, and the faults in its environment or its bundle's annotations.
func (c *Controller) hello(s *session, h probe.Hello) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.hello = h
	c.sessions[s] = struct{}{}
	added := false
	for name, text := range h.Terms {
		p, err := ParsePoint(name)
		if err == nil {
			var t term.Term
			if t, err = term.Parse(text); err == nil {
				f := Fault{At: p, Do: t}
				if err = f.Check(); err == nil {
					c.plan, c.counts, added = append(c.plan, f), append(c.counts, 0), true
				}
			}
		}
		if err != nil {
			c.keepError(fmt.Errorf("process %d (%v): %w", h.PID, h.Args, err))
		}
	}
	if added {
		c.announce()
		return
	}
	c.arm(s)
}

// hit records a hit and, if the process waits, decides it.
func (c *Controller) hit(s *session, ph probe.Hit) {
	h := Hit{Hit: ph, Who: s.hello.Who, PID: s.hello.PID, Time: time.Unix(0, ph.At), Did: term.Off, Fault: -1}
	c.mu.Lock()
	defer c.mu.Unlock()
	clause := term.Clause{Action: term.Off}
	if c.bypass || c.ignoredIDs[ph.ID] || c.ignoredIDs[s.id()] {
		if ph.Ask { // the point was armed when the process reached it
			s.answer(ph.Seq, clause)
		}
		return
	}
	if c.met != nil {
		if p, err := ParsePoint(ph.Point); err == nil && p.Kind == Stmt {
			c.met[p.Who+" "+p.What] = true
		}
	}
	if ph.Met {
		return
	}
	if ph.Ask {
		for i, f := range c.plan {
			if f.At.String() != ph.Point || f.At.Kind == Stmt && !probe.DecidedAt(f.Do, ph) {
				continue
			}
			c.counts[i]++
			if got := f.Do.At(c.counts[i]); got.Action != term.Off && clause.Action == term.Off {
				clause, h.Did, h.Fault = got, got.Action, i
			}
		}
	}
	at := len(c.hits)
	if at == maxHits {
		c.keepError(fmt.Errorf("processes have reached failpoints more than %d times: later hits are not recorded",
			maxHits))
		_ = s.conn.Close() // its reader ends the session
		return
	}
	c.hits = append(c.hits, h)
	c.notify()
	if !ph.Ask {
		return
	}
	if clause.Action != term.Pause || c.onPause == nil {
		s.answer(ph.Seq, clause)
		return
	}
	var once sync.Once
	release := func() {
		once.Do(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.hits[at].Held = time.Since(h.Time)
			s.answer(ph.Seq, clause)
		})
	}
	fault := c.plan[h.Fault]
	c.pauses++
	c.wg.Go(func() {
		c.onPause(Pause{Fault: fault, Hit: h, Release: release})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pauses--
		c.notify()
	})
}
