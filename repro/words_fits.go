package repro

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/search"
)

// why has the words for a reason, with its sign.
var why = map[rank.Why]string{
	rank.Named:       "+ the report names it: %s",
	rank.Explains:    "+ matches the symptom: %s",
	rank.Brings:      "+ matches a consequence: %s",
	rank.MayLeave:    "+ matches an occasional symptom: %s",
	rank.Logs:        "+ matches the log: %s",
	rank.Needs:       "+ matches the trigger: %s",
	rank.Nearly:      "+ similar to the trigger: %s",
	rank.AtPlace:     "+ matches the function: %s",
	rank.Unexplained: "- does not explain the symptom: %s",
	rank.Unneeded:    "- does not need the condition: %s",
	rank.Unreported:  "- needs a condition that the report does not mention: %s",
	rank.Otherwise:   "- has another trigger, and does not need: %s",
	rank.Conflicts:   "- leaves the object in another state: %s",
	rank.OtherOne:    "- that release is not affected (%s)",
	rank.NotLooked:   "- untested on that release (%s)",
	rank.OtherClient: "- needs kubelet as the client, not %s",
	rank.Unconfirmed: "- is unconfirmed: only an injected error shows it%s",
	rank.Harmless:    "- is harmless%s",
}

// shownFits limits the bugs that are printed.
const shownFits = 3

// FitsText returns the bugs that fit, with the reasons.
func (a Answer) FitsText() string {
	var b quote.Text
	n := 0
	for _, f := range a.Fits {
		if !f.Clears {
			break
		}
		if n++; n > shownFits {
			continue
		}
		b.Line("%2d. %s (score %d): %s", n, f.ID, f.Score, f.Bug.Title)
		for _, r := range f.Reasons {
			b.Line("      %s", reasonText(r))
		}
	}
	switch {
	case n == 0:
		return "none of the known bugs fits\n" + a.nearest()
	case n > shownFits:
		b.Line("    and %d more that fit less (--json has all)", n-shownFits)
	}
	return fmt.Sprintf("known bugs that fit%s, the best first:\n", on(a.Release)) + b.String()
}

func on(release string) string {
	if release == "" {
		return ""
	}
	return " " + release
}

// nearest returns the best bug that does not fit, with the reasons.
func (a Answer) nearest() string {
	if len(a.Fits) == 0 || a.Fits[0].Score <= -50 || len(search.Targets(*a.Report)) == 0 {
		return ""
	}
	f := a.Fits[0]
	var b quote.Text
	b.Line("the nearest is %s (score %d): %s", f.ID, f.Score, f.Bug.Title)
	for _, r := range f.Reasons {
		b.Line("      %s", reasonText(r))
	}
	return b.String()
}

func reasonText(r rank.Reason) string {
	what := r.What.Words()
	if r.Is != "" {
		what = strings.TrimPrefix(what+" ["+quote.Cut(r.Is, 70)+"]", " ")
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
