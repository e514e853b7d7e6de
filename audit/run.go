package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Report is what an audit says.
type Report struct {
	Node     string    `json:"node"` // the host's name
	Taken    time.Time `json:"taken"`
	Took     Millis    `json:"tookMs"`
	Looks    int       `json:"looks"` // 1 where the first saw no suspect
	Suspects []Suspect `json:"suspects"`
	// Untrusted are the processes that look like a containerd of root, and are none.
	Untrusted []Untrusted `json:"untrusted,omitempty"`
	// Shims is how many there are, with and without a task.
	Shims   int      `json:"shims"`
	Daemons []Daemon `json:"containerds"`
	// Partial are the reasons why something may have been missed: a containerd that does
	// not answer, a file that cannot be read.
	Partial []string `json:"partial,omitempty"`

	last      *Node
	untrusted bool // Options.Untrusted
}

// Millis is a duration that is reported in milliseconds.
type Millis time.Duration

// MarshalJSON is a number.
func (m Millis) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d", time.Duration(m).Milliseconds()), nil
}

// UnmarshalJSON reads that number.
func (m *Millis) UnmarshalJSON(text []byte) error {
	var n int64
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*m = Millis(time.Duration(n) * time.Millisecond)
	return nil
}

// Run looks at the node, and where something is suspect again after Options.Settle: what
// is a suspect both times is reported. The error says that nothing could be seen.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	begun := time.Now()
	first, err := Look(ctx, o)
	if err != nil {
		return nil, err
	}
	found := Compare(first)
	r := &Report{Looks: 1, last: first, untrusted: o.Untrusted}
	if len(found) > 0 {
		settled := time.NewTimer(o.Settle)
		defer settled.Stop()
		select {
		case <-settled.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		second, err := Look(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			for i := range found {
				found[i].Sure = Likely
			}
			r.Partial = append(r.Partial, "what is reported was seen once, because the second look failed: "+err.Error())
		default:
			found = both(found, Compare(second))
			r.Looks, r.last = 2, second
		}
	}
	r.Suspects, r.Took = append([]Suspect{}, found...), Millis(time.Since(begun))
	if r.Node, err = os.Hostname(); err != nil {
		r.Node = "this node"
	}
	r.tell(r.last)
	return r, nil
}

// both are the suspects of the second look that the first had, too. A container that lost
// more in between is not one that is in motion: the head of what is left is compared.
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
	mostSuspects  = 10_000
	mostUntrusted = 1000
	mostNotes     = 100
)

// tell adds the facts of the node that are no suspects. Notes about containerds come
// first, because a user can cause a flood of others.
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
				r.Partial = append(r.Partial, fmt.Sprintf("containerd (process %d) was not asked, so the kernel's view is"+
					" compared alone: %s", d.PID, d.Error))
			}
		}
		if address := orphaned(v); address != "" {
			r.Partial = append(r.Partial, fmt.Sprintf("there are shims of a containerd at %s, which is not running:"+
				" the kernel's view is compared alone", address))
		}
		notes = append(notes, v.Notes...)
	}
	if len(r.Daemons) == 0 {
		r.Partial = append(r.Partial, "no containerd is running: the kernel's view is compared alone")
	}
	if n := len(r.Suspects); n > mostSuspects {
		r.Suspects = r.Suspects[:mostSuspects]
		r.Partial = append(r.Partial, fmt.Sprintf("%d suspects more are left out", n-mostSuspects))
	}
	r.Partial = append(r.Partial, notes...)
	if n := len(r.Untrusted); n > mostUntrusted {
		r.Untrusted = r.Untrusted[:mostUntrusted]
	}
	if n := len(r.Partial); n > mostNotes {
		r.Partial = append(r.Partial[:mostNotes], fmt.Sprintf("%d notes more are left out", n-mostNotes))
	}
}

// orphaned is the address of a containerd that is not there and has shims.
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
