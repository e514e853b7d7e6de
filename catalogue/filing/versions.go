package filing

import (
	"strings"

	"github.com/shimquake/shimquake/catalogue"
)

// versions returns the release of the recorded run, how it was built, and which other
// releases are affected.
func versions(f Filing, r Recorded) string {
	return "containerd " + r.Release + ", built with `go build` from the Go module of the tag, so " +
		"`containerd --version` shows no commit. For the recorded run the functions of containerd and of the shim were " +
		"instrumented with trace points.\n\n- " +
		strings.ReplaceAll(catalogue.ReleasesText(f.Bug.Releases), "\n", "\n- ")
}
