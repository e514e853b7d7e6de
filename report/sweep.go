package report

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Sweep returns the report of a sweep. Each shard of a sweep has a folder of its own. The
// histories are read only while the report is written, because they may be too large for
// the memory.
func Sweep(h journal.Head, rep triage.Report, without map[string]harness.Verdict, dirs ...string) Data {
	d := Data{
		Title:   "Sweep of containerd " + rep.Version,
		Command: strings.TrimSpace("shimquake sweep --containerd " + rep.Version + " " + h.Plan.Options),
		Without: without,
	}
	d.Says = append(d.Says, fmt.Sprintf("%d cases were planned, %d executed; the fault happened in %d.",
		rep.Planned, rep.Executed, rep.Fired))
	d.Lacks = rep.Lacks()
	d.Clusters = clustersOf(h.Plan, rep)
	d.Cases = eachHistory(dirs, func(dir string, r journal.Result, k harness.Kept) (c Case, ok bool) {
		if r.On == "" {
			return sweptCase(dir, h.Plan.Specs[r.I], r, k), true
		}
		return c, false
	})
	return d
}

// eachHistory returns the cases that caseOf makes of the results in the journals of some
// folders. caseOf returns false to leave out a result.
func eachHistory(dirs []string, caseOf func(dir string, r journal.Result, k harness.Kept) (Case, bool)) (
	all iter.Seq2[Case, error]) {
	return func(yield func(Case, error) bool) {
		for _, dir := range dirs {
			err := journal.EachHistory(dir, func(r journal.Result, k harness.Kept) error {
				if c, ok := caseOf(dir, r, k); ok && !yield(c, nil) {
					return errStop
				}
				return nil
			})
			if errors.Is(err, errStop) || err != nil && !yield(Case{}, err) {
				return
			}
		}
	}
}

// errStop ends the walk over the histories when the writer stops reading.
var errStop = errors.New("no more cases are wanted")

// caseID returns the id of a plan's case.
func caseID(spec int) string { return fmt.Sprintf("case-%d", spec) }

func sweptCase(dir string, s plan.Spec, r journal.Result, k harness.Kept) Case {
	v := rejudge.Kept(k)
	v.Evidence = EvidenceIn(dir, r.Evidence)
	return Case{ID: caseID(r.I), Verdict: v, Workload: s.Workload, Fault: faults(s), Replay: Replay(v),
		Without: s.Workload}
}

func faults(s plan.Spec) string {
	text := s.Last().String()
	for _, f := range s.Faults[:max(len(s.Faults)-1, 0)] {
		text += " + " + f.String()
	}
	return text
}

// Replay returns the command that runs a verdict's case again, in any folder.
func Replay(v harness.Verdict) string {
	c := v.Case
	c.Containerd = cmp.Or(c.Containerd, v.Version)
	return replay(c)
}

// replay returns the command for a case, without the fields that a run ignores.
func replay(c harness.Case) string {
	c.Bugs, c.Issues = nil, nil
	return "shimquake run /dev/stdin <<'CASE'\n" + strings.TrimSpace(c.String()) + "\nCASE"
}

// maxCase limits the size of a case file, in bytes.
const maxCase = 1 << 20

// replayMinimised returns the command that runs a minimised case. The command contains
// the case, because the report may be read on another machine. If the file cannot be
// read, the command names it.
func replayMinimised(file, version string) string {
	text, err := foreign.ReadFile(file, maxCase)
	if err == nil {
		var c harness.Case
		if c, err = harness.ParseCase(file, text); err == nil {
			c.Containerd = cmp.Or(c.Containerd, version)
			return replay(c)
		}
	}
	return "shimquake run --containerd " + version + " " + file
}

// clustersOf returns the clusters of a sweep, the most important first.
func clustersOf(p plan.Plan, rep triage.Report) []Cluster {
	var all []Cluster
	for _, c := range rep.New {
		state := New
		if !c.Reproduced() {
			state = Unreproduced
		}
		says := []string{"when " + c.When + ", " + places(c)}
		title := words(c.Example(c.Left[0]))
		for _, l := range c.Left[1:] {
			if text := words(c.Example(l)); text != title && !slices.Contains(says, text) {
				says = append(says, text)
			}
		}
		for _, w := range c.Windows[:min(len(c.Windows), maxWindows)] {
			says = append(says, "at "+w.String())
		}
		out := Cluster{ID: c.Name, Key: c.Key(), State: state, Title: title, Says: says, Cases: idsOf(p, c)}
		if c.Shown != nil {
			shown := *c.Shown
			shown.File = filepath.Join("findings", filepath.Base(shown.File))
			out.Says = append(out.Says, "minimised: "+shown.String())
			out.Replay = replayMinimised(c.Shown.File, rep.Version)
		}
		all = append(all, out)
	}
	for _, c := range rep.TooOften() {
		all = append(all, Cluster{ID: strings.Trim("residue-"+c.ID+"-"+c.End, "-"), State: More,
			Title: "left more often than by chance: residue " + c.String()})
	}
	for _, k := range rep.Known {
		out := Cluster{ID: k.ID, State: Known, Title: k.Title, Severity: severityOf(k.ID), Cases: idsOf(p, k.Cluster)}
		if c, err := p.Specs[k.Simplest(p)[0]].Case(rep.Version); out.Severity == "" && err == nil { // no bug of its own
			out.Replay = replay(c)
		} else {
			out.Replay = "shimquake run --containerd " + rep.Version + " " + k.ID
		}
		out.Says = []string{places(k.Cluster) + k.By()}
		all = append(all, out)
	}
	SortClusters(all)
	return all
}

// places returns the number of a cluster's cases, and of their places.
func places(c triage.Cluster) string {
	return fmt.Sprintf("in %s, at %s", quote.Count(c.Cases, "case"), quote.Count(c.Points, "point"))
}

// severityOf returns the severity of a bug, or "" if the catalogue does not have it.
func severityOf(id string) catalogue.Severity {
	b, err := catalogue.FindBug(id)
	if err != nil {
		return ""
	}
	return b.Severity
}

// SortClusters puts the most important clusters first. It orders known clusters by
// severity, and then by their number of cases.
func SortClusters(all []Cluster) {
	order := []State{New, More, Gone, Unreproduced, Known}
	slices.SortStableFunc(all, func(a, b Cluster) int {
		known := 0
		if a.State == Known && b.State == Known {
			known = cmp.Or(catalogue.CompareSeverity(a.Severity, b.Severity), cmp.Compare(len(b.Cases), len(a.Cases)))
		}
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), known)
	})
}

// words returns a finding without the name of the object, which differs between the cases
// of a cluster.
func words(f finding.Finding) string {
	head := fmt.Sprintf("%s %s", f.Invariant, f.Class)
	switch {
	case f.Invariant == finding.Liveness:
		head = wording.Subject(f)
	case strings.HasPrefix(string(f.Class), string(f.Invariant)): // as in exit-code and event
		head = strings.ReplaceAll(string(f.Class), "-", " ")
	}
	return strings.TrimRight(fmt.Sprintf("%s: %s", head, wording.Reason(f)), ": ")
}

// maxWindows limits the functions that a cluster's lines name.
const maxWindows = 4

func idsOf(p plan.Plan, c triage.Cluster) []string {
	specs := c.Specs(p)
	ids := make([]string, len(specs))
	for i, s := range specs {
		ids[i] = caseID(s)
	}
	return ids
}
