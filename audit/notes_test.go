package audit

import (
	"fmt"
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
