package rank

import (
	"math"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/signature"
)

// logs has what a bug makes containerd log on a release: what runs have recorded, and
// patterns where no case shows the bug.
type logs struct {
	keys     map[string]bool
	patterns []catalogue.Regexp
}

func logsOf(b catalogue.Bug, release string) logs {
	l := logs{keys: map[string]bool{}, patterns: b.Symptoms.Log}
	for _, k := range b.Logs(release) {
		l.keys[k] = true
	}
	return l
}

// mostOfALine is how much a line counts that no other bug logs.
const mostOfALine = 5

// rarest is the rarest key of a message that the bug logs, and how much it counts; ""
// where it logs none of them.
func (l logs) rarest(o read.Observation) (key string, weight int) {
	best := 0.0
	for _, k := range signature.Keys(o.Made) {
		if w := mostOfALine * catalogue.Rarity(k); l.keys[k] && (key == "" || w > best) {
			key, best = k, w
		}
	}
	for _, p := range l.patterns {
		if o.Raw != "" && p.MatchString(o.Raw) && best < mostOfALine {
			key, best = p.String(), mostOfALine
		}
	}
	return key, int(math.Round(best))
}

// messages compares the report's messages with the bug's. A statement counts once. Said
// is the greatest share of one message that the bug explains: 0 to 1.
func (f *Fit) messages(r read.Report, b catalogue.Bug, l logs) (said float64) {
	done := map[string]bool{}
	for _, o := range r.Of(read.Message) {
		key, weight := l.rarest(o)
		said = max(said, l.share(o))
		if at := madeIn(b, o); at != "" {
			said = 1
			if !done[at] {
				done[at] = true
				f.add(AtPlace, o.What, o.Lines, at)
			}
		}
		if weight == 0 || done[key] {
			continue
		}
		done[key] = true
		f.add(Logs, o.What, o.Lines, key)
		f.Score += weight
	}
	return said
}

// madeIn is the function that made one of the two innermost errors of a message. All of
// it must be in the bug's window; else "". The innermost error may be of a library.
func madeIn(b catalogue.Bug, o read.Observation) string {
	if b.Sweep == nil {
		return ""
	}
	for _, x := range o.Made.Chain[max(len(o.Made.Chain)-2, 0):] {
		for _, p := range x.Places {
			if p.Func != "" && isWindow(b.Sweep.Windows(), p.Func) {
				return p.Func
			}
		}
	}
	return ""
}

// isWindow reports whether all of a function is one of the places of some windows.
func isWindow(all []catalogue.Window, function string) bool {
	return slices.ContainsFunc(all, func(w catalogue.Window) bool {
		return slices.ContainsFunc(w.Where, func(where string) bool {
			_, name, whole := strings.Cut(where, " ")
			return whole && strings.HasSuffix(name, "."+function)
		})
	})
}

// share is how much of a message the bug logs, by the rarity of its statements.
func (l logs) share(o read.Observation) float64 {
	of, all := 0.0, 0.0
	for _, k := range signature.Keys(o.Made) {
		w := catalogue.Rarity(k)
		all += w
		if l.keys[k] {
			of += w
		}
	}
	if key, _ := l.rarest(o); key != "" && len(l.patterns) > 0 {
		return 1
	}
	return of / max(all, 1) // a statement that many bugs log says little, also alone
}

// quotes reports whether a report has a message of containerd that says that something is
// wrong.
func quotes(r read.Report) bool {
	return slices.ContainsFunc(r.Of(read.Message), func(o read.Observation) bool {
		return len(o.Made.Chain) > 0 && slices.Contains([]string{"warning", "warn", "error", "fatal"}, o.Level)
	})
}
