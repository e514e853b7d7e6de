package spec

import "github.com/shimquake/shimquake/oracle/finding"

// What several suites know of releases, for harness.Bad.
var (
	// ShimLeft: a shim lives on.
	ShimLeft = finding.MustMatches("shim")
	// ReportedToNobody: containerd is up, and no client can learn how the container ended.
	ReportedToNobody = finding.MustMatches("exit-code by=nobody status=unreported")
	// CRISaysUnknown: CRI tells 255, and nobody else a wrong status.
	CRISaysUnknown = finding.MustMatches("exit-code by=cri-status status=made-up-255")
	// MadeUp137: containerd tells of a SIGKILL that nobody sent, after the real status was
	// reported (containerd#14113).
	MadeUp137 = finding.MustMatches(
		"exit-code by=TaskExit status=made-up-137", "event event=repeated topic=/tasks/exit repeat=other-status")
	// AlsoMadeUp137 is who may tell it besides: whether TaskDelete comes from the
	// clean-up or from the client's own Delete is a race.
	AlsoMadeUp137 = finding.MustMatches(
		"exit-code by=TaskDelete status=made-up-137", "exit-code by=delete status=made-up-137",
		"exit-code by=shim-delete status=made-up-137",
		"event event=repeated topic=/tasks/delete repeat=other-status")
)
