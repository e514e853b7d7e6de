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
func ParseShimArgs(argv []string) (a ShimArgs, isShim bool) {
	values := map[string]*string{"id": &a.ID, "namespace": &a.Namespace, "address": &a.Address}
	// The values of these flags could look like a flag or like the action.
	skip := []string{"bundle", "socket", "debug-socket", "publish-binary"}
	a.Action = Flags(argv, values, func(name string) bool { return values[name] == nil && !slices.Contains(skip, name) })
	if a.Action != "start" && a.Action != "delete" {
		a.Action = ""
	}
	return a, a.ID != "" && a.Namespace != ""
}

// Flags reads the flags of a command line, in the forms of Go's flag package. It stores
// the values of the flags in values, and returns the first argument that is not a flag,
// or "". isSwitch reports whether a flag needs no value.
func Flags(argv []string, values map[string]*string, isSwitch func(name string) bool) string {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if len(word) < 2 || word[0] != '-' || word == "--" {
			return word
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
		if !isSwitch(name) && !hasValue {
			if i++; i < len(argv) {
				value = argv[i]
			}
		}
		if to := values[name]; to != nil {
			*to = value
		}
	}
	return ""
}
