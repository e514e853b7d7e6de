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
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Recorder collects a history. Its zero value is ready for use, also concurrently.
type Recorder struct {
	mu sync.Mutex
	h  harness.History
}

// Note records a text for people.
func (r *Recorder) Note(who, format string, args ...any) {
	r.add(harness.Note{At: time.Now(), Who: who, Text: fmt.Sprintf(format, args...)})
}

// Failed records what happened and its error for people. err is nil after a success.
func (r *Recorder) Failed(who, what string, err error) {
	r.add(harness.Note{At: time.Now(), Who: who, Text: what, Err: callerr.Of(err)})
}

func (r *Recorder) add(n harness.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Notes = append(r.h.Notes, n)
}

// Call records a finished call.
func (r *Recorder) Call(c harness.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Calls = append(r.h.Calls, c)
}

// Reported records an exit status that the client received.
func (r *Recorder) Reported(o exit.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Reported = append(r.h.Reported, o)
}

// Sent records a signal that the client sent.
func (r *Recorder) Sent(container string, signal int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Signals = append(r.h.Signals, harness.SentSignal{Container: container, Signal: signal, At: time.Now()})
}

// Killed records a process that the harness killed.
func (r *Recorder) Killed(k harness.Kill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Kills = append(r.h.Kills, k)
}

// IgnoredSIGTERM records a shim that still ran some time after the harness had sent it
// SIGTERM.
func (r *Recorder) IgnoredSIGTERM(u harness.IgnoredSIGTERM) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.IgnoredSIGTERM = append(r.h.IgnoredSIGTERM, u)
}

// Has records the files and mounts of running containers.
func (r *Recorder) Has(b inventory.Belongings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Belongings = append(r.h.Belongings, b)
}

// CRI changes the observations of a CRI client.
func (r *Recorder) CRI(change func(*harness.CRISeen)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.h.CRI == nil {
		r.h.CRI = &harness.CRISeen{}
	}
	change(r.h.CRI)
}

// Stopped records that the harness froze containerd (SIGSTOP), or with false continued
// it.
func (r *Recorder) Stopped(is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is {
		r.h.Stops = append(r.h.Stops, harness.Stop{From: time.Now()})
	} else if n := len(r.h.Stops); n > 0 {
		r.h.Stops[n-1].To = time.Now()
	}
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Problems = append(r.h.Problems, harness.Problem{Kind: kind, Text: err.Error()})
}

// Set calls change with the history, while no other goroutine uses it.
func (r *Recorder) Set(change func(*harness.History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.h)
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
