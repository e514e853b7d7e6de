package sweep

import (
	"fmt"
	"strings"
)

// place is where a point stands: who passes it, in which function (a method of ttrpc, for rpc points).
type place struct{ who, function string }

func (p place) String() string { return p.who + " " + p.function }

// placeOf reads a point's name: kind:who:function:statement.
func placeOf(point string) place {
	parts := strings.SplitN(point, ":", 4)
	if len(parts) < 3 {
		return place{function: point}
	}
	return place{parts[1], parts[2]}
}

// Window is a run of points of one function that leave the same.
type Window struct {
	Who      string `json:"who"`
	Function string `json:"function"`
	First    string `json:"first"`
	Last     string `json:"last"`
	// From and To are the places of these two: file:line. Empty for methods of ttrpc.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Points of the window leave it, of the Swept ones between first and last.
	Points int `json:"points"`
	Swept  int `json:"swept"`
}

func (w Window) String() string {
	s := fmt.Sprintf("%s %s", w.Who, w.Function)
	if w.From != "" {
		s += " " + w.From
		if _, line, ok := cutLine(w.To); ok && w.To != w.From {
			s += ".." + line
		}
	} else if w.First != w.Last {
		s += fmt.Sprintf(" %s..%s", last(w.First), last(w.Last))
	} else {
		s += " " + last(w.First)
	}
	if w.Swept > 1 {
		s += fmt.Sprintf(" (%d of %d points)", w.Points, w.Swept)
	}
	return s
}

func last(point string) string {
	_, after, _ := cutLine(point)
	return after
}

// cutLine cuts a text at its last colon: what is after it is a line, or a statement.
func cutLine(s string) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
