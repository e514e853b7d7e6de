package harness

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle"
)

// Outcome is the answer of a Verdict.
type Outcome string

// The outcomes.
const (
	Held     Outcome = "held"     // every fault fired, and everything held
	Violated Outcome = "violated" // every fault fired, and something did not hold
	Invalid  Outcome = "invalid"  // a fault did not fire, or the machine cannot run the case: nothing is known
)

// Verdict is what Run returns.
type Verdict struct {
	Case    Case    `json:"-"`
	Name    string  `json:"case"`
	Outcome Outcome `json:"verdict"`
	// Version is the release that the containerd under test reported.
	Version string `json:"containerd"`
	// Why says why the verdict is invalid.
	Why string `json:"why,omitempty"`
	// Unable is set where the machine cannot run the case (no loop device, no controller, no strace): specs skip for it.
	Unable bool `json:"unable,omitempty"`
	// NoBoot is set where the verdict is invalid because containerd does not boot: it will not the next time either.
	NoBoot bool `json:"noBoot,omitempty"`
	// Findings are what does not hold, and known residues, which do not violate.
	Findings []oracle.Finding `json:"findings,omitempty"`
	// Firings say for each fault of the plan how it is known to have happened.
	Firings []Firing `json:"firings,omitempty"`
	// Exits is the ledger: what is true, and who told what.
	Truths []oracle.Truth       `json:"truths,omitempty"`
	Told   []oracle.Observation `json:"told,omitempty"`
	// NeverBegan are the containers whose payload never ran: there was no exit code to tell.
	NeverBegan []string `json:"neverBegan,omitempty"`
	// Timeline is what happened, in order.
	Timeline []Entry `json:"-"`
	// LeftOut is what this machine's configuration of containerd leaves out, with reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Evidence is the folder with the timeline, the logs and the case, of a case that did not hold.
	Evidence string        `json:"evidence,omitempty"`
	Took     time.Duration `json:"tookNs"`
	// CPU is the processor time that the world has used.
	CPU time.Duration `json:"cpuNs"`
}

// Firing is the proof that a fault happened.
type Firing struct {
	Fault failpoints.Fault `json:"-"`
	Text  string           `json:"fault"`
	// Count is how often it happened; 0 makes the verdict invalid.
	Count int `json:"count"`
	// Proof says how that is known: a count from the probe, a measured duration, a reaped pid.
	Proof string `json:"proof"`
	// Miss says of one that the probe did and that came to nothing what it came to.
	Miss Miss `json:"miss,omitempty"`
}

// Miss is why a fault that the probe did came to nothing. Neither can be helped by another try's timing alone.
type Miss string

// The misses that are known.
const (
	// MissUnheeded is a context that was ended, and at which nobody looked.
	MissUnheeded Miss = "unheeded"
	// MissOvertaken is a crash of a process that was about to end, and did so first.
	MissOvertaken Miss = "overtaken"
)

// Violations are the findings that violate.
func (v Verdict) Violations() []oracle.Finding { return oracle.Violations(v.Findings) }

// Has says whether something of that class violates. Suites that show a known bug assert which one it is.
func (v Verdict) Has(class oracle.Class) bool {
	for _, f := range v.Violations() {
		if f.Class == class {
			return true
		}
	}
	return false
}

// String tells the verdict to a person, in a few lines.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %s on containerd %s in %s\n", v.Outcome, v.Name, v.Version, v.Took.Round(time.Millisecond))
	if v.Why != "" {
		fmt.Fprintf(&b, "  why:   %s\n", strings.ReplaceAll(v.Why, "\n", "\n         "))
	}
	for _, f := range v.Firings {
		fmt.Fprintf(&b, "  fault: %s: %s\n", f.Text, f.Proof)
	}
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "  found: %s\n", f)
	}
	for _, t := range v.Truths {
		fmt.Fprintf(&b, "  exit:  %s ended with %d (%s)%s\n", t.Container, t.Status, t.Source, cmp.Or(v.said(t.Container), "; told: by nobody"))
	}
	for _, id := range v.NeverBegan {
		fmt.Fprintf(&b, "  exit:  the payload of %s never began\n", id)
	}
	text := longID.ReplaceAllString(b.String(), "$1")
	if v.Evidence != "" {
		text += fmt.Sprintf("  kept:  %s\n", v.Evidence)
	}
	return text
}

// longID is an id that CRI made up, or a hashed socket's name; people tell them apart by their first 12 digits. The JSON form and the evidence have
// all 64.
var longID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// said sums up what the observers of a container told, each that said the same once.
func (v Verdict) said(container string) string {
	var parts []string
	for _, o := range v.Told {
		text := fmt.Sprintf("%s %d", o.Observer, o.Status)
		if o.Container == container && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; told: " + strings.Join(parts, ", ")
}
