// Package scan reads the state of a containerd and its shims from the kernel and the
// disk. It only reads. Both the cases and the audit of a live node use it.
package scan

import (
	"slices"
	"strings"
)

// ShimArgs are the arguments of a shim's command line. All generations of containerd
// since 1.2 start a shim as `BINARY -namespace NS -id ID -address ADDR [-debug] [-bundle
// DIR] [start|delete]` (pkg/shim in containerd).
type ShimArgs struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// Action is "start" or "delete" for a short-lived helper process, and "" for the shim
	// itself.
	Action string `json:"action,omitempty"`
	// Address is the address of its containerd.
	Address string `json:"-"`
}

// ParseShimArgs reports whether argv is the command line of a shim. The name of the
// binary does not decide, because a runtime can be any binary. The flags -id and
// -namespace decide: no other program has both. Flags have the forms of Go's flag
// package: -id X, --id X, -id=X.
func ParseShimArgs(argv []string) (ShimArgs, bool) {
	var a ShimArgs
	if len(argv) < 2 {
		return a, false
	}
	values := map[string]*string{"id": &a.ID, "namespace": &a.Namespace, "address": &a.Address}
	// The values of these flags could look like a flag or like the action.
	skip := []string{"bundle", "socket", "debug-socket", "publish-binary"}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if word == "" || word[0] != '-' || word == "-" || word == "--" {
			if word == "start" || word == "delete" {
				a.Action = word
			}
			break // Go's flag package stops at the first argument that is not a flag
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
