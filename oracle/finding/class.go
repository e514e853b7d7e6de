package finding

// Class is the kind of a finding: the kind of its object, or of what was observed
// wrongly.
type Class string

// The classes of leaks.
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
	ClassMetadata  Class = "metadata" // another record in containerd's metadata.
	ClassFile      Class = "file"     // another file in containerd's directories.
	ClassNetwork   Class = "network"  // a pod's network: its CNI plugin got an ADD without a DEL.
	ClassHandle    Class = "handle"   // an open descriptor or a goroutine.
)

// The other classes.
const (
	ClassEnd       Class = "end"
	ClassExitCode  Class = "exit-code"
	ClassEvent     Class = "event"
	ClassCRIStatus Class = "cri-status" // CRI's status of a container or a sandbox.
	ClassCRIEvent  Class = "cri-event"  // CRI's container events.
	ClassDaemon    Class = "containerd" // the daemon itself.
	ClassBystander Class = "bystander"  // a task or a pod that no fault targets.
)
