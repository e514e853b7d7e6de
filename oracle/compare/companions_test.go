package compare

import (
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func TestComesWith(t *testing.T) {
	leak := func(class finding.Class, s finding.Subject) finding.Finding {
		return finding.Finding{Invariant: finding.Leak, Class: class, Subject: s}
	}
	shim := leak(finding.ClassShim, finding.Subject{Namespace: "k8s.io", ID: "pod", Pod: "pod", PID: 7})
	bundle := leak(finding.ClassBundle, finding.Subject{Namespace: "k8s.io", ID: "c0", Pod: "pod"})
	zombie := leak(finding.ClassProcess, finding.Subject{PID: 9})
	zombie.Facts = fact.Facts{fact.Parent: fact.ByShim, fact.ParentPID: "7"}
	reuse := finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
		Subject: finding.Subject{ID: "c0", Pod: "pod"},
		Facts:   fact.Facts{fact.What: fact.IDReuse}}
	removal := reuse
	removal.Facts = fact.Facts{fact.What: fact.Removal}
	for name, c := range map[string]struct {
		f, o finding.Finding
		want bool
	}{
		"its own cgroup":         {leak(finding.ClassCgroup, finding.Subject{ID: "pod"}), shim, true},
		"a container of its pod": {bundle, shim, true},
		"one of the same id elsewhere": {leak(finding.ClassBundle, finding.Subject{Namespace: "other", ID: "pod"}),
			shim, false},
		"another's": {leak(finding.ClassBundle, finding.Subject{Namespace: "k8s.io", ID: "c9"}),
			shim, false},
		"nobody's":               {leak(finding.ClassSocket, finding.Subject{}), shim, false},
		"a shim beside a bundle": {shim, bundle, false},
		"another container's mount, a bundle": {leak(finding.ClassMount, finding.Subject{ID: "c1", Pod: "pod"}), bundle,
			false},
		"its own mount, a bundle":          {leak(finding.ClassMount, finding.Subject{ID: "c0"}), bundle, true},
		"a child of the shim":              {zombie, shim, true},
		"a child of another":               {zombie, leak(finding.ClassShim, finding.Subject{ID: "x", PID: 8}), false},
		"the id that cannot be used again": {reuse, shim, true},
		"what the client could not do":     {removal, shim, false},
		"a handle that it has": {leak(finding.ClassHandle, finding.Subject{ID: "pod", Pod: "pod", PID: 7}),
			shim, true},
		"a handle of another shim of its pod": {leak(finding.ClassHandle, finding.Subject{ID: "c0", Pod: "pod", PID: 8}),
			shim, false},
		"another's id": {reuse, leak(finding.ClassShim, finding.Subject{ID: "c1"}), false},
	} {
		must.Equal(t, FollowsFrom(c.f, c.o), c.want, name)
	}
}
