package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Two pods of one world have a shim each. A leak of one pod must not be attributed to the
// other.
func TestWhose(t *testing.T) {
	of := func(pid int, id string) failpoints.Hit {
		return hit(createEntry, 5, func(h *failpoints.Hit) { h.PID, h.ID = pid, id })
	}
	h := clean()
	h.Case.Workload.API = harness.CRI
	h.Instances[0].ID = "aa"
	h.Hits = []failpoints.Hit{of(7, "pod1"), of(7, "aa"), of(8, "pod2"), of(8, "bb"), of(9, "aa")}
	leak := func(class finding.Class, id string) finding.Finding {
		return finding.Finding{Invariant: finding.Leak, Class: class, Subject: finding.Subject{ID: id}}
	}
	all := []finding.Finding{
		leak(finding.ClassShim, "pod1"), leak(finding.ClassMount, "aa"), leak(finding.ClassMount, "bb"),
		leak(finding.ClassShim, "pod3"),
		{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: fact.Facts{fact.What: fact.IDReuse}},
	}
	attributeFindings(runOf(&h), all)
	for i, want := range []struct{ pod, whose string }{
		{"pod1", "sandbox"}, {"pod1", "c0"}, {"pod2", ""}, {"", ""}, {"pod1", "c0"},
	} {
		if got := all[i]; got.Subject.Pod != want.pod || got.Facts[fact.Role] != want.whose {
			t.Errorf("%d: of pod %q, whose %q; want %+v", i, got.Subject.Pod, got.Facts[fact.Role], want)
		}
	}
	for i, want := range []bool{false, true, false, false, true} {
		if got := compare.FollowsFrom(all[i], all[0]); got != want {
			t.Errorf("%v comes with the shim of pod1: %v", all[i], got)
		}
	}
}

// If no shim has a hit, the case says which containers are in one group.
func TestWhoseOfASilentGroup(t *testing.T) {
	h := clean()
	h.Case.Workload.Grouped = true
	h.Hits, h.Flushed = nil, nil
	h.Instances = append(h.Instances, harness.Instance{Name: "c1", ID: "c1"})
	all := []finding.Finding{
		{Invariant: finding.Leak, Class: finding.ClassShim, Subject: finding.Subject{ID: "c0"}},
		{Invariant: finding.Leak, Class: finding.ClassBundle, Subject: finding.Subject{ID: "c1"}},
	}
	if attributeFindings(runOf(&h), all); !compare.FollowsFrom(all[1], all[0]) {
		t.Errorf("%+v does not come with the group's shim", all[1].Subject)
	}
	h.Hits = []failpoints.Hit{hit(createEntry, 5, func(h *failpoints.Hit) { h.ID = "c1" })} // of which no c0 came
	if attributeFindings(runOf(&h), all); all[0].Subject.Pod != "c1" || all[1].Subject.Pod != "c1" {
		t.Errorf("of pods %q and %q, and the group is called c1", all[0].Subject.Pod, all[1].Subject.Pod)
	}
}

// A pod without a container cannot be used again, because of its leaks.
func TestReuseOfAPodWithoutContainers(t *testing.T) {
	h := clean()
	h.Case.Workload.API = harness.CRI
	h.Instances[0].ID, h.Hits, h.Flushed = "", nil, nil
	all := []finding.Finding{
		{Invariant: finding.Leak, Class: finding.ClassSandbox, Subject: finding.Subject{ID: "pod1"}},
		{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: fact.Facts{fact.What: fact.IDReuse}},
	}
	if attributeFindings(runOf(&h), all); !compare.FollowsFrom(all[1], all[0]) {
		t.Errorf("%+v does not come with the sandbox", all[1].Subject)
	}
}

// A bystander's pod is a pod, too, although the history has no hits of it.
func TestWhoseOfABystander(t *testing.T) {
	h := clean()
	h.Bystanders = []harness.Bystander{{Instance: harness.Instance{ID: "bb"}, Sandbox: "pod2"},
		{Instance: harness.Instance{ID: "task"}}}
	leak := func(class finding.Class, id string) finding.Finding {
		return finding.Finding{Invariant: finding.Leak, Class: class, Subject: finding.Subject{ID: id}}
	}
	all := []finding.Finding{
		leak(finding.ClassShim, "pod2"), leak(finding.ClassMount, "bb"), leak(finding.ClassMount, "task"),
	}
	attributeFindings(runOf(&h), all)
	if !compare.FollowsFrom(all[1], all[0]) || compare.FollowsFrom(all[2], all[0]) {
		t.Errorf("%v, %v", all[1].Subject, all[2].Subject)
	}
	if of := all[0].Facts[fact.Role]; of != "" {
		t.Errorf("its sandbox is called %q, as that of the workload is", of)
	}
}
