package oracle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The kinds of wrong exit status: values of FactStatus.
const (
	MadeUp0   = "made-up-0"   // success was reported of a process that failed
	MadeUp137 = "made-up-137" // what containerd writes when it cleans up after a dead shim
	MadeUp255 = "made-up-255" // client.UnknownExitStatus: containerd could not tell
	MadeUpSig = "made-up-signal"
	Wrong     = "wrong"
	// Unreported is one that nobody, or not somebody who should, has reported.
	Unreported = "unreported"
	// Killed and NeverBegan are ends: SIGKILL ended a container that nobody was to kill, or
	// its payload never ran although its start succeeded.
	Killed     = "killed"
	NeverBegan = "never-began"
	// KilledEarly is the end of one that was killed before its time was over, SaidEarly of
	// one of which CRI alone says that it had ended by then.
	KilledEarly = "killed-early"
	SaidEarly   = "said-early"
	// Unended is the end of one that had to be killed, as the signal that it was sent before
	// has not ended it.
	Unended = "unended"
)

// signalBase is added to a signal's number in an exit status (pkg/sys/reaper in
// containerd).
const signalBase = 128

// wrongExit is the finding about an observation that differs from the truth.
func wrongExit(o Observation, truth Truth, sent []Sent) Finding {
	f := Finding{
		Invariant: Exit, Class: ClassExitCode, Subject: Subject{ID: o.Container, Exec: o.Exec, PID: o.PID},
		Facts: Facts{
			FactBy: string(o.Observer), FactStatus: kindOfStatus(o.Status), FactReported: fmt.Sprint(o.Status),
			FactTrue: fmt.Sprint(truth.Status), FactSource: truth.Source,
		},
	}
	for _, s := range sent {
		if s.Container == o.Container && s.Exec == o.Exec && s.Signal == int(o.Status)-signalBase {
			f.Facts[FactSentBy] = s.By
		}
	}
	if o.Exec != "" {
		f.Facts[FactOf] = AnExec
	}
	if !o.At.IsZero() {
		f.Facts[FactAt] = o.At.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return f
}

// lastSignal is SIGRTMAX of Linux.
const lastSignal = 64

// kindOfStatus is the kind of a wrong exit status.
func kindOfStatus(status uint32) string {
	signal := int(status) - signalBase
	switch {
	case status == 0:
		return MadeUp0
	case status == 255:
		return MadeUp255
	case signal == int(unix.SIGKILL):
		return MadeUp137
	case signal > 0 && signal <= lastSignal:
		return MadeUpSig
	}
	return Wrong
}

func signalName(signal int) string {
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}
