package oracle

import "github.com/shimquake/shimquake/oracle/scan"

// The classes of what leaks.
const (
	ClassShim      Class = "shim"
	ClassProcess   Class = "process"
	ClassSocket    Class = "socket"
	ClassBundle    Class = "bundle"
	ClassCRIDir    Class = "cri-dir"
	ClassMount     Class = "mount"
	ClassCgroup    Class = "cgroup"
	ClassRuncState Class = "runc-state"
	ClassSnapshot  Class = "snapshot"
	ClassLease     Class = "lease"
	ClassFIFO      Class = "fifo"
	ClassContainer Class = "container"
	ClassTask      Class = "task"
	ClassSandbox   Class = "sandbox"
	ClassMetadata  Class = "metadata" // what else containerd's metadata has
	ClassFile      Class = "file"     // and what else is on its disk
	ClassNetwork   Class = "network"  // of a pod, as its CNI plugin was called
	ClassHandle    Class = "handle"   // what a process of containerd's holds open
)

// leakClass is all that there is to know of a class that [Leaks] can find.
type leakClass struct {
	class Class
	// read takes it from the scene's files; nil: take or askDaemon does.
	read func(*Inventory, *scan.Tree, Scene) error
	// find lists what was not there before; nil: another class's does, or Leaks itself.
	find func(diff) []Finding
	// with is what comes with it, of the same container or pod: a leaked shim keeps its
	// socket, its bundle and its cgroup.
	with []Class
	// covers: it has a path, and its files are not reported again.
	covers bool
	// known: a release may be known to leave it, see mayBeKnown.
	known bool
	// holds: containerd may hold descriptors and goroutines for it while it is there.
	holds bool
	// name stands before its path, and why it is a finding; a class with more to say has its
	// words in words.go.
	name, why string
}

// leakClasses are in the order in which findings are listed. Each has a positive control.
var leakClasses = []leakClass{
	{class: ClassShim, find: diff.processes, holds: true, with: []Class{
		ClassSocket, ClassBundle, ClassCgroup, ClassFIFO, ClassProcess, ClassMount, ClassRuncState, ClassTask,
		ClassContainer, ClassSnapshot, ClassCRIDir, ClassSandbox, ClassLease, ClassNetwork,
		ClassHandle,
	}},
	{class: ClassProcess, holds: true, with: []Class{ClassCgroup, ClassBundle, ClassMount, ClassRuncState}},
	{class: ClassSocket, read: readSockets, find: diff.sockets, covers: true, known: true, name: "shim socket"},
	{class: ClassBundle, find: diff.bundles, covers: true, with: []Class{ClassMount}},
	{class: ClassCRIDir, read: readCRIDirs, find: diff.criDirs, covers: true, known: true, name: "CRI directory"},
	{class: ClassMount, find: diff.mounts, covers: true},
	{class: ClassCgroup, find: diff.cgroups, known: true},
	{class: ClassRuncState, read: readRuncStates, find: diff.runcStates, covers: true, name: "runc state"},
	{class: ClassSnapshot, covers: true, known: true},
	{class: ClassLease, known: true},
	{class: ClassFIFO, read: readFIFOs, find: diff.fifos, covers: true, known: true, name: "FIFO", why: "not removed"},
	{class: ClassContainer, find: diff.daemon, holds: true, with: []Class{ClassSnapshot, ClassCRIDir, ClassFIFO}},
	{class: ClassTask, holds: true},
	{class: ClassSandbox, holds: true, with: []Class{ClassSnapshot, ClassCRIDir, ClassLease, ClassNetwork}},
	{class: ClassMetadata, why: "containerd's metadata still has it, and had not before"},
	{class: ClassNetwork, find: diff.networks, with: []Class{ClassMount, ClassFile}},
	{class: ClassFile, read: readFiles},
	{class: ClassHandle},
}

// LeakClasses are their names.
var LeakClasses = leakClassesThat(func(leakClass) bool { return true })

func leakClassesThat(are func(leakClass) bool) (names []Class) {
	for _, c := range leakClasses {
		if are(c) {
			names = append(names, c.class)
		}
	}
	return names
}

// leakClassOf is the row of a class; of one that does not leak it is empty.
func leakClassOf(class Class) leakClass {
	for _, c := range leakClasses {
		if c.class == class {
			return c
		}
	}
	return leakClass{}
}
