package spec

import "github.com/shimquake/shimquake/oracle/finding"

// Known findings of releases in several suites, for harness.Bad.
var (
	// ShimLeft: a shim keeps running.
	ShimLeft = finding.MustMatches("shim")
	// ReportedToNobody: containerd is up, but no client can get the exit code of the
	// container.
	ReportedToNobody = finding.MustMatches("exit-code by=nobody status=unreported")
	// CRISaysUnknown: CRI reports 255, and no other observer has a wrong status.
	CRISaysUnknown = finding.MustMatches("exit-code by=cri-status status=made-up-255")
	// MadeUp137: containerd reports a SIGKILL that was never sent, after the real status
	// (containerd#14113).
	MadeUp137 = finding.MustMatches(
		"exit-code by=TaskExit status=made-up-137", "event event=repeated topic=/tasks/exit repeat=other-status")
	// AlsoMadeUp137 are further reports that may have the 137. A race decides whether
	// TaskDelete comes from the cleanup or from the client's own Delete.
	AlsoMadeUp137 = finding.MustMatches(
		"exit-code by=TaskDelete status=made-up-137", "exit-code by=delete status=made-up-137",
		"exit-code by=shim-delete status=made-up-137",
		"event event=repeated topic=/tasks/delete repeat=other-status")
)
