package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

// Report is the result of an audit.
type Report struct {
	Node     string    `json:"node"` // the host's name
	Taken    time.Time `json:"taken"`
	Took     int64     `json:"tookMs"`
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

// Run looks at the node. If there are suspects, it looks again after Options.Settle, or
// later on a slow node (see settle). It reports the suspects that both looks have. A
// suspect of one look alone is likely, if the other look did not read everything.
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
		select {
		case <-time.After(o.settle(time.Since(begun))):
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
			var once int
			found, once = both(found, Compare(second), first, second)
			r.Scans, r.last = 2, second
			if once > 0 {
				r.Partial = append(r.Partial, fmt.Sprintf("%s seen only once, because the other look did not read everything",
					quote.Count(once, "suspect")))
			}
		}
	}
	r.Suspects = append([]Suspect{}, found...)
	r.advise(ctx, o)
	r.Took = time.Since(begun).Milliseconds()
	if r.Node, err = os.Hostname(); err != nil {
		r.Node = "this node"
	}
	r.tell(r.last)
	return r, nil
}

// advise adds the advice, and the command lines of the processes that may serve. A user
// can make the reading of a command line hang.
func (r *Report) advise(ctx context.Context, o Options) {
	ctx, cancel := context.WithTimeout(ctx, evidenceTime)
	defer cancel()
	for i := range r.Suspects {
		s := &r.Suspects[i]
		s.Check, s.Do = s.advice()
		for j := range s.Living[:min(len(s.Living), maxLiving)] {
			if i >= maxProcesses {
				break
			}
			name := filepath.Join(o.Proc, strconv.Itoa(s.Living[j].PID), "cmdline")
			text, err := attempt(ctx, name, o.hangs, func(func(string)) ([]byte, error) {
				return foreign.ReadFile(name, maxFile)
			})
			if words := strings.TrimRight(string(text), "\x00"); err == nil && words != "" {
				s.Living[j].Command = quote.Cut(strings.ReplaceAll(words, "\x00", " "), maxText)
			}
		}
	}
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

// both returns the suspects of two looks. A suspect of one look alone is likely, if the
// other look did not read as much of its view. Otherwise it is left out. once counts the
// suspects of one look alone. It compares only the heads, because more objects of the
// same container may have become suspects in between.
func both(before, after []Suspect, first, second *Node) (out []Suspect, once int) {
	was, again := map[string]Certainty{}, map[string]bool{}
	for _, s := range before {
		was[s.key()] = s.Sure
	}
	for _, s := range after {
		sure, ok := was[s.key()]
		again[s.key()] = true
		if !ok && !second.readMore(first, s.View) {
			continue
		}
		if !ok {
			once++
		}
		if sure != Certain {
			s.Sure = Likely
		}
		out = append(out, s)
	}
	for _, s := range before {
		if !again[s.key()] && first.readMore(second, s.View) && !second.hasEnded(s) {
			once++
			s.Sure = Likely
			out = append(out, s)
		}
	}
	order(out)
	return out, once
}

// readMore reports whether a look may have read more of a view than the other look.
func (n *Node) readMore(other *Node, view string) bool {
	mine, theirs := n.extent(view), other.extent(view)
	if theirs == nil {
		return other.late
	}
	return theirs.cut || mine.Complete && !theirs.Complete || theirs.Blind && !mine.Blind
}

// hasEnded reports whether the process of a suspect is missing in a later look.
func (n *Node) hasEnded(s Suspect) bool {
	isRunning := func(p Process) bool { return p.PID == s.PID && p.Start == s.Start }
	return s.PID != 0 && n.extent(s.View) != nil && !slices.ContainsFunc(n.Views, func(v *View) bool {
		return v.Name == s.View && (v.Blind || slices.ContainsFunc(v.Processes, isRunning))
	})
}

// extent returns how much of the views with a name was read, or nil if there is none.
func (n *Node) extent(view string) (all *View) {
	for _, v := range n.Views {
		if v.Name != view {
			continue
		}
		if all == nil {
			all = &View{Complete: true}
		}
		all.cut, all.Complete, all.Blind = all.cut || v.cut, all.Complete && v.Complete, all.Blind || v.Blind
	}
	return all
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
				why := d.Error
				if slices.ContainsFunc(v.Processes, func(p Process) bool { return p.PID == d.PID && p.State == "T" }) {
					why += "; SIGSTOP has frozen it: find the sender, then kill -CONT it"
				}
				r.Partial = append(r.Partial, fmt.Sprintf(
					"containerd (process %d) was not asked, so the audit checked kernel state only: %s", d.PID, why))
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
		if p.Serves() && p.Shim.Address != "" && len(v.Daemons) > 0 &&
			!slices.ContainsFunc(v.Daemons, func(d Daemon) bool { return d.Address == p.Shim.Address }) {
			return p.Shim.Address
		}
	}
	return ""
}
