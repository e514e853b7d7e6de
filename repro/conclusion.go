package repro

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/quote"
)

// Conclusion returns the result in one line. It is never empty.
func (a Answer) Conclusion() string {
	text := a.conclusion()
	if guess := a.guessText(); guess != "" && strings.Contains(text, a.Release) {
		text += " (" + guess + ")"
	}
	return text
}

func (a Answer) conclusion() string {
	switch like := a.plainLike(); {
	case a.Best >= 0:
		return a.ofTrial(a.Trials[a.Best])
	case like != nil && len(like.Known) > 0:
		return fmt.Sprintf("found: containerd %s shows the symptoms without a fault, as %s does", a.Release,
			strings.Join(like.Known, ", "))
	case like != nil:
		return fmt.Sprintf("found: containerd %s shows the symptoms without a fault; no bug of the catalogue does",
			a.Release)
	case a.found() && a.Search.Found.Known != "":
		return "found by a search: a case of the known bug " + a.Search.Found.Known
	case a.found():
		return "found by a search: a case that is not in the catalogue"
	case a.Failed != "":
		return "not known: " + a.Failed
	case len(a.Unable) > 0:
		return "it fits " + strings.Join(a.Unable, ", ") + ", but there is no case to run"
	case a.Search != nil && a.Search.Why != "":
		return "not known: " + a.Search.Why
	case a.Search != nil:
		return fmt.Sprintf("not found after %d cases of %d on containerd %s", a.Search.Ran, a.Search.Planned, a.Release)
	case len(a.Trials) > 0:
		return fmt.Sprintf("not found: the bugs that fit do not show the symptoms on containerd %s, and there was no "+
			"search (--for)", a.Release)
	}
	return "not known: no known bug fits, and there was no search (--for)"
}

func (a Answer) ofTrial(t Trial) string {
	missing := t.Missing()
	if len(missing) == 0 {
		text := fmt.Sprintf("found: %s, reproduced on containerd %s", t.Bug, t.Release)
		if same := a.alike(); len(same) > 0 {
			text += "; same remains: " + strings.Join(same, ", ")
		}
		return text
	}
	return fmt.Sprintf("same leak, but not the quoted log: %s on containerd %s logs %d of the %s; "+
		"the cause may be another",
		t.Bug, t.Release, len(t.Logged), quote.Count(len(t.Quoted), "quoted message"))
}
