// Package scan reads what the kernel and the disk show of a containerd and its shims. It
// only reads, and knows neither worlds nor verdicts: cases and the audit of a live node
// look with the same eyes.
package scan

import (
	"slices"
	"strings"
)

// ShimArgs is what a shim's command line tells. All generations of containerd since 1.2
// start a shim as `BINARY -namespace NS -id ID -address ADDR [-debug] [-bundle DIR]
// [start|delete]` (pkg/shim in containerd).
type ShimArgs struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// Action is "start" or "delete" for the short-lived helpers, "" for the shim that
	// serves.
	Action string `json:"action,omitempty"`
}

// ParseShimArgs reports whether argv is a shim's. The name of the binary alone is no
// proof: both -id and -namespace must be there, as only a shim has both and any binary
// name can be configured as a runtime. Flags may be written as Go's flag package takes
// them: -id X, --id X, -id=X.
func ParseShimArgs(argv []string) (ShimArgs, bool) {
	var a ShimArgs
	if len(argv) < 2 {
		return a, false
	}
	values := map[string]*string{"id": &a.ID, "namespace": &a.Namespace}
	// These take a value, which must not be read as a flag or as the action.
	skip := []string{"address", "bundle", "socket", "debug-socket", "publish-binary"}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if word == "" || word[0] != '-' || word == "-" || word == "--" {
			if word == "start" || word == "delete" {
				a.Action = word
			}
			break // Go's flag package ends at the first word that is no flag
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		into, known := values[name]
		switch {
		case known && hasValue:
			*into = value
		case known && i+1 < len(argv):
			i++
			*into = argv[i]
		case !hasValue && slices.Contains(skip, name):
			i++
		}
	}
	return a, a.ID != "" && a.Namespace != ""
}
