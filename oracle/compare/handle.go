package compare

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// handles returns a finding for each kind of handle of which containerd, or a shim that
// kept running, holds more than before. It compares a restarted containerd with the
// earlier one, because both have just started and are idle. It returns nothing if another
// leak may be the reason.
func (d diff) handles(reported []finding.Finding) []finding.Finding {
	if ExplainedByLeak(reported) {
		return nil
	}
	var out []finding.Finding
	for _, now := range d.after.Handles {
		was, ok := d.holder(now)
		if !ok {
			continue // a new shim is a leak itself
		}
		for _, g := range groupsOf(now) {
			if g.kind == fact.AGoroutine && now.Shim != nil && !was.Collected {
				continue // the earlier goroutines of this shim are unknown
			}
			more := countOf(now, g) - max(countOf(was, g), mayHold(now, g))
			out = append(out, blame(now, g, was, more)...)
		}
	}
	return out
}

// group is a set of handles that are counted together: descriptors with the same target,
// and goroutines with the same first function. The current function of a goroutine does
// not count, because it changes.
type group struct{ kind, of string }

func groupOf(h inventory.Held) group { return group{h.Kind, cmp.Or(h.Root, h.Of)} }

// groupsOf returns the groups of a process's handles, in their order.
func groupsOf(h inventory.Handles) []group {
	var out []group
	for _, x := range h.Held {
		if g := groupOf(x); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// countOf returns the number of a process's handles in a group.
func countOf(h inventory.Handles, g group) int {
	n := 0
	for _, x := range h.Held {
		if groupOf(x) == g {
			n += x.Count
		}
	}
	return n
}

// blame returns findings about the new handles of a group, until they explain the whole
// surplus.
func blame(h inventory.Handles, g group, was inventory.Handles, more int) []finding.Finding {
	var out []finding.Finding
	for _, x := range h.Held {
		if groupOf(x) != g || more <= 0 {
			continue
		}
		before := 0
		for _, b := range was.Held {
			if groupOf(b) == g && b.Of == x.Of {
				before += b.Count
			}
		}
		if n := min(more, x.Count-before); n > 0 {
			more -= n
			out = append(out, handleFinding(h, x, n))
		}
	}
	return out
}

// ExplainedByLeak reports whether a leak may be the reason for new descriptors and
// goroutines of containerd. For a leaked shim, for example, containerd reads the log
// and waits for the task.
func ExplainedByLeak(reported []finding.Finding) bool {
	return slices.ContainsFunc(reported, func(f finding.Finding) bool { return f.Class.Kind().Holds })
}

// holder returns the earlier handles of the same holder. For containerd these may be of
// an earlier process.
func (d diff) holder(now inventory.Handles) (inventory.Handles, bool) {
	return inventory.First(d.before.Handles, func(h inventory.Handles) bool {
		if now.Shim == nil || h.Shim == nil {
			return now.Shim == nil && h.Shim == nil
		}
		return h.PID == now.PID && h.Start == now.Start
	})
}

func handleFinding(h inventory.Handles, of inventory.Held, more int) finding.Finding {
	f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassHandle,
		Subject: finding.Subject{PID: h.PID, Start: h.Start}, Facts: fact.Facts{
			fact.Kind: of.Kind, fact.Handle: of.Of, fact.Program: holderOf(h),
			fact.Count: strconv.Itoa(more), fact.Most: strconv.Itoa(of.Count - more), fact.Stack: of.Stack,
		}}
	if h.Shim != nil {
		f.Subject.Namespace, f.Subject.ID = h.Shim.Namespace, h.Shim.ID
	}
	return f
}

// AllowedHandle is a line of handles.yaml. It allows handles that a process opens at
// their first use, and keeps.
type AllowedHandle struct {
	// Holder is containerd or shim.
	Holder string `yaml:"holder"`
	Kind   string `yaml:"kind"`
	Of     string `yaml:"of"` // the target, or the first function of a goroutine
	// Most is the largest number in total, because a second use opens no more. Garbage is
	// set if the handles stay until the next garbage collection of Go. After it there may
	// be none. Before it there may be Most, or any number without Most.
	Most    int  `yaml:"most"`
	Garbage bool `yaml:"garbage"`
	// Why explains which code opens the handles, and when.
	Why string `yaml:"why"`
}

//go:embed handles.yaml
var mayText []byte

// may is parsed once, at the start. An invalid handles.yaml fails every test.
var may = mustReadMay(mayText)

func mustReadMay(text []byte) []AllowedHandle {
	var all []AllowedHandle
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		panic(fmt.Errorf("oracle/compare/handles.yaml: %w", err))
	}
	for _, m := range all {
		if m.Of == "" || m.Why == "" || m.Most < 1 && !m.Garbage || m.Holder != byContainerd && m.Holder != fact.ByShim ||
			!slices.Contains([]string{fact.ADescriptor, fact.AConnection, fact.AWatch, fact.AGoroutine}, m.Kind) {
			panic(fmt.Errorf("oracle/compare/handles.yaml: %v needs holder, kind, of, most or garbage, and why", m))
		}
	}
	return all
}

// mayHold returns the number of handles of a group that handles.yaml allows.
func mayHold(h inventory.Handles, g group) int {
	i := slices.IndexFunc(may, func(m AllowedHandle) bool {
		return m.Holder == holderOf(h) && m.Kind == g.kind && m.Of == g.of
	})
	switch {
	case i < 0:
		return 0
	case may[i].Garbage && h.Collected:
		return 0
	case may[i].Most == 0:
		return math.MaxInt
	}
	return may[i].Most
}

const byContainerd = "containerd"

// holderOf returns whether containerd or a shim holds the handles.
func holderOf(h inventory.Handles) string {
	if h.Shim != nil {
		return fact.ByShim
	}
	return byContainerd
}
