package oracle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The kinds of lies, in a finding's details under "lie".
const (
	MadeUp0   = "made-up-0"   // success was told of a process that failed
	MadeUp137 = "made-up-137" // what containerd writes when it cleans up after a dead shim
	MadeUp255 = "made-up-255" // client.UnknownExitStatus: containerd could not tell
	MadeUpSig = "made-up-signal"
	Wrong     = "wrong"
)

// signalBase is added to a signal's number in an exit status (pkg/sys/reaper in containerd).
const signalBase = 128

// lie words an observation that differs from the truth.
func (l *Ledger) lie(p process, o Observation, truth Truth) Finding {
	kind, meaning := l.meaning(p, o.Status)
	if truth.Status > signalBase && truth.Status < 255 {
		meaning += fmt.Sprintf("; %d means %s", truth.Status, signalName(int(truth.Status-signalBase)))
	}
	f := Finding{
		Invariant: Exit, Class: ClassExitCode, ID: o.Container, PID: o.PID,
		What: fmt.Sprintf("exit code of %s by %s", p, o.Observer),
		Reason: fmt.Sprintf("%s said %d; the payload exited with %d (%s); %s",
			o.Observer, o.Status, truth.Status, truth.Source, meaning),
		Details: map[string]string{
			"lie": kind, "observer": string(o.Observer), "exec": o.Exec,
			"told": fmt.Sprint(o.Status), "true": fmt.Sprint(truth.Status),
		},
	}
	if !o.At.IsZero() {
		f.Details["at"] = o.At.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return f
}

// meaning names the kind of a wrong status and says what it stands for.
func (l *Ledger) meaning(p process, status uint32) (kind, words string) {
	signal := int(status) - signalBase
	switch {
	case status == 0:
		return MadeUp0, "0 means success"
	case status == 255:
		return MadeUp255, "255 is containerd's word for a status that it could not learn"
	case status > 255:
		return Wrong, fmt.Sprintf("%d is no exit status at all", status)
	case signal <= 0 || signal > 64: // SIGRTMAX of Linux is 64
		return Wrong, fmt.Sprintf("%d is merely wrong", status)
	}
	kind = MadeUpSig
	if signal == int(unix.SIGKILL) {
		kind = MadeUp137
	}
	words = fmt.Sprintf("%d means %s, ", status, signalName(signal))
	if by, ok := l.sent[p][signal]; ok {
		return kind, words + "which " + by + " sent, but it did not end the process"
	}
	return kind, words + "which nobody sent"
}

func signalName(signal int) string {
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}
