package audit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// A user can cause a flood of notes. The notes about containerds stay.
func TestAFloodOfNotes(t *testing.T) {
	flood := make([]string, 2*maxNotes)
	for i := range flood {
		flood[i] = fmt.Sprint("forged ", i)
	}
	r := &Report{}
	r.tell(&Node{Notes: flood, Views: []*View{
		{Notes: flood, Daemons: []Daemon{{PID: 7, Error: "deaf"}}},
		{Untrusted: 9, Notes: flood, Daemons: []Daemon{{PID: 9, Error: "fake"}}},
	}})
	if len(r.Partial) != maxNotes+1 || !strings.Contains(r.Partial[0], "process 7") {
		t.Errorf("%d notes, want %d, and first that process 7 was not asked: %q", len(r.Partial), maxNotes+1, r.Partial[0])
	}
	if !slices.Contains(r.Partial, flood[0]) {
		t.Error("the other notes are gone")
	}
}

// A task without a shim has no process whose stack could be read.
func TestAdviceWithoutAProcess(t *testing.T) {
	s := Suspect{Kind: finding.ClassTask, Facts: fact.Facts{fact.Task: fact.TaskUnknown, fact.Shim: fact.None}}
	if do := wording.Advice(s.Finding()); do == "" || strings.Contains(do, "/proc/0") {
		t.Error(do)
	}
	s.PID, s.Facts[fact.Shim] = 7, ""
	if do := wording.Advice(s.Finding()); !strings.Contains(do, "/proc/7/stack") {
		t.Error(do)
	}
}

// No advice ends a process that may serve: the shim of a container or the container. An
// audit that is not certain, or a living child, is enough for that.
func TestNoAdviceEndsWhatMayServe(t *testing.T) {
	shim := fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone, fact.Children: fact.None}
	process := fact.Facts{fact.Task: fact.None, fact.Owner: fact.OfContainer}
	for name, test := range map[string]struct {
		of   Suspect
		want string
	}{
		"nothing serves": {Suspect{Kind: finding.ClassShim, Sure: Certain, Facts: shim}, "then kill 7"},
		"a young shim":   {Suspect{Kind: finding.ClassShim, Sure: Likely, Facts: shim}, "do not kill it: it may serve"},
		"containerd was not asked": {Suspect{Kind: finding.ClassShim, Sure: Likely,
			Facts: shim.With(fact.Facts{fact.Task: fact.NotAsked})}, "when containerd answers, audit again"},
		"a living child": {Suspect{Kind: finding.ClassShim, Sure: Certain,
			Facts: shim.With(fact.Facts{fact.Children: fact.Some})}, "do not kill it: its child processes may serve"},
		"a frozen shim": {Suspect{Kind: finding.ClassShim, Sure: Likely,
			Facts: shim.With(fact.Facts{fact.State: fact.AStopped})}, "kill -CONT 7, and audit again"},
		"a forgotten container": {Suspect{Kind: finding.ClassProcess, Sure: Certain, Facts: process},
			"it may serve: start its work elsewhere"},
		"perhaps a forgotten container": {Suspect{Kind: finding.ClassProcess, Sure: Likely, Facts: process},
			"do not kill it: it may serve"},
		"a task whose shim was killed": {Suspect{Kind: finding.ClassTask, Sure: Certain,
			Facts: fact.Facts{fact.Task: fact.TaskUnknown, fact.Shim: fact.None}}, "its container may still serve"},
	} {
		test.of.PID, test.of.ID, test.of.Namespace = 7, "c1", "k8s.io"
		if _, do := test.of.advice(); !strings.Contains(do, test.want) {
			t.Errorf("%s: %q, want %q", name, do, test.want)
		}
	}
}

// The command lines of containers may have secrets, so only --with-workloads gives them
// away.
func TestEvidenceHasNoCommandLines(t *testing.T) {
	const secret = "--password=open-sesame"
	r := &Report{last: &Node{}, Suspects: []Suspect{{Living: []Living{{PID: 7, Command: secret}}}}}
	for _, workloads := range []bool{false, true} {
		var b bytes.Buffer
		if err := r.Evidence(t.Context(), &b, Options{}, workloads, nil); err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zip)
		if err != nil || strings.Contains(string(text), secret) != workloads {
			t.Errorf("with workloads %t: %v\n%s", workloads, err, text)
		}
	}
	if !strings.Contains(r.String(), "may serve: process 7, up 0s: "+secret) {
		t.Error(r)
	}
}
