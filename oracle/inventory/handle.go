package inventory

import (
	"cmp"
	"slices"
	"strings"
)

// Handles are the open descriptors and the goroutines of a containerd or shim process.
type Handles struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	// Shim identifies the shim. It is nil for containerd.
	Shim *ShimArgs `json:"shim,omitempty"`
	// Collected is set if the shim collected its garbage, and returned its goroutines.
	// Otherwise its goroutines are unknown.
	Collected bool   `json:"collected,omitempty"`
	Held      []Held `json:"held,omitempty"`
}

// Held is the number of equal handles of a process.
type Held struct {
	Kind string `json:"kind"` // ADescriptor, AConnection, AWatch, AGoroutine
	// Of is the target of a descriptor, without ids: "/run/containerd/s/*". For a
	// goroutine it is the innermost function that is containerd's own, or else Root.
	Of string `json:"of"`
	// Root is the first function of a goroutine.
	Root  string `json:"root,omitempty"`
	Count int    `json:"count"`
	// Stack has the functions of one of these goroutines, the innermost first.
	Stack string `json:"stack,omitempty"`
}

// counted returns a list of counts in a fixed order.
func counted(counts map[Held]int) []Held {
	out := make([]Held, 0, len(counts))
	for h, n := range counts {
		h.Count = n
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Held) int {
		return cmp.Or(
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Of, b.Of), strings.Compare(a.Root, b.Root),
		)
	})
	return out
}
