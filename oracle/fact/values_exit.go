package fact

// The kinds of wrong exit status: values of Status.
const (
	MadeUp0   = "made-up-0"   // 0 was reported for a process that failed
	MadeUp137 = "made-up-137" // containerd's value when it cleans up after a dead shim
	MadeUp255 = "made-up-255" // containerd's client.UnknownExitStatus
	MadeUpSig = "made-up-signal"
	Wrong     = "wrong"
	// Unreported is an exit that the required observer, or every observer, did not
	// report.
	Unreported = "unreported"
	// Killed and NeverBegan are wrong ends. SIGKILL ended a container that nothing should
	// have killed, or the payload never ran although its start succeeded.
	Killed     = "killed"
	NeverBegan = "never-began"
	// KilledEarly is the end of a process that was killed before its grace period was
	// over. SaidEarly is the same, but only CRI reports this end.
	KilledEarly = "killed-early"
	SaidEarly   = "said-early"
	// NotEnded is the end of a process that the client had to kill, because an earlier
	// signal did not end it.
	NotEnded = "not-ended"
)
