package triage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Cut is the report that a sweep with narrower options would have made of the same
// results.
type Cut struct {
	plan.Options
	Report
}

// WithCuts has the report of a sweep, and the report of each of its cuts.
type WithCuts struct {
	Report
	Cuts []Cut
}

// NewWithCuts makes the report of each cut of a whole sweep by one option and by two
// options. It also uses the replays of the whole sweep for the cuts.
func NewWithCuts(whole Report, h journal.Head, results []journal.Result, known []catalogue.Excuse) (WithCuts, error) {
	all := WithCuts{Report: whole}
	for _, o := range h.Plan.Cuts() {
		cut, of, err := journal.Cut(h, results, o)
		if err != nil {
			return all, err
		}
		r := NewReport(cut, of, known)
		r.learn(cut.Plan, whole, h.Plan)
		r.Settle(cut.Plan)
		all.Cuts = append(all.Cuts, Cut{o, r})
	}
	return all, nil
}

// Status returns the worst status of the sweep and its cuts: 1, 3 or 0.
func (w WithCuts) Status() int {
	worst := w.Report.Status()
	for _, c := range w.Cuts {
		if s := c.Status(); s == 1 || worst == 0 {
			worst = s
		}
	}
	return worst
}

// JSON writes an object for each cut, and then the objects of the report.
func (w WithCuts) JSON(to io.Writer) error {
	enc := json.NewEncoder(to)
	for _, c := range w.Cuts {
		if err := enc.Encode(struct {
			Cut     string   `json:"cut"` // the options
			New     int      `json:"new"`
			Gone    []string `json:"gone,omitempty"`
			Planned int      `json:"planned"`
			Fired   int      `json:"fired"`
			Status  int      `json:"status"`
		}{c.name(), c.NeedAttention(), c.Gone(), c.Planned, c.Fired, c.Status()}); err != nil {
			return err
		}
	}
	return w.Report.JSON(to)
}

// Says returns a line for each cut whose exit status is not 0, and a line with the
// counts.
func (w WithCuts) Says() (lines []string) {
	of := map[int]int{}
	for _, c := range w.Cuts {
		status := c.Status()
		if of[status]++; status != 0 {
			lines = append(lines, c.String())
		}
	}
	return append(lines, fmt.Sprintf("%d cuts: %d have nothing new and nothing gone, %d have, %d show too little",
		len(w.Cuts), of[0], of[1], of[3]))
}

// String returns the report, and the lines of the cuts.
func (w WithCuts) String() string {
	return w.Report.String() + "\n" + strings.Join(w.Says(), "\n") + "\n"
}

// learn copies the replays of the whole sweep into the report of a cut. A known finding
// gets its replays. A cluster of the cut gets the replays of the cluster that has all of
// its cases, although the names may differ.
func (r *Report) learn(cut plan.Plan, from Report, whole plan.Plan) {
	for i := range r.New {
		c := &r.New[i]
		for _, of := range slices.Concat(from.New, from.settled) {
			if of.has(whole, *c, cut) && (c.Shown == nil || of.Key() == c.Key()) {
				c.Shown = of.Shown
			}
		}
	}
	for i := range r.Known {
		for _, same := range from.Known {
			if same.ID == r.Known[i].ID {
				r.Known[i].Shown = same.Shown
			}
		}
	}
}

// has reports whether a cluster has all cases and some findings of a cut's cluster.
func (c Cluster) has(p plan.Plan, of Cluster, cut plan.Plan) bool {
	cases := map[string]bool{}
	for _, i := range c.Specs(p) {
		cases[p.Specs[i].Key()] = true
	}
	return slices.ContainsFunc(of.Left, func(s Signature) bool { return slices.Contains(c.Left, s) }) &&
		!slices.ContainsFunc(of.Specs(cut), func(i int) bool { return !cases[cut.Specs[i].Key()] })
}

// name returns the options of the cut, as a user would type them.
func (c Cut) name() string { return cmp.Or(c.Chosen(), "the default sweep") }

// String returns a line: "--path delete: 2 new (NAME, NAME), 1 gone (ID), 3 of 7 planned
// fired".
func (c Cut) String() string {
	named := func(n int, word string, names []string) string {
		if n == 0 {
			return "0 " + word
		}
		return fmt.Sprintf("%d %s (%s)", n, word, strings.Join(names, ", "))
	}
	var fresh []string
	for _, c := range c.Reproduced() {
		fresh = append(fresh, c.Name)
	}
	for _, k := range c.Exceeded() {
		fresh = append(fresh, "more of "+k.ID)
	}
	for _, often := range c.TooOften() {
		fresh = append(fresh, "residue "+often.String())
	}
	return fmt.Sprintf("%s: %s, %s, %d of %d planned fired", c.name(), named(c.NeedAttention(), "new", fresh),
		named(len(c.Gone()), "gone", c.Gone()), c.Fired, c.Planned)
}
