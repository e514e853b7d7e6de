package repro

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/search"
)

// why are the words for a reason, with its sign.
var why = map[rank.Why]string{
	rank.Named:       "+ the report names it: %s",
	rank.Explains:    "+ it leaves that: %s",
	rank.Brings:      "+ that comes with what it leaves: %s",
	rank.MayLeave:    "+ it leaves that at times, besides: %s",
	rank.Logs:        "+ it is known to log that: %s",
	rank.Needs:       "+ that sets it off: %s",
	rank.Nearly:      "+ that is much like what sets it off: %s",
	rank.AtPlace:     "+ that is where it is: %s",
	rank.Unexplained: "- it does not leave that: %s",
	rank.Unneeded:    "- it does not take that: %s",
	rank.Unreported:  "- it takes what the report does not tell: %s",
	rank.Otherwise:   "- it comes about without that, and by something else: %s",
	rank.Conflicts:   "- it leaves that in another state: %s",
	rank.OtherOne:    "- that release does not have it (%s)",
	rank.NotLooked:   "- nobody has looked whether that release has it (%s)",
	rank.OtherClient: "- it needs kubelet's way to containerd, not that of %s",
	rank.Doubtful:    "- it is a lead: no function is known to fail so%s",
	rank.Harmless:    "- it is harmless%s",
}

// shownFits is how many bugs are reported.
const shownFits = 3

// FitsText says which bugs fit, and why.
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

// nearest says of the best of those that do not fit why not.
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
