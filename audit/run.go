package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Report is the result of an audit.
type Report struct {
	Node     string    `json:"node"` // the host's name
	Taken    time.Time `json:"taken"`
	Took     Millis    `json:"tookMs"`
	Scans    int       `json:"looks"` // 1 if the first look found no suspect
	Suspects []Suspect `json:"suspects"`
	// Untrusted are the processes that the audit does not trust as containerds.
	Untrusted []Untrusted `json:"untrusted,omitempty"`
	// Shims is the number of shims, with and without a task.
	Shims   int      `json:"shims"`
	Daemons []Daemon `json:"containerds"`
	// Partial are the reasons why the audit may have missed a leak. A containerd may not
	// have responded, or a file could not be read.
	Partial []string `json:"partial,omitempty"`

	last      *Node
	untrusted bool // Options.Untrusted
}

// Millis is a duration that JSON has in milliseconds.
type Millis time.Duration

// MarshalJSON returns the milliseconds as a number.
func (m Millis) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d", time.Duration(m).Milliseconds()), nil
}

// UnmarshalJSON reads a number of milliseconds.
func (m *Millis) UnmarshalJSON(text []byte) error {
	var n int64
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*m = Millis(time.Duration(n) * time.Millisecond)
	return nil
}

// Run looks at the node. If there are suspects, it looks again after Options.Settle, or
// later on a slow node (see settle). It reports only the suspects that both looks have.
// It returns an error if it could read nothing.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	begun := time.Now()
	first, err := Scan(ctx, o)
	if err != nil {
		return nil, err
	}
	found := Compare(first)
	r := &Report{Scans: 1, last: first, untrusted: o.Untrusted}
	if len(found) > 0 {
		settled := time.NewTimer(o.settle(time.Since(begun)))
		defer settled.Stop()
		select {
		case <-settled.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		second, err := Scan(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			for i := range found {
				found[i].Sure = Likely
			}
			r.Partial = append(r.Partial, "the suspects were seen only once, because the second look failed: "+err.Error())
		default:
			found = both(found, Compare(second))
			r.Scans, r.last = 2, second
		}
	}
	r.Suspects, r.Took = append([]Suspect{}, found...), Millis(time.Since(begun))
	if r.Node, err = os.Hostname(); err != nil {
		r.Node = "this node"
	}
	r.tell(r.last)
	return r, nil
}

// A second look waits for the time of slowLooks looks, but not longer than slowSettle.
const (
	slowLooks  = 5
	slowSettle = 5 * time.Second
)

// settle returns the time before the second look. A node on which the first look takes
// long also takes long to remove a container.
func (o Options) settle(look time.Duration) time.Duration {
	return max(o.Settle, min(slowLooks*look, slowSettle))
}

// both returns the suspects of the second look that the first look also had. It compares
// only the heads, because more objects of the same container may have become suspects in
// between.
func both(before, after []Suspect) []Suspect {
	was := map[string]Certainty{}
	for _, s := range before {
		was[s.key()] = s.Sure
	}
	out := []Suspect{}
	for _, s := range after {
		sure, ok := was[s.key()]
		if !ok {
			continue
		}
		if sure == Likely {
			s.Sure = Likely
		}
		out = append(out, s)
	}
	return out
}

// The limits of a report.
const (
	maxSuspects  = 10_000
	maxUntrusted = 1000
	maxNotes     = 100
)

// tell adds the rest of the node's state to the report. Notes about containerds come
// first, because a user can cause a flood of other notes.
func (r *Report) tell(n *Node) {
	r.Taken, r.Untrusted = n.Taken, n.Untrusted
	notes := slices.Clone(n.Notes)
	for _, v := range n.Views {
		r.Daemons = append(r.Daemons, v.Daemons...)
		for _, p := range v.Processes {
			if p.Serves() {
				r.Shims++
			}
		}
		for _, d := range v.Daemons {
			if !d.Answered {
				r.Partial = append(r.Partial, fmt.Sprintf(
					"containerd (process %d) was not asked, so the audit checked kernel state only: %s", d.PID, d.Error))
			}
		}
		if address := orphaned(v); address != "" {
			r.Partial = append(r.Partial, fmt.Sprintf("shims belong to a containerd at %s that is not running:"+
				" checked kernel state only", address))
		}
		notes = append(notes, v.Notes...)
	}
	if len(r.Daemons) == 0 {
		r.Partial = append(r.Partial, "no containerd is running: checked kernel state only")
	}
	if n := len(r.Suspects); n > maxSuspects {
		r.Suspects = r.Suspects[:maxSuspects]
		r.Partial = append(r.Partial, fmt.Sprintf("%d more suspects are left out", n-maxSuspects))
	}
	r.Partial = append(r.Partial, notes...)
	if n := len(r.Untrusted); n > maxUntrusted {
		r.Untrusted = r.Untrusted[:maxUntrusted]
	}
	if n := len(r.Partial); n > maxNotes {
		r.Partial = append(r.Partial[:maxNotes], fmt.Sprintf("%d more notes are left out", n-maxNotes))
	}
}

// orphaned returns the address of a containerd that does not run but has running shims.
func orphaned(v *View) string {
	for _, p := range v.Processes {
		if !p.Serves() || p.Address == "" || len(v.Daemons) == 0 {
			continue
		}
		there := false
		for _, d := range v.Daemons {
			there = there || d.Address == p.Address
		}
		if !there {
			return p.Address
		}
	}
	return ""
}
