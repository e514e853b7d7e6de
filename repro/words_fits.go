package repro

import (
	"fmt"

	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/search"
)

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
		if n++; n <= shownFits {
			writeFit(&b, fmt.Sprintf("%2d. ", n), f)
		}
	}
	switch {
	case n == 0:
		return "none of the known bugs fits\n" + a.nearest()
	case n > shownFits:
		b.Line("    and %d more that fit less (--json has all)", n-shownFits)
	}
	head := "known bugs that fit, the best first:\n"
	if a.Release != "" {
		head = fmt.Sprintf("known bugs that fit %s, the best first:\n", a.Release)
	}
	return head + b.String()
}

// nearest returns the best bug that does not fit, with the reasons.
func (a Answer) nearest() string {
	if len(a.Fits) == 0 || a.Fits[0].Score <= -50 || len(search.Targets(*a.Report)) == 0 {
		return ""
	}
	var b quote.Text
	writeFit(&b, "the nearest is ", a.Fits[0])
	return b.String()
}

// writeFit writes a bug with the reasons.
func writeFit(b *quote.Text, head string, f rank.Fit) {
	b.Line("%s%s (score %d): %s", head, f.ID, f.Score, f.Bug.Title)
	for _, r := range f.Reasons {
		b.Line("      %s", r)
	}
}
