package inventory

import (
	"cmp"
	"slices"
	"strings"
)

// Handles are what a process of containerd's holds: its descriptors and its goroutines.
type Handles struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	// Shim is whose shim it is; nil: it is containerd itself.
	Shim *ShimArgs `json:"shim,omitempty"`
	// Collected is set where a shim has collected its garbage just before it was looked at.
	// Of one that was not asked to, no goroutines are known.
	Collected bool   `json:"collected,omitempty"`
	Held      []Held `json:"held,omitempty"`
}

// Held is how many of one kind a process holds.
type Held struct {
	Kind string `json:"kind"` // ADescriptor, AConnection, AWatch, AGoroutine
	// Of is what it leads to, without ids: "/run/containerd/s/*". Of a goroutine it is
	// the innermost function of containerd's own that it is in, or else its Root.
	Of string `json:"of"`
	// Root is the function that a goroutine has begun with.
	Root  string `json:"root,omitempty"`
	Count int    `json:"count"`
	// Stack are the functions of the last goroutine of them, the innermost first.
	Stack string `json:"stack,omitempty"`
}

// counted is a list of what was counted, in an order that is always the same.
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
