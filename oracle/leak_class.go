package oracle

// leakClass is what [Leaks] knows of a class of finding.
type leakClass struct {
	class Class
	// find lists what was not there before; nil: another class's does, or Leaks itself.
	find func(diff) []Finding
	// with is what comes with it, of the same container or pod: a leaked shim keeps its
	// socket, its bundle and its cgroup.
	with []Class
	// covers: it has a path, and its files are not reported again.
	covers bool
	// holds: containerd may hold descriptors and goroutines for it while it is there.
	holds bool
}

// leakClasses are those of LeakClasses, in their order.
var leakClasses = []leakClass{
	{class: ClassShim, find: diff.processes, holds: true, with: []Class{
		ClassSocket, ClassBundle, ClassCgroup, ClassFIFO, ClassProcess, ClassMount, ClassRuncState, ClassTask,
		ClassContainer, ClassSnapshot, ClassCRIDir, ClassSandbox, ClassLease, ClassNetwork,
		ClassHandle,
	}},
	{class: ClassProcess, holds: true, with: []Class{ClassCgroup, ClassBundle, ClassMount, ClassRuncState}},
	{class: ClassSocket, find: diff.sockets, covers: true},
	{class: ClassBundle, find: diff.bundles, covers: true, with: []Class{ClassMount}},
	{class: ClassCRIDir, find: diff.criDirs, covers: true},
	{class: ClassMount, find: diff.mounts, covers: true},
	{class: ClassCgroup, find: diff.cgroups},
	{class: ClassRuncState, find: diff.runcStates, covers: true},
	{class: ClassSnapshot, covers: true},
	{class: ClassLease},
	{class: ClassFIFO, find: diff.fifos, covers: true},
	{class: ClassContainer, find: diff.daemon, holds: true, with: []Class{ClassSnapshot, ClassCRIDir, ClassFIFO}},
	{class: ClassTask, holds: true},
	{class: ClassSandbox, holds: true, with: []Class{ClassSnapshot, ClassCRIDir, ClassLease, ClassNetwork}},
	{class: ClassMetadata},
	{class: ClassNetwork, find: diff.networks, with: []Class{ClassMount, ClassFile}},
	{class: ClassFile},
	{class: ClassHandle},
}

func leakClassesThat(are func(leakClass) bool) (names []Class) {
	for _, c := range leakClasses {
		if are(c) {
			names = append(names, c.class)
		}
	}
	return names
}

// leaksWith returns the classes of what comes with a class.
func leaksWith(class Class) []Class {
	for _, c := range leakClasses {
		if c.class == class {
			return c.with
		}
	}
	return nil
}
