package probe

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection to a controller.
type link struct {
	points atomic.Pointer[map[string]bool]

	mu      sync.Mutex
	enc     *json.Encoder
	seq     int64
	waiting map[int64]chan Decision
	gone    bool
	ready   bool // it decides the process's hits
	wanted  map[string]bool
	trace   bool
	cover   bool
}

// dial introduces the process and waits for the list of armed points, so that not even
// the first statement of main misses its fault.
func dial(path, role string, terms map[string]string) (*link, error) {
	conn, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return nil, err
	}
	l := &link{enc: json.NewEncoder(conn), waiting: map[int64]chan Decision{}}
	l.points.Store(&map[string]bool{})
	if err := l.send(FromProcess{Hello: &Hello{Who: role, PID: os.Getpid(), Args: os.Args, Terms: terms}}); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	if err := l.receive(r); err != nil {
		return nil, err
	}
	go func() {
		for l.receive(r) == nil {
		}
		l.end()
	}()
	return l, nil
}

func (l *link) receive(r *bufio.Reader) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var m FromController
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.Decision != nil {
		l.mu.Lock()
		c := l.waiting[m.Decision.Seq]
		delete(l.waiting, m.Decision.Seq)
		l.mu.Unlock()
		if c != nil {
			c <- *m.Decision
		}
		return nil
	}
	if m.Profile > 0 {
		text, collected := profile()
		return l.send(FromProcess{Profile: &Profile{Seq: m.Profile, Goroutines: text, Collected: collected}})
	}
	points := make(map[string]bool, len(m.Armed))
	for _, p := range m.Armed {
		points[p] = true
	}
	l.points.Store(&points)
	l.arm(points, m.Trace, m.Cover)
	return l.send(FromProcess{Ack: m.Generation})
}

// arm forwards the armed points to the statements. The first list arrives before the link
// decides the process's hits.
func (l *link) arm(points map[string]bool, trace, cover bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted, l.trace, l.cover = points, trace, cover
	if l.ready {
		armStatements(points, trace, cover)
	}
}

// begin is called when the process's hits go to this link.
func (l *link) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
	armStatements(l.wanted, l.trace, l.cover)
}

// end releases every call that still waits for a decision: the controller has gone.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.points.Store(&map[string]bool{})
	for seq, c := range l.waiting {
		delete(l.waiting, seq)
		c <- Decision{}
	}
}

func (l *link) send(m FromProcess) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Encode(m)
}

func (l *link) armed(point string) bool { return (*l.points.Load())[point] }

func (l *link) seen(h Hit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	h.Seq = l.seq
	if !l.gone {
		_ = l.enc.Encode(FromProcess{Hit: &h}) // the controller may have gone
	}
}

func (l *link) ask(h Hit) Decision {
	c := make(chan Decision, 1)
	l.mu.Lock()
	l.seq++
	h.Seq, h.Ask = l.seq, true
	if l.gone || l.enc.Encode(FromProcess{Hit: &h}) != nil {
		l.mu.Unlock()
		return Decision{}
	}
	l.waiting[h.Seq] = c
	l.mu.Unlock()
	return <-c
}
