package finding

import "slices"

// Class is the kind of thing that a finding is about.
type Class string

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

// LeakClasses are the classes of what leaks, in the order in which findings are listed.
// Each has a positive control.
var LeakClasses = []Class{
	ClassShim, ClassProcess, ClassSocket, ClassBundle, ClassCRIDir, ClassMount, ClassCgroup, ClassRuncState,
	ClassSnapshot, ClassLease, ClassFIFO, ClassContainer, ClassTask, ClassSandbox, ClassMetadata, ClassNetwork,
	ClassFile, ClassHandle,
}

// The classes of what does not leak.
const (
	ClassEnd       Class = "end"
	ClassExitCode  Class = "exit-code"
	ClassEvent     Class = "event"
	ClassCRIStatus Class = "cri-status" // what CRI says of a container or a sandbox
	ClassCRIEvent  Class = "cri-event"  // and what its container events say
	ClassDaemon    Class = "containerd" // the daemon itself
	ClassBystander Class = "bystander"  // a task or a pod that no fault was done to
)

// Classes are all classes, in the order in which findings are listed.
var Classes = append(slices.Clone(LeakClasses), ClassEnd, ClassExitCode, ClassEvent, ClassCRIStatus, ClassCRIEvent,
	ClassDaemon, ClassBystander)
