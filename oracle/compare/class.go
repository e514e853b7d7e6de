package compare

import "github.com/shimquake/shimquake/oracle/finding"

// leakClass is a class of findings in [Leaks].
type leakClass struct {
	class finding.Class
	// with are the classes that leak together with this one, for the same container or
	// pod. A leaked shim, for example, keeps its socket, its bundle and its cgroup.
	with []finding.Class
	// covers is set if a finding of the class has a path below which files are not
	// reported again.
	covers bool
	// holds is set if containerd may hold descriptors and goroutines for a leak of the
	// class.
	holds bool
}

// leakClasses has a row for each of finding.LeakClasses.
var leakClasses = []leakClass{
	{class: finding.ClassShim, holds: true, with: []finding.Class{
		finding.ClassSocket, finding.ClassBundle, finding.ClassCgroup, finding.ClassFIFO, finding.ClassProcess,
		finding.ClassMount, finding.ClassRuncState, finding.ClassTask, finding.ClassContainer, finding.ClassSnapshot,
		finding.ClassCRIDir, finding.ClassSandbox, finding.ClassLease, finding.ClassNetwork, finding.ClassHandle,
	}},
	{class: finding.ClassProcess, holds: true, with: []finding.Class{
		finding.ClassCgroup, finding.ClassBundle, finding.ClassMount, finding.ClassRuncState,
	}},
	{class: finding.ClassSocket, covers: true},
	{class: finding.ClassBundle, covers: true, with: []finding.Class{finding.ClassMount}},
	{class: finding.ClassCRIDir, covers: true},
	{class: finding.ClassMount, covers: true},
	{class: finding.ClassCgroup},
	{class: finding.ClassRuncState, covers: true},
	{class: finding.ClassSnapshot, covers: true},
	{class: finding.ClassLease},
	{class: finding.ClassFIFO, covers: true},
	{class: finding.ClassContainer, holds: true, with: []finding.Class{
		finding.ClassSnapshot, finding.ClassCRIDir, finding.ClassFIFO,
	}},
	{class: finding.ClassTask, holds: true},
	{class: finding.ClassSandbox, holds: true, with: []finding.Class{
		finding.ClassSnapshot, finding.ClassCRIDir, finding.ClassLease, finding.ClassNetwork,
	}},
	{class: finding.ClassMetadata},
	{class: finding.ClassNetwork, with: []finding.Class{finding.ClassMount, finding.ClassFile}},
	{class: finding.ClassFile},
	{class: finding.ClassHandle},
}

func leakClassesThat(are func(leakClass) bool) (names []finding.Class) {
	for _, c := range leakClasses {
		if are(c) {
			names = append(names, c.class)
		}
	}
	return names
}

// leaksWith returns the classes that leak together with a class.
func leaksWith(class finding.Class) []finding.Class {
	for _, c := range leakClasses {
		if c.class == class {
			return c.with
		}
	}
	return nil
}
