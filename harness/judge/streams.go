package judge

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// streams: the client reads each line that a process wrote before its end, once and in
// order. The process reads its input in the same way, and reads the end of its input
// after CloseIO, not before. A client that attached by CRI reads the whole output, and
// its stream ends after the container ends. The rule does not apply if a fault broke a
// process between writer and reader.
func streams(h *run) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, p := range processes(h) {
		found = append(found, p.outputs()...)
	}
	for _, p := range processes(h) {
		found = append(found, p.wrongInput()...)
	}
	for _, p := range processes(h) {
		for _, a := range p.i.Attaches {
			if p.e == nil && !toleratedOf(h, streamWorks, p.i, span{p.i.Begun, latest(a.Ended, p.i.Waited)}) {
				found = append(found, p.wrongAttach(a)...)
			}
		}
	}
	return found, nil
}

// failed returns a finding about an operation on the process that does not work.
func (p process) failed(fs fact.Facts) finding.Finding {
	f := p.find(finding.Liveness, finding.ClassContainer, fs)
	f.Subject.PID = 0
	return f
}

// outputs returns the wrong outputs of a process. The client reads the outputs of an exec
// until it deletes the exec.
func (p process) outputs() []finding.Finding {
	out, started, deleted, written := p.i.Outputs, p.i.Started, p.i.Deleted, logWritten(p.h, p.i)
	if p.e != nil {
		out, started, deleted, written = p.e.Outputs, p.e.Started, p.e.Deleted, span{}
	}
	if out == nil || started.IsZero() || p.e != nil && deleted.IsZero() || toleratedOf(p.h, outputRead, p.i, written) {
		return nil
	}
	found := p.wrongOutputs(*out)
	if p.e == nil {
		found = append(found, p.lateOutputs()...)
		for _, fs := range linesAfterRotation(p.i.Rotations) {
			fs[fact.What] = fact.WrongOutput
			found = append(found, p.failed(fs))
		}
	}
	return append(found, p.wrongLog(*out, deleted)...)
}

// unwritten is how long containerd may hold lines that it has read and not written yet.
const unwritten = 2 * time.Second

// logWritten returns the time in which containerd wrote a container's last lines to its
// log. Without CRI it writes none.
func logWritten(h *run, i harness.Instance) span {
	if h.CRI == nil || !i.Payload.Exited {
		return span{}
	}
	to := i.Waited
	if to.IsZero() {
		to = h.Done
	}
	return span{i.Payload.ExitedAt.Add(-unwritten), to}
}

// wrongOutputs compares what a client read of both streams with what the process wrote. A
// killed process may not have written all lines.
func (p process) wrongOutputs(is harness.Outputs) (found []finding.Finding) {
	own, spec := p.record(), p.i.Spec
	stdout, stderr := 0, 0
	if own.Exited {
		stdout, stderr = spec.Lines, spec.Lines
		if spec.Stdin > 0 {
			stdout = own.Wrote
		}
		if spec.Stdin > 0 && streamed(p.i) {
			stderr = own.Wrote
		}
	}
	if spec.Unread { // its shim drops the unread lines at Delete
		stdout, stderr, is.Stdout.Cut, is.Stderr.Cut = 0, 0, false, false
	}
	if spec.Log == harness.LogFile {
		// v2.4.2 and v1.7.35 may lose it: copyPipes (process/io.go of the shim) closes the file
		// of both streams when the standard output has ended.
		stderr = 0
	}
	for _, s := range []struct {
		name  string
		lines int
		harness.Output
	}{{fact.Stdout, stdout, is.Stdout}, {fact.Stderr, stderr, is.Stderr}} {
		for _, fs := range wrongLines(s.Output, s.MissingOf(s.lines, own.ExitedAt)) {
			fs[fact.What], fs[fact.Stream] = fact.WrongOutput, s.name
			found = append(found, p.failed(fs))
		}
	}
	return found
}

// wrongLog returns the findings about a log that the shim writes. A log file must keep
// its earlier content. A logger must get the id of its process, and must exit before the
// process is deleted.
func (p process) wrongLog(is harness.Outputs, deleted time.Time) (found []finding.Finding) {
	add := func(wrong bool, how, reported string) {
		if wrong {
			found = append(found, p.failed(
				fact.Facts{fact.What: fact.WrongOutput, fact.Output: how, fact.Reported: reported}))
		}
	}
	add(is.Overwritten, fact.Overwritten, "")
	add(is.LoggerRuns && !deleted.IsZero(), fact.LoggerRuns, "")
	add(is.LoggedAs != "" && is.LoggedAs != daemon.TaskNamespace+"/"+cmp.Or(p.exec(), p.i.ID),
		fact.AnotherLog, is.LoggedAs)
	return found
}

// buffered is how many lines CRI's logger may hold when CRI reports the exit: 4 KiB of at
// least 22 bytes each. CRI waits for the copy to the logger, and not for the logger
// (defaultBufSize, internal/cri/io/logger.go of v2.4.2).
const buffered = 4096 / 22

// lateOutputs returns the lines that CRI wrote to a log after it had reported the exit. A
// client that reads the log then never gets them.
func (p process) lateOutputs() (found []finding.Finding) {
	if p.i.OutputsAtExit == nil || !p.i.Payload.Exited {
		return nil
	}
	for _, s := range []struct {
		name       string
		then, last harness.Output
	}{
		{fact.Stdout, p.i.OutputsAtExit.Stdout, p.i.Outputs.Stdout},
		{fact.Stderr, p.i.OutputsAtExit.Stderr, p.i.Outputs.Stderr},
	} {
		if late := s.last.Last - s.then.Last; late > buffered {
			found = append(found, p.failed(fact.Facts{
				fact.What: fact.WrongOutput, fact.Stream: s.name, fact.Output: fact.Late,
				fact.Count: strconv.Itoa(late), fact.First: strconv.Itoa(s.then.Last + 1)}))
		}
	}
	return found
}

// linesAfterRotation returns the facts of a log that still got lines after its rotation.
func linesAfterRotation(all []harness.Rotation) []fact.Facts {
	for _, r := range all {
		if r.Late > 0 {
			return []fact.Facts{{fact.Output: fact.Unrotated, fact.Count: strconv.Itoa(r.Late)}}
		}
	}
	return nil
}

// wrongLines returns the facts of a stream whose lines are lost, repeated, written by
// another process, or have another time.
func wrongLines(out harness.Output, lost []harness.MissingLines) (all []fact.Facts) {
	count, first := 0, 0
	for _, hole := range lost {
		count, first = count+hole.To-hole.From+1, cmp.Or(first, hole.From)
	}
	foreign := out.Foreign
	if out.Cut && count == 0 { // if lines are lost, the incomplete line is the first of them
		foreign++
	}
	for _, wrong := range []struct {
		how   string
		count int
	}{
		{fact.Missing, count}, {fact.Repeated, out.Repeated},
		{fact.Foreign, foreign}, {fact.Misdated, out.Misdated},
	} {
		if wrong.count == 0 {
			continue
		}
		fs := fact.Facts{fact.Output: wrong.how, fact.Count: strconv.Itoa(wrong.count)}
		if wrong.how == fact.Missing {
			fs[fact.First] = strconv.Itoa(first)
		}
		all = append(all, fs)
	}
	return all
}

// wrongInput returns the findings about the input of a process. A process that exited
// before the end of its input may have read less.
func (p process) wrongInput() (found []finding.Finding) {
	in, own := p.i.Input, p.record()
	if p.e != nil {
		in = p.e.Input
	}
	if in == nil || in.Closing.IsZero() && !in.Open || toleratedOf(p.h, inputRead, p.i, span{}) ||
		streamed(p.i) && toleratedOf(p.h, streamWorks, p.i, span{p.i.Begun, p.h.Done}) {
		return nil
	}
	early := !own.EOFAt.IsZero() && own.EOFAt.Before(in.Closing)
	switch {
	case in.Open && !own.EOFAt.IsZero():
		found = append(found, p.failed(fact.Facts{fact.What: fact.InputEnded, fact.After: fact.ClientGone}))
	case early:
		found = append(found, p.failed(
			fact.Facts{fact.What: fact.InputEnded, fact.Apart: in.Closing.Sub(own.EOFAt).String()}))
	case own.EOFAt.IsZero() && !in.Closed.IsZero() && own.Runs > 0 &&
		!killedBefore(p.h, p.i, in.Closed.Add(in.Timeout)):
		found = append(found, p.failed(fact.Facts{fact.What: fact.InputOpen, fact.Bound: in.Timeout.String()}))
	}
	lines := 0
	if !own.EOFAt.IsZero() && !early && !in.Open || in.Open && own.Exited {
		lines = in.Lines
	}
	for _, fs := range wrongLines(in.Read, in.Read.MissingOf(lines, latest(own.EOFAt, own.ExitedAt))) {
		fs[fact.What] = fact.WrongInput
		found = append(found, p.failed(fs))
	}
	return found
}

// wrongAttach returns the findings about the stream of a client that attached to the
// container by CRI.
func (p process) wrongAttach(a harness.Attach) (found []finding.Finding) {
	switch {
	case a.Err != nil:
		found = append(found, p.failed(a.Err.Facts(fact.AttachFailed)))
	case a.Ended.IsZero() && !p.i.Waited.IsZero():
		found = append(found, p.failed(fact.Facts{fact.What: fact.AttachOpen, fact.Bound: a.Timeout.String()}))
	}
	if a.Outputs != nil {
		found = append(found, p.wrongAttachedOutputs(*a.Outputs)...)
	}
	for n := range found {
		found[n].Facts[fact.Of] = fact.AnAttach
	}
	return found
}

// wrongAttachedOutputs returns the wrong outputs of an attached client. If the input
// stays open, v2.4.2 ends the second stream with the first, and loses its last lines. The
// end of either stream closes the input, and the end of the input closes both streams
// (ContainerIO.Attach). So one stream must be whole, and the other must have begun.
func (p process) wrongAttachedOutputs(is harness.Outputs) []finding.Finding {
	found := p.wrongOutputs(is)
	missing := func(f finding.Finding) bool { return f.Facts[fact.Output] == fact.Missing }
	whole := slices.DeleteFunc(slices.Clone(found), missing)
	begun := is.Stdout.Last > 0 && is.Stderr.Last > 0
	bothLost := len(found)-len(whole) > 1 // a stream with lost lines has one such finding
	if p.i.Input == nil || !p.i.Input.Open || !begun || bothLost {
		return found
	}
	return whole
}

// streamed reports whether a client of CRI's streaming server read or wrote the streams
// of a container, or of an exec in it.
func streamed(i harness.Instance) bool {
	return len(i.Attaches) > 0 || slices.ContainsFunc(i.Execs, func(e harness.Exec) bool { return e.Sync != nil })
}
