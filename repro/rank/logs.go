package rank

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/signature"
)

// logs has the messages that a bug makes containerd log on a release. They come from
// recorded runs, or are patterns for a bug without a case.
type logs struct {
	bug      catalogue.Bug
	keys     map[string]bool
	patterns []*regexp.Regexp
}

func logsOf(b catalogue.Bug, release string) logs {
	l := logs{bug: b, keys: map[string]bool{}, patterns: b.Symptoms.Log}
	for _, k := range b.Logs(release) {
		l.keys[k] = true
	}
	return l
}

// maxOfALine is the weight of a line that no other bug logs.
const maxOfALine = 5

// weigh returns the rarest key of a message that the bug logs, and its weight, or "" if
// the bug logs no part of the message. The weight falls with the part that the bug
// explains.
func (l logs) weigh(o read.Observation) (key string, weight int) {
	best := 0.0
	for _, k := range signature.Keys(o.Made) {
		if w := catalogue.Rarity(k); l.keys[k] && (key == "" || w > best) {
			key, best = k, w
		}
	}
	if p := l.pattern(o); p != "" {
		return p, whys[AtPlace].points // a pattern is written by hand, and counts like a place
	}
	return key, int(math.Round(maxOfALine * best * l.share(o)))
}

// pattern returns the pattern of a bug without a case that a message matches, or "".
func (l logs) pattern(o read.Observation) string {
	for _, p := range l.patterns {
		if o.Raw != "" && p.MatchString(o.Raw) {
			return p.String()
		}
	}
	return ""
}

// messages compares the report's messages with the bug's. A statement counts once, and a
// line counts with its most specific reason. said reports whether the bug explains one of
// the messages.
func (f *Fit) messages(r read.Report, l logs) (said bool) {
	done := map[string]bool{}
	for _, o := range r.BySort(read.Message) {
		if o.Usual {
			continue
		}
		said = said || l.explain(o)
		key, weight := l.weigh(o)
		at := l.madeIn(o)
		reason := Reason{Why: Logs, Is: key, Points: weight}
		if at != "" && whys[AtPlace].points >= weight {
			reason = Reason{Why: AtPlace, Is: at, Points: whys[AtPlace].points}
		}
		if reason.Points > 0 && !done[reason.Is] {
			done[reason.Is] = true
			reason.What, reason.Lines = o.What, o.Lines
			f.reason(reason)
		}
	}
	return said
}

// explain reports whether the bug explains a message: it logs more than half of it, or
// the code of its window makes the error. If the messages of a bug are not known, it
// may explain any message.
func (l logs) explain(o read.Observation) bool {
	unknown := len(l.keys) == 0 && len(l.patterns) == 0
	return unknown || l.share(o) > half || l.madeIn(o) != ""
}

// madeIn returns the function that made one of the two innermost errors of a message,
// or "". The whole function must be in the bug's window. The innermost error may come
// from a library, so madeIn looks at two.
func (l logs) madeIn(o read.Observation) string {
	b := l.bug
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

// isWindow reports whether some windows contain a whole function.
func isWindow(all []catalogue.Window, function string) bool {
	return slices.ContainsFunc(all, func(w catalogue.Window) bool {
		return slices.ContainsFunc(w.Where, func(where string) bool {
			_, name, whole := strings.Cut(where, " ")
			return whole && strings.HasSuffix(name, "."+function)
		})
	})
}

// share returns the part of a message that the bug logs, weighted by the rarity of its
// statements. The innermost statement is the cause and counts twice. Codes that no bug
// logs are left out, because another trigger, such as a full disk, gives other codes.
func (l logs) share(o read.Observation) float64 {
	if l.pattern(o) != "" {
		return 1
	}
	of, all := 0.0, 0.0
	for i, k := range signature.Keys(o.Made) {
		w := catalogue.Rarity(k)
		if i == len(o.Made.Chain)-1 {
			w *= 2
		}
		if l.keys[k] {
			of += w
		} else if strings.HasPrefix(k, "code ") && catalogue.Rarity(k) == 1 {
			continue
		}
		all += w
	}
	if all == 0 {
		return 0
	}
	return of / all
}
