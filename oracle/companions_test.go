package oracle

import "testing"

func TestComesWith(t *testing.T) {
	leak := func(class Class, s Subject) Finding { return Finding{Invariant: Leak, Class: class, Subject: s} }
	shim := leak(ClassShim, Subject{Namespace: "k8s.io", ID: "pod", Pod: "pod", PID: 7})
	bundle := leak(ClassBundle, Subject{Namespace: "k8s.io", ID: "c0", Pod: "pod"})
	zombie := leak(ClassProcess, Subject{PID: 9})
	zombie.Facts = Facts{FactParent: ByShim, FactParentPID: "7"}
	reuse := Finding{Invariant: Liveness, Class: ClassContainer, Subject: Subject{ID: "c0", Pod: "pod"},
		Facts: Facts{FactWhat: IDReuse}}
	removal := reuse
	removal.Facts = Facts{FactWhat: Removal}
	for name, c := range map[string]struct {
		f, o Finding
		want bool
	}{
		"its own cgroup":                      {leak(ClassCgroup, Subject{ID: "pod"}), shim, true},
		"a container of its pod":              {bundle, shim, true},
		"one of the same id elsewhere":        {leak(ClassBundle, Subject{Namespace: "other", ID: "pod"}), shim, false},
		"another's":                           {leak(ClassBundle, Subject{Namespace: "k8s.io", ID: "c9"}), shim, false},
		"nobody's":                            {leak(ClassSocket, Subject{}), shim, false},
		"a shim beside a bundle":              {shim, bundle, false},
		"another container's mount, a bundle": {leak(ClassMount, Subject{ID: "c1", Pod: "pod"}), bundle, false},
		"its own mount, a bundle":             {leak(ClassMount, Subject{ID: "c0"}), bundle, true},
		"a child of the shim":                 {zombie, shim, true},
		"a child of another":                  {zombie, leak(ClassShim, Subject{ID: "x", PID: 8}), false},
		"the id that cannot be used again":    {reuse, shim, true},
		"what the client could not do":        {removal, shim, false},
		"a handle that it has":                {leak(ClassHandle, Subject{ID: "pod", Pod: "pod", PID: 7}), shim, true},
		"a handle of another shim of its pod": {leak(ClassHandle, Subject{ID: "c0", Pod: "pod", PID: 8}), shim, false},
		"another's id":                        {reuse, leak(ClassShim, Subject{ID: "c1"}), false},
	} {
		if got := c.f.ComesWith(c.o); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
