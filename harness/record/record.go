// Package record collects the history of a case while the case runs. The clients, the
// faults and the runner write to one Recorder.
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
)

// Recorder collects a history. Its zero value is ready for use, also concurrently.
type Recorder struct {
	mu sync.Mutex
	h  harness.History
}

// Set calls change with the history, while no other goroutine uses it.
func (r *Recorder) Set(change func(*harness.History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.h)
}

// Note records a text for people.
func (r *Recorder) Note(who, format string, args ...any) {
	r.note(harness.Note{Who: who, Text: fmt.Sprintf(format, args...)})
}

// Failed records what happened and its error for people. err is nil after a success.
func (r *Recorder) Failed(who, what string, err error) {
	r.note(harness.Note{Who: who, Text: what, Err: callerr.Of(err)})
}

func (r *Recorder) note(n harness.Note) {
	n.At = time.Now()
	r.Set(func(h *harness.History) { h.Notes = append(h.Notes, n) })
}

// Call records a finished call.
func (r *Recorder) Call(c harness.Call) {
	r.Set(func(h *harness.History) { h.Calls = append(h.Calls, c) })
}

// Reported records an exit status that the client received.
func (r *Recorder) Reported(o exit.Observation) {
	r.Set(func(h *harness.History) { h.Reported = append(h.Reported, o) })
}

// Sent records a signal that the client sent.
func (r *Recorder) Sent(container string, signal int) {
	s := harness.SentSignal{Container: container, Signal: signal, At: time.Now()}
	r.Set(func(h *harness.History) { h.Signals = append(h.Signals, s) })
}

// Killed records a process that the harness killed.
func (r *Recorder) Killed(k harness.Kill) {
	r.Set(func(h *harness.History) { h.Kills = append(h.Kills, k) })
}

// CRI changes the observations of a CRI client.
func (r *Recorder) CRI(change func(*harness.CRISeen)) {
	r.Set(func(h *harness.History) {
		if h.CRI == nil {
			h.CRI = &harness.CRISeen{}
		}
		change(h.CRI)
	})
}

// Problem records a reason why the run shows nothing. It ignores a nil error. If err has
// a ProblemKind of its own, that one counts.
func (r *Recorder) Problem(kind harness.ProblemKind, err error) {
	if err == nil {
		return
	}
	var of interface{ Problem() harness.ProblemKind }
	if errors.As(err, &of) {
		kind = of.Problem()
	}
	p := harness.Problem{Kind: kind, Text: err.Error()}
	r.Set(func(h *harness.History) { h.Problems = append(h.Problems, p) })
}

// History returns a copy of what was recorded so far.
func (r *Recorder) History() harness.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.h
	h.Problems, h.Calls, h.Signals = slices.Clone(h.Problems), slices.Clone(h.Calls), slices.Clone(h.Signals)
	h.Stops, h.Stalls, h.IgnoredSIGTERM = slices.Clone(h.Stops), slices.Clone(h.Stalls), slices.Clone(h.IgnoredSIGTERM)
	h.Reported, h.Kills, h.Notes = slices.Clone(h.Reported), slices.Clone(h.Kills), slices.Clone(h.Notes)
	h.CRI, h.Belongings = h.CRI.Clone(), slices.Clone(h.Belongings)
	return h
}
