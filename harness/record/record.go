// Package record collects a history while its case runs: clients, faults and the runner
// write to one Recorder.
package record

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Recorder is ready as its zero value; it may be used concurrently.
type Recorder struct {
	mu sync.Mutex
	h  harness.History
}

// Note writes something down for people.
func (r *Recorder) Note(who, format string, args ...any) {
	r.add(harness.Note{At: time.Now(), Who: who, Text: fmt.Sprintf(format, args...)})
}

// Failed writes down for people that something did not succeed; err may be nil.
func (r *Recorder) Failed(who, what string, err error) {
	r.add(harness.Note{At: time.Now(), Who: who, Text: what, Err: callerr.Of(err)})
}

func (r *Recorder) add(n harness.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Notes = append(r.h.Notes, n)
}

// Call writes down a call that has ended.
func (r *Recorder) Call(c harness.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Calls = append(r.h.Calls, c)
}

// Reported writes down an exit status that the client got.
func (r *Recorder) Reported(o exit.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Reported = append(r.h.Reported, o)
}

// Sent writes down a signal that the client has sent.
func (r *Recorder) Sent(container string, signal int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Signals = append(r.h.Signals, harness.SentSignal{Container: container, Signal: signal, At: time.Now()})
}

// Killed writes down a process that the harness has killed.
func (r *Recorder) Killed(k harness.Kill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Kills = append(r.h.Kills, k)
}

// Unheeded writes down a shim that did not end when it was asked to.
func (r *Recorder) Unheeded(u harness.Unheeded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Unheeded = append(r.h.Unheeded, u)
}

// Has writes down what containers have.
func (r *Recorder) Has(b inventory.Belongings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Belongings = append(r.h.Belongings, b)
}

// CRI changes what a client of CRI has seen.
func (r *Recorder) CRI(change func(*harness.CRISeen)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.h.CRI == nil {
		r.h.CRI = &harness.CRISeen{}
	}
	change(r.h.CRI)
}

// Stopped writes down that containerd was made to stand still, or to go on.
func (r *Recorder) Stopped(is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is {
		r.h.Stops = append(r.h.Stops, harness.Stop{From: time.Now()})
	} else if n := len(r.h.Stops); n > 0 {
		r.h.Stops[n-1].To = time.Now()
	}
}

// Problem writes down why the run shows nothing. A nil error is none.
func (r *Recorder) Problem(kind harness.ProblemKind, err error) {
	if err == nil {
		return
	}
	var of interface{ Problem() harness.ProblemKind }
	if errors.As(err, &of) {
		kind = of.Problem()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Problems = append(r.h.Problems, harness.Problem{Kind: kind, Text: err.Error()})
}

// Set changes what the runner alone writes.
func (r *Recorder) Set(change func(*harness.History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.h)
}

// History is what has been collected so far. It shares no list with the recorder.
func (r *Recorder) History() harness.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.h
	h.Problems, h.Calls, h.Signals = slices.Clone(h.Problems), slices.Clone(h.Calls), slices.Clone(h.Signals)
	h.Stops, h.Unheeded = slices.Clone(h.Stops), slices.Clone(h.Unheeded)
	h.Reported, h.Kills, h.Notes = slices.Clone(h.Reported), slices.Clone(h.Kills), slices.Clone(h.Notes)
	h.CRI, h.Belongings = h.CRI.Clone(), slices.Clone(h.Belongings)
	return h
}
