package repro

import (
	"fmt"
	"strings"
)

// Conclusion is the result in a line. It is never empty.
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
		return fmt.Sprintf("found: containerd %s leaves that without a fault, as %s does", a.Release,
			strings.Join(like.Known, ", "))
	case like != nil:
		return fmt.Sprintf("found: containerd %s leaves that without a fault; no bug of the catalogue is known to",
			a.Release)
	case a.found() && a.Search.Found.Known != "":
		return "found by a search: a case of the known bug " + a.Search.Found.Known
	case a.found():
		return "found by a search: a case that is not in the catalogue"
	case a.Failed != "":
		return "impossible to say: " + a.Failed
	case len(a.Unable) > 0:
		return "it fits " + strings.Join(a.Unable, ", ") + ", which no case shows: not run"
	case a.Search != nil && a.Search.Why != "":
		return "impossible to say: " + a.Search.Why
	case a.Search != nil:
		return fmt.Sprintf("not found after %d cases of %d on containerd %s", a.Search.Ran, a.Search.Planned, a.Release)
	case len(a.Trials) > 0:
		return fmt.Sprintf("not found: the bugs that fit do not show that on containerd %s, and nothing was searched "+
			"(--for)", a.Release)
	}
	return "impossible to say: no known bug fits, and nothing was searched (--for)"
}

func (a Answer) ofTrial(t Trial) string {
	missing := t.Missing()
	if len(missing) == 0 {
		text := fmt.Sprintf("found: %s, reproduced on containerd %s", t.Bug, t.Release)
		if same := a.alike(); len(same) > 0 {
			text += "; " + strings.Join(same, ", ") + " leave the same"
		}
		return text
	}
	return fmt.Sprintf("the same leak: %s leaves that on containerd %s, and logs %d of the %s; it may have come about "+
		"in another way", t.Bug, t.Release, len(t.Logged), count(len(t.Quoted), "quoted message"))
}
