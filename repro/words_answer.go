package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// addBug adds the title and the trigger of a bug.
func addBug(p *report.Part, b catalogue.Bug) {
	p.Add("it is:", b.Title)
	p.Add("trigger:", strings.TrimSpace(b.Trigger))
}

// releases adds the releases with and without a bug, and the workaround.
func (a Answer) releases(p *report.Part, b catalogue.Bug) {
	p.Add("fixed in:", a.fixText(b))
	p.Add("bad up to:", b.Releases.String())
	p.Add("workaround:", cmp.Or(strings.TrimSpace(b.Until), "none is known"))
}

// Parts returns the parts of the result, the most important first: the reproduced or
// found case, its fix, and the next steps.
func (a Answer) Parts() (all []report.Part) {
	if a.Best >= 0 {
		all = append(all, a.reproduced(a.Trials[a.Best]))
	}
	if a.Best < 0 {
		for _, b := range a.Unable {
			all = append(all, a.unable(b))
		}
	}
	if a.plainLike() != nil {
		all = append(all, a.plainPart())
	}
	if a.Search != nil {
		all = append(all, searchParts(a)...)
	}
	if len(a.Plain) > 0 && a.plainLike() == nil {
		all = append(all, a.plainPart())
	}
	if a.Best < 0 && len(a.Trials) > 0 && !a.found() && len(a.Unable) == 0 && a.plainLike() == nil {
		all = append(all, report.Part{Head: fmt.Sprintf("NOT REPRODUCED on %s: no bug that fits", a.Release)})
	}
	if p := a.tried(); len(p.Rows) > 0 {
		all = append(all, p)
	}
	if a.Best < 0 && !a.found() && a.plainLike() == nil {
		if p := a.help(); len(p.Rows) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// String returns the parts for a terminal. The tried bugs come first, because a reader
// of a terminal begins at the end.
func (a Answer) String() string {
	var b strings.Builder
	parts := a.Parts()
	if i := slices.IndexFunc(parts, func(p report.Part) bool { return p.Head == triedHead }); i > 0 {
		parts = slices.Concat(parts[i:i+1], parts[:i], parts[i+1:])
	}
	for _, p := range parts {
		b.WriteString(p.String())
	}
	fmt.Fprintf(&b, "conclusion: %s\n", quote.Line(a.Conclusion()))
	if a.Took > 0 {
		fmt.Fprintf(&b, "took %s\n", a.Took.Round(time.Second))
	}
	return b.String()
}

const triedHead = "also tried:"

// tried returns the bugs that were run, without the best trial.
func (a Answer) tried() report.Part {
	p := report.Part{Head: triedHead}
	for i, t := range a.Trials {
		if i != a.Best {
			p.Add(t.outcome(), t.String())
		}
	}
	return p
}

// outcome returns the result of a trial in one word.
func (t Trial) outcome() string {
	switch {
	case t.Like > 0:
		return "shown"
	case t.Shown > 0:
		return "unlike" // the bug showed, but not with the reported symptoms
	case t.Held == t.Runs:
		return "held"
	}
	return "not shown"
}

// String returns the result of the trial in one line.
func (t Trial) String() string {
	text := t.Bug
	if t.Case != t.Bug {
		text += " (" + t.Case + ")"
	}
	text += ": " + inRuns(t.Shown, t.Runs)
	switch {
	case t.Shown > 0 && t.Like == 0:
		text += ", and left objects that the report does not mention: " + quote.Cut(strings.Join(firstOf(t.Left), "; "), 200)
	case t.Shown == t.Runs:
	case t.Held == t.Runs:
		text = strings.TrimSuffix(text, inRuns(t.Shown, t.Runs)) + inRuns(t.Held, t.Runs)
	case t.Why != "":
		text += "; " + quote.Cut(strings.ReplaceAll(t.Why, "\n", "; "), 200)
	}
	if t.Like > 0 && len(t.Quoted) > 0 {
		text += fmt.Sprintf("; logs %d of the %s", len(t.Logged), quote.Count(len(t.Quoted), "quoted message"))
	}
	return text
}

func inRuns(n, of int) string {
	if of == 1 {
		return fmt.Sprintf("in %d of 1 run", n)
	}
	return fmt.Sprintf("in %d of %d runs", n, of)
}

func (a Answer) reproduced(t Trial) report.Part {
	bug := a.bugs[t.Bug]
	what := "REPRODUCED"
	if len(t.Missing()) > 0 {
		what = "SAME LEAK, BUT NOT THE QUOTED LOG"
	}
	p := report.Part{Head: fmt.Sprintf("%s: %s on containerd %s, %s", what, t.Bug, t.Release, inRuns(t.Like, t.Runs))}
	addBug(&p, bug)
	for _, left := range firstOf(t.Left) {
		p.Add("it left:", left)
	}
	if len(t.Quoted) > 0 {
		p.Add("log:", fmt.Sprintf("the runs logged %d of the %d quoted warnings and errors",
			len(t.Logged), len(t.Quoted)))
	}
	if missing := t.Missing(); len(missing) > 0 {
		p.Add("not logged:", linesText(missing)+" of the report")
	}
	if same := a.alike(); len(same) > 0 {
		p.Add("or else:", strings.Join(same, ", ")+": same remains, and the report does not tell them apart")
	}
	if as := a.untried(); len(as) > 0 {
		p.Add("or else:", strings.Join(as, ", ")+": known remains fit as well; not run")
	}
	a.releases(&p, bug)
	p.Add("see it:", fmt.Sprintf("sudo shimquake run --containerd %s %s", t.Release, t.Case))
	p.Add("read:", "shimquake show "+bug.ID+threads(bug))
	if t.Evidence != "" {
		p.Add("kept:", t.Evidence)
	}
	return p
}

// firstOf returns the first of some texts, without duplicates.
func firstOf(all []string) []string {
	all = slices.Compact(slices.Clone(all))
	return all[:min(len(all), maxThings)]
}

// unable returns the part for a bug without a case.
func (a Answer) unable(id string) report.Part {
	bug := a.bugs[id]
	p := report.Part{Head: fmt.Sprintf("NOT RUN: %s fits, but there is no case to run", id)}
	addBug(&p, bug)
	p.Add("no case:", strings.TrimSpace(bug.Tried))
	a.releases(&p, bug)
	p.Add("read:", "shimquake show "+bug.ID+threads(bug))
	return p
}

// alike returns the bugs that also showed, and that log as much of the quoted messages
// as the best trial.
func (a Answer) alike() (ids []string) {
	best := a.Trials[a.Best]
	for i, t := range a.Trials {
		if i != a.Best && t.Reproduced() && t.Alike == best.Alike {
			ids = append(ids, t.Bug)
		}
	}
	return ids
}

// untried returns the bugs that fit as well as the best trial, but were not run.
func (a Answer) untried() (ids []string) {
	fit := a.runnable()
	best := slices.IndexFunc(fit, func(f rank.Fit) bool { return f.ID == a.Trials[a.Best].Bug })
	for _, f := range fit {
		ran := slices.ContainsFunc(a.Trials, func(t Trial) bool { return t.Bug == f.ID })
		if best >= 0 && !ran && f.Score >= fit[best].Score {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func threads(b catalogue.Bug) string {
	for _, t := range b.Threads {
		if t.Word == "issue" || t.Word == "fix" {
			return "; " + t.URL()
		}
	}
	return ""
}

func (a Answer) fixText(b catalogue.Bug) string {
	fixed := b.Releases.FirstFixed(a.Release)
	if fixed == "" {
		return "no release yet"
	}
	text := fixed
	if own, other := affected.BranchOf(a.Release), affected.BranchOf(fixed); own != other {
		text += ", and no release of " + own
	}
	switch {
	case a.Fixed == nil:
		return text + " (not run)"
	case a.Fixed.Held == a.Fixed.Runs && a.Fixed.Runs > 0:
		return fmt.Sprintf("%s (run on %s: held, %d of %d)", text, fixed, a.Fixed.Held, a.Fixed.Runs)
	case a.Fixed.Shown > 0:
		return fmt.Sprintf("%s according to the catalogue, but SHOWN on %s: %d of %d", text, fixed, a.Fixed.Shown,
			a.Fixed.Runs)
	}
	return fmt.Sprintf("%s (run on %s: not sure: %s)", text, fixed, quote.Cut(a.Fixed.Why, 120))
}

// Help names the missing evidence, if no bug fits.
func (a Answer) Help() string {
	if len(a.Fits) > 0 && a.Fits[0].Clears {
		return ""
	}
	if p := a.help(); len(p.Rows) > 0 {
		return p.String()
	}
	return ""
}

// help names the missing evidence.
func (a Answer) help() (p report.Part) {
	if a.Report == nil {
		return p
	}
	r := *a.Report
	var ask []string
	if a.Release == "" {
		ask = append(ask, "containerd --version")
	}
	if !slices.ContainsFunc(r.BySort(read.Symptom), func(o read.Observation) bool { return !o.Logged }) {
		ask = append(ask, "sudo shimquake audit --bundle FILE on the node, and that FILE here",
			"ps -eo pid,ppid,lstart,args --forest | grep -A2 containerd-shim",
			"ctr -n NAMESPACE tasks ls; ctr -n NAMESPACE containers ls (NAMESPACE: k8s.io or moby)")
	}
	if r.Has(read.SandboxNameTaken) || r.Has(read.ContainerNameTaken) {
		ask = append(ask, "kill -USR1 $(pidof containerd), and its log after that: a create in flight reserves its name, "+
			"and its goroutine shows what it waits for")
	}
	if r.Has(read.ShimNotAsked) {
		ask = append(ask, "ctr -n NAMESPACE tasks ls, complete, with the command above it: it shows which shims are known")
	}
	if len(Quoted(r)) == 0 {
		ask = append(ask, "journalctl -u containerd, beginning before the first symptom")
	}
	p.Head = "to get further, add the output of these commands to the report:"
	for _, command := range ask {
		p.Add("", command)
	}
	return p
}
