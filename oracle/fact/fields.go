package fact

// The fields of a CRI status or event: values of Field.
const (
	FieldState    = "state"
	FieldList     = "list" // the list of tasks
	FieldReason   = "reason"
	FieldExitCode = "exit-code"
	FieldCreated  = "created-at"
	FieldStarted  = "started-at"
	FieldFinished = "finished-at"
	FieldSandbox  = "sandbox" // the status of the sandbox, in an event
	FieldSibling  = "sibling" // the status of another container of its pod, in an event
	FieldIP       = "ip"      // of a pod
)

// The errors of a field: values of Is.
const (
	TooEarly = "too-early" // a time before its event.
	TooLate  = "too-late"  // a time after its event, or after the response.
	Fatal    = "fatal"     // a log message after which containerd exits
	NotSet   = "not-set"
	Other    = "other"   // a wrong value
	Changed  = "changed" // a value that differs from an earlier response
)

// More values of facts.
const (
	OnlyByCRI    = "by-cri-alone"  // Listed: CRI lists the object, and containerd does not have it.
	NotByCRI     = "not-by-cri"    // Listed: containerd has the object, and CRI does not list it.
	ASandbox     = "sandbox"       // Object.
	InRunningPod = "running-pod"   // In: left by a removed container in a running pod.
	FromRunning  = "running-owner" // In: lost from a running container or pod
	// InRunningContainer is a leak of an exec in a running container.
	InRunningContainer = "running-container"
)
