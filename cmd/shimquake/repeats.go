package main

import (
	"fmt"
	"io"
	"regexp"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
)

// repeats counts verdicts with the same text, so that each text is printed once.
type repeats struct {
	order []string // the texts, with their numbers removed
	heads map[string]string
	times map[string]int
}

var numbers = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// before reports whether an earlier verdict had the same text, apart from numbers such as
// times, pids and names of sockets.
func (r *repeats) before(v harness.Verdict) bool {
	v.Evidence = ""
	text := numbers.ReplaceAllString(v.String(), "N")
	if r.times == nil {
		r.heads, r.times = map[string]string{}, map[string]int{}
	}
	if r.times[text]++; r.times[text] > 1 {
		return true
	}
	r.order = append(r.order, text)
	r.heads[text] = fmt.Sprintf("%s %s on containerd %s", v.Outcome, v.Name, v.Version)
	return false
}

// tell prints how often each text was repeated.
func (r *repeats) tell(out io.Writer) {
	var b quote.Text
	for _, text := range r.order {
		if n := r.times[text] - 1; n > 0 {
			b.Line("%d more times the same: %s", n, r.heads[text])
		}
	}
	fmt.Fprint(out, b.String())
}
