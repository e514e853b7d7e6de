package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
)

// seen are the words for what a report tells.
var seen = map[read.What]string{
	read.OrphanShim:      "a shim of a container that containerd does not know",
	read.ShimWithoutPod:  "a shim of a pod that CRI does not list",
	read.ShimNotAsked:    "a shim, and nothing says whether containerd knows its container",
	read.ChildlessShim:   "a shim without children",
	read.GrowingShims:    "the number of shims grows",
	read.UnknownTask:     "a task whose state is UNKNOWN",
	read.TaskNoProcess:   "a task whose process is gone",
	read.LiveProcess:     "a container's process runs on without its shim",
	read.BundleLeft:      "a bundle of a container that containerd does not know",
	read.HiddenBundle:    "a hidden bundle, half removed",
	read.SocketLeft:      "a shim's socket without a listener",
	read.MountLeft:       "a mount of a container that containerd does not know",
	read.CgroupLeft:      "a cgroup that is left",
	read.RuncLeft:        "runc's state of a container that is gone",
	read.SandboxLeft:     "a sandbox that is left",
	read.ContainerLeft:   "a container without a task",
	read.Status255:       "CRI says 255",
	read.Status137:       "137 is told in place of another status",
	read.StatusChanged:   "an exit is told twice, with two statuses",
	read.ExitTwice:       "an exit is told twice",
	read.EventWithoutPID: "an event without a pid",
	read.EventMissing:    "an event that never came",
	read.StillRunning:    "docker takes the container for running",
	read.StartError:      "StartError, 128",
	read.RunningTask:     "a removal is refused: the task runs",
	read.RemovalFails:    "a removal fails",
	read.NameReserved:    "a name is refused: it is reserved",
	read.BootFails:       "containerd does not come up",
	read.IDInUse:         "an id is refused: it is in use",
	read.Descriptors:     "file descriptors pile up",
	read.ShimPanics:      "a shim panics",
	read.Deadlock:        "containerd does not answer",

	read.ContainerdDied:    "containerd died",
	read.ContainerdStarted: "containerd was restarted",
	read.ShimDied:          "a shim died",
	read.PauseDied:         "a pause container died",
	read.SlowDisk:          "the disk was slow",
	read.ExitNotHandled:    "an exit was not handled in time",
	read.FullDisk:          "the disk was full",
	read.NoDescriptors:     "too many files were open",
	read.ClientGaveUp:      "a client gave up, or was cancelled",
	read.ShutdownFailed:    "a shim's shutdown failed",
	read.ConnectionClosed:  "the connection to a shim was closed",
	read.NotLoaded:         "a shim could not be loaded",
	read.NRIRefused:        "an NRI plugin refused",
	read.NetworkFailed:     "the pod's network failed",
	read.ManyExecs:         "many execs",
	read.Churn:             "pods come and go",
	read.HeldStdout:        "a child holds the output open",
	read.HostShutdown:      "the host was shut down",
	read.ContainerdStayed:  "containerd was not restarted",
	read.LoggedMessage:     "a logged message",
	read.Sentence:          "a sentence",
	read.NamedFunction:     "a function of containerd's",
	read.NamedIssue:        "an issue is named",
	read.ImagePull:         "an image cannot be pulled",
	read.OtherTrouble:      "other trouble",
}

// why are the words for a reason, with its sign.
var why = map[rank.Why]string{
	rank.Named:       "+ the report names it: %s",
	rank.Explains:    "+ it leaves that: %s",
	rank.Brings:      "+ that comes with what it leaves: %s",
	rank.Logs:        "+ it is known to log that: %s",
	rank.Needs:       "+ that sets it off: %s",
	rank.Nearly:      "+ that is much like what sets it off: %s",
	rank.AtPlace:     "+ that is where it is: %s",
	rank.Unexplained: "- it does not leave that: %s",
	rank.Unneeded:    "- it does not take that: %s",
	rank.Perhaps:     "- it does not take what somebody says: %s",
	rank.Untold:      "- it takes what the report does not tell: %s",
	rank.Denied:      "- the report says that what it takes did not happen: %s",
	rank.Conflicts:   "- it leaves that in another state: %s",
	rank.OtherOne:    "- that release does not have it (%s)",
	rank.OtherClient: "- it needs kubelet's way to containerd, not that of %s",
	rank.Doubtful:    "- it is a lead: no function is known to fail so%s",
	rank.Harmless:    "- it is harmless%s",
}

// ReadText says what was understood.
func (a Answer) ReadText() string {
	var b strings.Builder
	r := a.Report
	fmt.Fprintf(&b, "read: %s of %s understood", count(r.Understood, "line"), fmt.Sprint(r.Lines))
	if r.Client != "" {
		fmt.Fprintf(&b, "; %s runs the containers", r.Client)
	}
	b.WriteString("\n")
	if r.Cut > 0 {
		fmt.Fprintf(&b, "  not read: %d bytes beyond the first %d MiB, or of very long lines\n", r.Cut, read.MostBytes>>20)
	}
	for _, v := range r.Versions {
		how := "is mentioned"
		if v.Said {
			how = "is what runs"
		}
		fmt.Fprintf(&b, "  %-14s containerd %s %s\n", fmt.Sprintf("line %d", v.Line), v.Release, how)
	}
	if len(r.Versions) > 1 {
		fmt.Fprintf(&b, "  %-14s taken: %s; --containerd chooses another\n", "", r.Version())
	}
	for _, g := range group(r.Seen) {
		b.WriteString(g)
	}
	if r.Others > 0 {
		fmt.Fprintf(&b, "  not understood: %s", count(r.Others, "line"))
		if len(r.Other) < r.Others {
			fmt.Fprintf(&b, ", the first %d of them", len(r.Other))
		}
		b.WriteString("\n")
		for _, l := range r.Other {
			fmt.Fprintf(&b, "    %5d  %s\n", l.N, clip(l.Text, 90))
		}
	}
	return b.String()
}

// mostThings is how many ids or messages of a kind are told.
const mostThings = 3

// group are lines of words, a kind of thing each.
func group(all []read.Observation) (out []string) {
	done := map[read.What]bool{}
	for _, o := range all {
		if done[o.What] || o.What == read.Sentence {
			continue
		}
		done[o.What] = true
		var lines []int
		var things []string
		n := 0
		for _, p := range all {
			if p.What != o.What {
				continue
			}
			n++
			lines = append(lines, p.Lines...)
			if thing := cmp.Or(clip(p.Raw, 60), p.Text, short(p.ID)); thing != "" && len(things) < mostThings &&
				!slices.Contains(things, thing) {
				things = append(things, thing)
			}
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
		text := seen[o.What]
		if n > 1 {
			text = fmt.Sprintf("%d x %s", n, text)
		}
		if len(things) > 0 {
			text += ": " + strings.Join(things, " | ")
			if n > len(things) {
				text += " ..."
			}
		}
		out = append(out, fmt.Sprintf("  %-14s %s\n", linesText(lines), text))
	}
	return out
}

func linesText(lines []int) string {
	if len(lines) > mostThings {
		return rank.Reason{Lines: lines[:mostThings]}.LinesText() + "..."
	}
	return rank.Reason{Lines: lines}.LinesText()
}

// shownFits is how many bugs are told of.
const shownFits = 3

// FitsText says which bugs fit, and why.
func (a Answer) FitsText() string {
	var b strings.Builder
	n := 0
	for _, f := range a.Fits {
		if !f.Clears {
			break
		}
		if n++; n > shownFits {
			continue
		}
		fmt.Fprintf(&b, "%2d. %s (score %d): %s\n", n, f.ID, f.Score, f.Bug.Title)
		for _, r := range f.Reasons {
			fmt.Fprintf(&b, "      %s\n", reasonText(r))
		}
	}
	switch {
	case n == 0:
		return "none of the known bugs fits\n" + a.nearest()
	case n > shownFits:
		fmt.Fprintf(&b, "    and %d more that fit less\n", n-shownFits)
	}
	return fmt.Sprintf("known bugs that fit%s, the best first:\n", on(a.Release)) + b.String()
}

func on(release string) string {
	if release == "" {
		return ""
	}
	return " " + release
}

// nearest says of the best of those that do not fit why not.
func (a Answer) nearest() string {
	if len(a.Fits) == 0 || a.Fits[0].Score <= -50 || len(search.Targets(*a.Report)) == 0 {
		return ""
	}
	f := a.Fits[0]
	var b strings.Builder
	fmt.Fprintf(&b, "the nearest is %s (score %d): %s\n", f.ID, f.Score, f.Bug.Title)
	for _, r := range f.Reasons {
		fmt.Fprintf(&b, "      %s\n", reasonText(r))
	}
	return b.String()
}

func reasonText(r rank.Reason) string {
	what := seen[r.What]
	if r.Is != "" {
		what = strings.TrimPrefix(what+" ["+clip(r.Is, 70)+"]", " ")
	}
	if r.What == "" {
		what = r.Is
	}
	text := fmt.Sprintf(why[r.Why], what)
	if lines := r.LinesText(); lines != "" {
		text += " (" + lines + ")"
	}
	return text
}

// Part is a part of the answer: what it comes to, and what belongs to that.
type Part struct {
	Head string
	Rows []Row
	// Text is a case in YAML.
	Text string
}

// Row is a line of a part with its name.
type Row struct{ Name, Text string }

func (p *Part) row(name, text string) { p.Rows = append(p.Rows, Row{name, text}) }

func (p Part) String() string {
	var b strings.Builder
	b.WriteString(p.Head + "\n")
	for _, r := range p.Rows {
		if r.Name == "" {
			fmt.Fprintf(&b, "  %s\n", r.Text)
			continue
		}
		fmt.Fprintf(&b, "  %-11s %s\n", r.Name, r.Text)
	}
	if p.Text != "" {
		fmt.Fprintf(&b, "\n%s\n\n", strings.TrimSpace(p.Text))
	}
	return b.String()
}

// Parts are what was reproduced or found, what fixes it and what to do; what matters most
// comes first.
func (a Answer) Parts() (all []Part) {
	if a.Best >= 0 {
		all = append(all, a.reproduced(a.Trials[a.Best]))
	}
	if a.Best < 0 {
		for _, b := range a.Unable {
			all = append(all, a.unable(b))
		}
	}
	if a.Search != nil {
		all = append(all, searchParts(a)...)
	}
	if a.Best < 0 && len(a.Trials) > 0 && !a.found() && len(a.Unable) == 0 {
		all = append(all, Part{Head: fmt.Sprintf("NOT REPRODUCED on %s: no bug that fits", a.Release)})
	}
	if p := a.tried(); len(p.Rows) > 0 {
		all = append(all, p)
	}
	if a.Best < 0 && !a.found() {
		if p := a.help(); len(p.Rows) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// String are the parts in a terminal, where what is last is read first, but what would
// help, which is to be done next.
func (a Answer) String() string {
	var b strings.Builder
	parts := a.Parts()
	if i := slices.IndexFunc(parts, func(p Part) bool { return p.Head == triedHead }); i > 0 {
		parts = slices.Concat(parts[i:i+1], parts[:i], parts[i+1:])
	}
	for _, p := range parts {
		b.WriteString(p.String())
	}
	if a.Took > 0 {
		fmt.Fprintf(&b, "took %s\n", a.Took.Round(time.Second))
	}
	return b.String()
}

const triedHead = "tried besides:"

// tried are the bugs that were run and are not the answer.
func (a Answer) tried() Part {
	p := Part{Head: triedHead}
	for i, t := range a.Trials {
		if i != a.Best {
			p.row(t.outcome(), t.String())
		}
	}
	return p
}

// outcome is what came of a trial, in a word.
func (t Trial) outcome() string {
	switch {
	case t.Shown > 0:
		return "shown"
	case t.Held == t.Runs:
		return "held"
	}
	return "not shown"
}

// String is what came of the trial, in a line.
func (t Trial) String() string {
	text := t.Bug
	if t.Case != t.Bug {
		text += " (" + t.Case + ")"
	}
	text += ": " + inRuns(t.Shown, t.Runs)
	switch {
	case t.Shown == t.Runs:
	case t.Held == t.Runs:
		text = strings.TrimSuffix(text, inRuns(t.Shown, t.Runs)) + inRuns(t.Held, t.Runs)
	case t.Why != "":
		text += "; " + clip(strings.ReplaceAll(t.Why, "\n", "; "), 200)
	}
	if t.Shown > 0 && len(t.Quoted) > 0 {
		text += fmt.Sprintf("; logs %d of the %s", len(t.Logged), count(len(t.Quoted), "quoted message"))
	}
	return text
}

func inRuns(n, of int) string {
	if of == 1 {
		return fmt.Sprintf("in %d of 1 run", n)
	}
	return fmt.Sprintf("in %d of %d runs", n, of)
}

func (a Answer) reproduced(t Trial) Part {
	bug := a.bugs[t.Bug]
	p := Part{Head: fmt.Sprintf("REPRODUCED: %s on containerd %s, %s", t.Bug, t.Release, inRuns(t.Shown, t.Runs))}
	p.row("it is:", bug.Title)
	p.row("set off:", strings.TrimSpace(bug.Trigger))
	for _, left := range firstOf(t.Left) {
		p.row("it left:", left)
	}
	if len(t.Quoted) > 0 {
		p.row("log:", fmt.Sprintf("%d of the %d warnings and errors that the report quotes were logged, too (%s)",
			len(t.Logged), len(t.Quoted), cmp.Or(linesText(t.Logged), "none")))
	}
	if same := a.alike(); len(same) > 0 {
		p.row("or else:", strings.Join(same, ", ")+": they leave the same, and nothing in the report tells which")
	}
	p.row("fixed in:", a.fixText(bug))
	p.row("bad up to:", bug.Releases.String())
	p.row("until then:", cmp.Or(strings.TrimSpace(bug.Until), "nothing is known that helps"))
	p.row("see it:", fmt.Sprintf("sudo shimquake run --containerd %s %s", t.Release, t.Case))
	p.row("read:", "shimquake show "+bug.ID+threads(bug))
	if t.Evidence != "" {
		p.row("kept:", t.Evidence)
	}
	return p
}

// firstOf are the first of some texts, each once.
func firstOf(all []string) []string {
	all = slices.Compact(slices.Clone(all))
	return all[:min(len(all), mostThings)]
}

// unable is what is known of a bug that nothing here can show.
func (a Answer) unable(id string) Part {
	bug := a.bugs[id]
	p := Part{Head: fmt.Sprintf("NOT RUN: %s fits, and there is no case that shows it", id)}
	p.row("it is:", bug.Title)
	p.row("set off:", strings.TrimSpace(bug.Trigger))
	p.row("no case:", strings.TrimSpace(bug.Tried))
	p.row("fixed in:", a.fixText(bug))
	p.row("bad up to:", bug.Releases.String())
	p.row("until then:", cmp.Or(strings.TrimSpace(bug.Until), "nothing is known that helps"))
	p.row("read:", "shimquake show "+bug.ID+threads(bug))
	return p
}

// alike are the bugs that were shown, too, and log as much of what is quoted as the
// answer does.
func (a Answer) alike() (ids []string) {
	best := a.Trials[a.Best]
	for i, t := range a.Trials {
		if i != a.Best && t.Reproduced() && t.Alike == best.Alike {
			ids = append(ids, t.Bug)
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
	fixed := firstFixed(b.Releases, a.Release)
	if fixed == "" {
		return "no release yet"
	}
	text := fixed
	if own, other := branch(a.Release), branch(fixed); own != other {
		text += ", and no release of " + own
	}
	switch {
	case a.Fixed == nil:
		return text + " (not run)"
	case a.Fixed.Held == a.Fixed.Runs && a.Fixed.Runs > 0:
		return fmt.Sprintf("%s (run on %s: held, %d of %d)", text, fixed, a.Fixed.Held, a.Fixed.Runs)
	case a.Fixed.Shown > 0:
		return fmt.Sprintf("%s by the catalogue, but it was SHOWN on %s, too: %d of %d", text, fixed, a.Fixed.Shown, a.Fixed.Runs)
	}
	return fmt.Sprintf("%s (run on %s: not sure: %s)", text, fixed, clip(a.Fixed.Why, 120))
}

// Help says what would help, where no bug fits.
func (a Answer) Help() string {
	if len(a.Fits) > 0 && a.Fits[0].Clears {
		return ""
	}
	if p := a.help(); len(p.Rows) > 0 {
		return p.String()
	}
	return ""
}

// help says what would help, where nothing was found.
func (a Answer) help() (p Part) {
	if a.Report == nil {
		return p
	}
	r := *a.Report
	var ask []string
	if a.Release == "" {
		ask = append(ask, "containerd --version")
	}
	if !slices.ContainsFunc(r.Of(read.Symptom), func(o read.Observation) bool { return !o.InWords }) {
		ask = append(ask, "sudo shimquake audit --bundle FILE on the node, and that FILE here",
			"ps -eo pid,ppid,lstart,args --forest | grep -A2 containerd-shim",
			"ctr -n NAMESPACE tasks ls; ctr -n NAMESPACE containers ls (NAMESPACE: k8s.io or moby)")
	}
	if r.Tells(read.ShimNotAsked) {
		ask = append(ask, "ctr -n NAMESPACE tasks ls, whole, and the command above it: which of these shims are known?")
	}
	if len(Quoted(r)) == 0 {
		ask = append(ask, "journalctl -u containerd, from before it was first seen")
	}
	p.Head = "what would help, pasted below the rest:"
	for _, command := range ask {
		p.row("", command)
	}
	return p
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}
