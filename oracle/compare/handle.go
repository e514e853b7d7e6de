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

// handles gives a finding for each kind of which containerd, or a shim that has lived all
// the time, holds more than before. A containerd that was started again meanwhile is
// compared with the one before: both have just started and have nothing to do.
// Nothing is said where something else is left that it may hold them for.
func (d diff) handles(reported []finding.Finding) []finding.Finding {
	if Owed(reported) {
		return nil
	}
	var out []finding.Finding
	for _, now := range d.after.Handles {
		was, ok := d.holder(now)
		if !ok {
			continue // a shim that was not there is a leak itself
		}
		for _, g := range groupsOf(now) {
			if g.kind == fact.AGoroutine && now.Shim != nil && !was.Collected {
				continue // of what it had before nothing is known
			}
			more := countOf(now, g) - max(countOf(was, g), mayHold(now, g))
			out = append(out, blame(now, g, was, more)...)
		}
	}
	return out
}

// group are handles that are counted together: descriptors that lead to the same, and
// goroutines that have begun alike. Where a goroutine is at the moment says nothing: one
// that collects garbage now and then is elsewhere then.
type group struct{ kind, of string }

func groupOf(h inventory.Held) group { return group{h.Kind, cmp.Or(h.Root, h.Of)} }

// groupsOf returns the groups of all that a process holds, in the order of that.
func groupsOf(h inventory.Handles) []group {
	var out []group
	for _, x := range h.Held {
		if g := groupOf(x); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// countOf returns how many of a group a process holds.
func countOf(h inventory.Handles, g group) int {
	n := 0
	for _, x := range h.Held {
		if groupOf(x) == g {
			n += x.Count
		}
	}
	return n
}

// blame says which of a group are more than were there, until all that are too many are
// named.
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

// Owed reports whether something is left that containerd may hold descriptors and
// goroutines for: it reads a shim's log, and waits for its task.
func Owed(reported []finding.Finding) bool {
	return slices.ContainsFunc(reported, func(f finding.Finding) bool { return slices.Contains(holdsHandles, f.Class) })
}

// holdsHandles are the classes of what containerd holds something for while it is there.
var holdsHandles = leakClassesThat(func(c leakClass) bool { return c.holds })

// holder is the same holder before: containerd, whichever process it was, or that shim.
func (d diff) holder(now inventory.Handles) (inventory.Handles, bool) {
	i := slices.IndexFunc(d.before.Handles, func(h inventory.Handles) bool {
		if now.Shim == nil || h.Shim == nil {
			return now.Shim == nil && h.Shim == nil
		}
		return h.PID == now.PID && h.Start == now.Start
	})
	if i < 0 {
		return inventory.Handles{}, false
	}
	return d.before.Handles[i], true
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

// May is what a process may hold though it did not before: it makes it when it is first
// used, and keeps it.
type May struct {
	// Holder is containerd or shim.
	Holder string `yaml:"holder"`
	Kind   string `yaml:"kind"`
	Of     string `yaml:"of"` // of a goroutine the function that it begins with
	// Most is how many there may be in all: a second use makes no more. Garbage: they are
	// what is no longer used, and stays until garbage is collected; then there may be none,
	// and before, without Most, any number.
	Most    int  `yaml:"most"`
	Garbage bool `yaml:"garbage"`
	// Why says who makes it, and when.
	Why string `yaml:"why"`
}

//go:embed handles.yaml
var mayText []byte

// may is checked by a test; a bad file ends the program at once.
var may = mustReadMay(mayText)

func mustReadMay(text []byte) []May {
	var all []May
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

// mayHold is how many of a group a process may hold, whatever it held before.
func mayHold(h inventory.Handles, g group) int {
	i := slices.IndexFunc(may, func(m May) bool { return m.Holder == holderOf(h) && m.Kind == g.kind && m.Of == g.of })
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

// holderOf returns whose handles they are.
func holderOf(h inventory.Handles) string {
	if h.Shim != nil {
		return fact.ByShim
	}
	return byContainerd
}
