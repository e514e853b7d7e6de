package judge

import (
	"cmp"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// outputs: each line that a process wrote before its end is read once and in order. The
// rule does not apply if a fault broke a process between writer and reader.
func outputs(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for n := range h.Instances {
		i := &h.Instances[n]
		if i.Outputs != nil && !i.Started.IsZero() && !tolerated(h, outputRead, *i, logWritten(h, *i)) {
			found = append(found, wrongOutputs(*i, "", *i.Outputs, i.Payload)...)
			found = append(found, lateOutputs(*i)...)
			found = append(found, wrongLog(*i, "", *i.Outputs, i.Deleted)...)
		}
		for _, e := range i.Execs {
			if e.Outputs != nil && !e.Started.IsZero() && !e.Deleted.IsZero() && !tolerated(h, outputRead, *i, span{}) {
				found = append(found, wrongOutputs(*i, e.Called(), *e.Outputs, e.Payload)...)
				found = append(found, wrongLog(*i, e.Called(), *e.Outputs, e.Deleted)...)
			}
		}
	}
	return found, nil
}

// wrongOutputs are of both streams of a container's init, or of an exec in it.
func wrongOutputs(i harness.Instance, exec string, is harness.Outputs, own payload.Truth) (found []finding.Finding) {
	lines, read := 0, 0
	if own.Exited { // what is killed has not come to it
		lines = i.Spec.Lines
		if read = lines; i.Spec.Stdin > 0 {
			read = own.Wrote
		}
		if i.Spec.Stdin > 0 && streamed(i) {
			lines = own.Wrote
		}
	}
	if i.Spec.Unread { // what its shim still has when it is deleted is lost
		read, lines, is.Stdout.Cut, is.Stderr.Cut = 0, 0, false, false
	}
	if i.Spec.Log == harness.LogFile {
		// v2.4.2 may lose it, and v1.7.35 reads alike: copyPipes (process/io.go of the shim)
		// closes the file of both when the standard output has ended.
		lines = 0
	}
	for _, s := range []struct {
		name  string
		lines int
		harness.Output
	}{{fact.Stdout, read, is.Stdout}, {fact.Stderr, lines, is.Stderr}} {
		for _, fs := range wrongLines(s.Output, s.MissingOf(s.lines, own.ExitedAt)) {
			fs[fact.What], fs[fact.Stream] = fact.WrongOutput, s.name
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Subject: finding.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, fs)})
		}
	}
	return found
}

// wrongLog is of what a shim writes outputs to itself: what a file had before is there,
// and a logger knows whose it has, and has come to its end when that is deleted.
func wrongLog(i harness.Instance, exec string, is harness.Outputs, deleted time.Time) (found []finding.Finding) {
	find := func(how, reported string) {
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
			Subject: finding.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, fact.Facts{
				fact.What: fact.WrongOutput, fact.Output: how, fact.Reported: reported})})
	}
	if is.Overwritten {
		find(fact.Overwritten, "")
	}
	if is.LoggerRuns && !deleted.IsZero() {
		find(fact.LoggerRuns, "")
	}
	if is.LoggedAs != "" && is.LoggedAs != daemon.TaskNamespace+"/"+cmp.Or(exec, i.ID) {
		find(fact.AnotherLog, is.LoggedAs)
	}
	return found
}

// buffered is how many lines of a payload CRI's logger may have read and not written
// when CRI says that the container has exited: 4 KiB of at least 22 bytes each
// (defaultBufSize, internal/cri/io/logger.go of v2.4.2). CRI waits for who copies to it,
// and not for it.
const buffered = 4096 / 22

// lateOutputs are lines that CRI wrote to a log after it had said that the container has
// exited: who reads the log then never sees them.
func lateOutputs(i harness.Instance) (found []finding.Finding) {
	if i.OutputsAtExit == nil || !i.Payload.Exited {
		return nil
	}
	for _, s := range []struct {
		name       string
		then, last harness.Output
	}{
		{fact.Stdout, i.OutputsAtExit.Stdout, i.Outputs.Stdout},
		{fact.Stderr, i.OutputsAtExit.Stderr, i.Outputs.Stderr},
	} {
		if late := s.last.Last - s.then.Last; late > buffered {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Subject: finding.Subject{ID: i.ID}, Facts: fact.Facts{
					fact.What: fact.WrongOutput, fact.Stream: s.name, fact.Output: fact.Late,
					fact.Count: strconv.Itoa(late), fact.First: strconv.Itoa(s.then.Last + 1)}})
		}
	}
	return found
}

// wrongLines are the facts of what is wrong with an output: lines that are lost, that
// came twice, that nobody has written, or that have another time.
func wrongLines(out harness.Output, lost []harness.Hole) (all []fact.Facts) {
	count, at := 0, 0
	for _, hole := range lost {
		count, at = count+hole.To-hole.From+1, cmp.Or(at, hole.From)
	}
	foreign := out.Foreign
	if out.Cut && count == 0 { // with others lost, what is lost begins in the middle of one
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
			fs[fact.First] = strconv.Itoa(at)
		}
		all = append(all, fs)
	}
	return all
}

// logWritten is the time in which containerd has written a container's last lines to its
// log, or no time if it writes none.
func logWritten(h *harness.History, i harness.Instance) span {
	if h.CRI == nil || !i.Payload.Exited {
		return span{}
	}
	to := i.Waited
	if to.IsZero() {
		to = h.Done
	}
	return span{i.Payload.ExitedAt.Add(-unwritten), to}
}

// unwritten is of how long a time containerd may hold lines that it has read and not
// written yet.
const unwritten = 2 * time.Second
