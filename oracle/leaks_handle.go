package oracle

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// handles gives a finding for each kind of which containerd, or a shim that has lived all
// the time, holds more than before. A containerd that was started again meanwhile is
// compared with the one before: both have just started and have nothing to do.
func (d diff) handles() []Finding {
	if d.owed() {
		return nil
	}
	var out []Finding
	for _, now := range d.after.Handles {
		was, ok := d.holder(now)
		if !ok {
			continue // a shim that was not there is a leak itself
		}
		for _, h := range now.Held {
			if most := max(was.count(h), daemonMay(now, h)); h.Count > most {
				out = append(out, now.finding(h, most))
			}
		}
	}
	return out
}

// owed reports whether something is left that containerd may hold descriptors and
// goroutines for: it reads a shim's log, and waits for its task.
func (d diff) owed() bool {
	for _, of := range [][]Finding{d.processes(), d.daemon()} {
		if slices.ContainsFunc(of, func(f Finding) bool { return slices.Contains(holdsHandles, f.Class) }) {
			return true
		}
	}
	return false
}

// holdsHandles are the classes of what containerd holds something for while it is there.
var holdsHandles = []Class{ClassShim, ClassProcess, ClassTask, ClassContainer, ClassSandbox}

// holder is the same holder before: containerd, whichever process it was, or that shim.
func (d diff) holder(now Handles) (Handles, bool) {
	i := slices.IndexFunc(d.before.Handles, func(h Handles) bool {
		if now.Shim == nil || h.Shim == nil {
			return now.Shim == nil && h.Shim == nil
		}
		return h.PID == now.PID && h.Start == now.Start
	})
	if i < 0 {
		return Handles{}, false
	}
	return d.before.Handles[i], true
}

// count is how many there are of what another holds, too.
func (h Handles) count(of Held) int {
	n := 0
	for _, x := range h.Held {
		if x.Kind == of.Kind && x.Of == of.Of {
			n += x.Count
		}
	}
	return n
}

func (h Handles) finding(of Held, most int) Finding {
	f := Finding{Invariant: Leak, Class: ClassHandle, Subject: Subject{PID: h.PID, Start: h.Start}, Facts: Facts{
		FactKind: of.Kind, FactHandle: of.Of, FactProgram: "containerd",
		FactCount: strconv.Itoa(of.Count - most), FactMost: strconv.Itoa(most), FactStack: of.Stack,
	}}
	if h.Shim != nil {
		f.Facts[FactProgram] = ByShim
		f.Subject.Namespace, f.Subject.ID, f.Subject.Name = h.Shim.Namespace, h.Shim.ID, ByShim
	}
	return f
}

// May is what containerd may hold though it did not when it had just started: it makes it
// when it is first used, and keeps it.
type May struct {
	Kind string `yaml:"kind"`
	Of   string `yaml:"of"`
	// Most is how many there may be in all: a second use makes no more.
	Most int `yaml:"most"`
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
		panic(fmt.Errorf("oracle/handles.yaml: %w", err))
	}
	for _, m := range all {
		if m.Of == "" || m.Why == "" || m.Most < 1 ||
			!slices.Contains([]string{ADescriptor, AConnection, AWatch, AGoroutine}, m.Kind) {
			panic(fmt.Errorf("oracle/handles.yaml: %v needs kind, of, most and why", m))
		}
	}
	return all
}

// daemonMay is how many containerd may hold of a kind, whatever it held before.
func daemonMay(h Handles, of Held) int {
	i := slices.IndexFunc(may, func(m May) bool { return h.Shim == nil && m.Kind == of.Kind && m.Of == of.Of })
	if i < 0 {
		return 0
	}
	return may[i].Most
}
