package exit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Wrong returns every reported exit status that is not the real one. It also returns an
// error if the real status of an observed process is unknown ([ErrNoTruth]) or ambiguous.
func Wrong(truths []Truth, reported []Observation, sent []Sent) (wrong []finding.Finding, err error) {
	var errs []error
	known := map[process]Truth{}
	for _, t := range truths {
		p := process{t.Container, t.Exec}
		if old, ok := known[p]; ok && old.Status != t.Status {
			errs = append(errs, fmt.Errorf("exit ledger: the real exit status of %s is ambiguous: %d (%s) and %d (%s)",
				p, old.Status, old.Source, t.Status, t.Source))
			continue
		}
		known[p] = t
	}
	unknown := map[process]bool{}
	for _, o := range reported {
		p := process{o.Container, o.Exec}
		truth, ok := known[p]
		switch {
		case !ok && !unknown[p]:
			unknown[p] = true
			errs = append(errs, fmt.Errorf("exit ledger: %s: %w", p, ErrNoTruth))
		case ok && o.Status != truth.Status:
			wrong = append(wrong, wrongExit(o, truth, sent))
		}
	}
	return wrong, errors.Join(errs...)
}

// SignalBase is added to a signal's number in an exit status (pkg/sys/reaper in
// containerd).
const SignalBase = 128

// wrongExit returns the finding about an observation with a wrong status.
func wrongExit(o Observation, truth Truth, sent []Sent) finding.Finding {
	f := finding.Finding{
		Invariant: finding.Exit, Class: finding.ClassExitCode, Subject: finding.Subject{ID: o.Container, Exec: o.Exec,
			PID: o.PID},
		Facts: fact.Facts{
			fact.By: string(o.Observer), fact.Status: kindOfStatus(o.Status), fact.Reported: fmt.Sprint(o.Status),
			fact.True: fmt.Sprint(truth.Status), fact.Source: truth.Source,
		},
	}
	for _, s := range sent {
		if s.Container == o.Container && s.Exec == o.Exec && s.Signal == int(o.Status)-SignalBase {
			f.Facts[fact.SentBy] = s.By
		}
	}
	if o.Exec != "" {
		f.Facts[fact.Of] = fact.AnExec
	}
	if !o.At.IsZero() {
		f.Facts[fact.At] = o.At.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return f
}

// lastSignal is SIGRTMAX of Linux.
const lastSignal = 64

// kindOfStatus returns the kind of a wrong exit status.
func kindOfStatus(status uint32) string {
	signal := int(status) - SignalBase
	switch {
	case status == 0:
		return fact.MadeUp0
	case status == 255:
		return fact.MadeUp255
	case signal == int(unix.SIGKILL):
		return fact.MadeUp137
	case signal > 0 && signal <= lastSignal:
		return fact.MadeUpSig
	}
	return fact.Wrong
}
