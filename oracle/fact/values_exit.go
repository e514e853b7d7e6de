package fact

// The kinds of wrong exit status: values of Status.
const (
	MadeUp0   = "made-up-0"   // success was reported for a failed process
	MadeUp137 = "made-up-137" // containerd's value when it cleans up after a dead shim
	MadeUp255 = "made-up-255" // client.UnknownExitStatus: unknown to containerd
	MadeUpSig = "made-up-signal"
	Wrong     = "wrong"
	// Unreported is an exit status that no observer, or not the required one, has
	// reported.
	Unreported = "unreported"
	// Killed and NeverBegan are wrong ends. SIGKILL ended a container that was not to be
	// killed, or its payload never ran although its start succeeded.
	Killed     = "killed"
	NeverBegan = "never-began"
	// KilledEarly is the end of a process that was killed before its time was over.
	// SaidEarly is such an end that only CRI reports.
	KilledEarly = "killed-early"
	SaidEarly   = "said-early"
	// NotEnded is the end of a process that had to be killed, because an earlier
	// signal did not end it.
	NotEnded = "not-ended"
)
