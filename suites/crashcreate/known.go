package crashcreate

// quick are the cases that also run in `make suites SHORT=1`.
var quick = map[string]bool{
	"crashcreate-task-create1-entry-held": true, "crashcreate-task-create1-exit-held": true,
	"crashcreate-task-start1-entry-held":     true,
	"crashcreate-task-start1-exit-then-shim": true, "crashcreate-sandbox-create1-exit-held": true,
	"crashcreate-container-start2-exit-held": true,
}

// known are the known bugs, by the name of the case.
var known = map[string][]string{
	"crashcreate-task-create1-entry-held":           {"containerd-6860"},
	"crashcreate-container-create2-entry-held":      {"containerd-6860"},
	"crashcreate-sandbox-create1-entry-held":        {"containerd-6860", "events-of-a-sandbox-that-never-was"},
	"crashcreate-task-start1-exit-then-shim":        {"exit-unheard-over-a-restart"},
	"crashcreate-task-create1-entry-then-shim":      {"containerd-11071"},
	"crashcreate-sandbox-create1-entry-then-shim":   {"containerd-11071"},
	"crashcreate-container-create2-entry-then-shim": {"containerd-11071"},
	"crashcreate-task-state2-entry-then-shim":       {"exit-unheard-over-a-restart"},
	"crashcreate-task-state2-exit-then-shim":        {"exit-unheard-over-a-restart"},
	"crashcreate-container-start2-exit-then-shim":   {"exit-unheard-over-a-restart"},
	"crashcreate-container-state2-entry-then-shim":  {"exit-unheard-over-a-restart"},
	"crashcreate-container-state2-exit-then-shim":   {"exit-unheard-over-a-restart"},
}
