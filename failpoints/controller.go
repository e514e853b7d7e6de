package failpoints

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Hit is one passing of a point, and what was done there.
type Hit struct {
	probe.Hit
	Who  string        `json:"who"`              // containerd or shim
	PID  int           `json:"pid"`              // of the process, in its world
	Time time.Time     `json:"time"`             // when it passed
	Did  term.Action   `json:"did"`              // off where nothing was done
	Held time.Duration `json:"heldNs,omitempty"` // how long a pause held it
	// Fault is the index in the plan of the fault that acted, or -1.
	Fault int `json:"fault"`
}

// Passed is the point, by its parts; the zero Point where this build has none of that
// name.
func (h Hit) Passed() Point {
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

// Controller decides every hit of one case, and remembers all of them.
type Controller struct {
	onPause  func(Pause)
	listener net.Listener
	wg       sync.WaitGroup

	mu         sync.Mutex
	plan       Plan
	trace      bool
	bypass     bool            // nothing is armed, counted or remembered
	apart      map[string]bool // ids of containers and shims whose hits are nobody's
	counts     []int           // hits of each fault's point so far
	hits       []Hit
	sessions   map[*session]struct{}
	generation int64
	profiles   map[int64]*probe.Profile // questions that somebody waits for, nil until answered
	asked      int64                    // questions so far
	pauses     int                      // calls of onPause that have not returned
	changed    chan struct{}            // closed and replaced at every hit and ack
	errs       []error
}

// Listen makes a controller for a plan on a unix socket, which processes find by
// SHIMQUAKE_SOCKET. onPause is called, in a goroutine of its own, when a process waits at
// a point; nil lets it go on at once.
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

// Close ends all connections; paused processes go on.
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

// Trace has the processes tell of every statement that they pass, too.
func (c *Controller) Trace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = true
	c.announce()
}

// Flush returns when every hit has arrived that a process passed before the call; a
// process that has ended must have been read to its end. One that stands still (SIGSTOP)
// never answers: it is waited for until patience has passed.
func (c *Controller) Flush(patience time.Duration) {
	late := time.NewTimer(patience)
	defer late.Stop()
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
		case <-late.C:
			return
		}
		c.mu.Lock()
	}
}

// Arm replaces the plan, with all counts at zero, in every process that is connected:
// when it returns they all know. To disarm waits for nobody: nothing is done at a point
// that a process still takes for armed, and one that stands still (SIGSTOP) would never
// say that it knows.
func (c *Controller) Arm(plan Plan) {
	c.setPlan(plan)
	if len(plan) > 0 {
		c.awaitAcks()
	}
}

// awaitAcks returns when every process that is connected knows what is armed.
func (c *Controller) awaitAcks() {
	for {
		c.mu.Lock()
		waiting := false
		for s := range c.sessions {
			waiting = waiting || s.acked < c.generation
		}
		changed := c.changed
		c.mu.Unlock()
		if !waiting {
			return
		}
		<-changed
	}
}

func (c *Controller) setPlan(plan Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.counts = slices.Clone(plan), make([]int, len(plan)) // hello adds to it
	c.announce()
}

// announce tells all processes which points are armed. c.mu is held.
func (c *Controller) announce() {
	c.generation++
	for s := range c.sessions {
		c.arm(s)
	}
}

// arm tells a process which points are armed. c.mu is held.
func (c *Controller) arm(s *session) {
	if c.bypass || c.apart[s.id()] {
		s.arm(c.generation, []string{}, false)
		return
	}
	s.arm(c.generation, c.armed(), c.trace)
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

// Hits are all hits so far, in the order in which they arrived.
func (c *Controller) Hits() []Hit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Hit(nil), c.hits...)
}

// Fired is how often the i-th fault of a plan acted since Listen: Arm(nil) does not make
// it forgotten. Faults of kinds that are not Probed are not decided here: always 0.
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

// Err is what went wrong in talking to processes, for example annotations that do not
// parse.
func (c *Controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

func (c *Controller) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return // closed
		}
		c.wg.Go(func() { c.serve(conn) })
	}
}

func (c *Controller) serve(conn net.Conn) {
	s := &session{conn: conn}
	defer func() {
		_ = conn.Close() // the process is gone, or the case is over
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
	c.note(err)
}

// note keeps an error, unless there are too many already. c.mu is held.
func (c *Controller) note(err error) {
	if len(c.errs) < mostErrs {
		c.errs = append(c.errs, err)
	}
}

// notify wakes those who wait for hits or acks. c.mu is held.
func (c *Controller) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// hello takes a process in, with the faults that its environment or its bundle's
// annotations carry.
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
			c.note(fmt.Errorf("process %d (%v): %w", h.PID, h.Args, err))
		}
	}
	if added {
		c.announce()
		return
	}
	c.arm(s)
}

// hit records a hit and, where the process waits, decides it.
func (c *Controller) hit(s *session, ph probe.Hit) {
	h := Hit{Hit: ph, Who: s.hello.Who, PID: s.hello.PID, Time: time.Unix(0, ph.At), Did: term.Off, Fault: -1}
	c.mu.Lock()
	defer c.mu.Unlock()
	clause := term.Clause{Action: term.Off}
	if c.bypass || c.apart[ph.ID] || c.apart[s.id()] {
		if ph.Ask { // it was armed when the process passed it
			s.answer(ph.Seq, clause)
		}
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
	if at == mostHits {
		c.note(fmt.Errorf("processes have passed points more than %d times", mostHits))
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
