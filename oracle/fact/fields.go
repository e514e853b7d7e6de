package fact

// The fields of what CRI says: values of Field.
const (
	FieldState    = "state"
	FieldList     = "list" // of tasks
	FieldReason   = "reason"
	FieldExitCode = "exit-code"
	FieldCreated  = "created-at"
	FieldStarted  = "started-at"
	FieldFinished = "finished-at"
	FieldSandbox  = "sandbox" // its status, in an event
	FieldSibling  = "sibling" // the status of another container of its pod, in an event
	FieldIP       = "ip"      // of a pod
)

// What is wrong with a field: values of Is.
const (
	TooEarly = "too-early" // a time before what it is the time of
	TooLate  = "too-late"  // a time after that, or later than CRI has said it
	Fatal    = "fatal"     // a log message after which containerd cannot go on
	NotSet   = "not-set"
	Other    = "other"   // another than is true
	Changed  = "changed" // another than CRI has said before
)

// More values of facts.
const (
	OnlyByCRI   = "by-cri-alone" // Listed: CRI lists what containerd does not have
	NotByCRI    = "not-by-cri"   // and the other way about
	ASandbox    = "sandbox"      // Object
	InLivingPod = "living-pod"   // In: a container was removed, and its pod lives on
	OfTheLiving = "living"       // something was taken from who lives
	// InLivingContainer is what an exec has left in a container that lives on.
	InLivingContainer = "living-container"
)
