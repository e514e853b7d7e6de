package fact

// The kinds of wrong exit status: values of Status.
const (
	MadeUp0   = "made-up-0"   // success was reported of a process that failed
	MadeUp137 = "made-up-137" // what containerd writes when it cleans up after a dead shim
	MadeUp255 = "made-up-255" // client.UnknownExitStatus: containerd could not tell
	MadeUpSig = "made-up-signal"
	Wrong     = "wrong"
	// Unreported is one that nobody, or not somebody who should, has reported.
	Unreported = "unreported"
	// Killed and NeverBegan are ends: SIGKILL ended a container that nobody was to kill, or
	// its payload never ran although its start succeeded.
	Killed     = "killed"
	NeverBegan = "never-began"
	// KilledEarly is the end of one that was killed before its time was over, SaidEarly of
	// one of which CRI alone says that it had ended by then.
	KilledEarly = "killed-early"
	SaidEarly   = "said-early"
	// Unended is the end of one that had to be killed, as the signal that it was sent before
	// has not ended it.
	Unended = "unended"
)
