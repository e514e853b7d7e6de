package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/quote"
)

// Entry is one line of a timeline, in words for people.
type Entry struct {
	At   time.Time
	Who  string // client, harness, containerd, shim, event, oracle
	What string
	Took time.Duration
	Err  string
}

// Timeline returns the calls, the hits of points, the notes, and containerd's exits and
// events in the order of time.
func (h *History) Timeline() []Entry {
	var all []Entry
	calls := slices.Clone(h.Calls)
	for _, b := range h.Bystanders {
		calls = append(calls, b.Calls...)
	}
	for _, c := range calls {
		e := Entry{At: c.At, Who: "client", What: strings.TrimSpace(c.Verb + " " + c.Of), Took: c.Took}
		if c.Who != "client" {
			e.What += ", by " + c.Who
		}
		if c.Says != "" {
			e.What += ": " + c.Says
		}
		if c.Err != nil {
			e.Err = c.Err.Text
		}
		all = append(all, e)
	}
	for _, n := range h.Notes {
		e := Entry{At: n.At, Who: n.Who, What: n.Text}
		if n.Err != nil {
			e.Err = n.Err.Text
		}
		all = append(all, e)
	}
	for _, hit := range h.Hits {
		e := Entry{
			At:   hit.Time,
			Who:  hit.Who,
			What: strings.TrimSpace(hit.Point + " " + hit.ID),
			Took: hit.Held,
			Err:  hit.Err,
		}
		if hit.Fault >= 0 {
			e.What += " FAULT " + string(hit.Did)
		}
		if hit.Status != nil {
			e.What += fmt.Sprintf(" status %d", *hit.Status)
		}
		all = append(all, e)
	}
	for _, d := range h.Deaths {
		what := fmt.Sprintf("ended with %d, responds again after %s", d.Code, d.BackIn.Round(time.Millisecond))
		if d.BackIn == 0 {
			what = fmt.Sprintf("ended with %d", d.Code)
		}
		all = append(all, Entry{At: d.At, Who: "containerd", What: what})
	}
	for _, ev := range h.Events {
		what := fmt.Sprintf("%s %s %s pid %d status %d", ev.Topic, ev.Container, ev.Exec, ev.PID, ev.Status)
		all = append(all, Entry{At: ev.Seen, Who: "event", What: strings.ReplaceAll(what, "  ", " ")})
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all
}

// TimelineText returns the timeline as text. Each line begins with the time since the
// first entry.
func (h *History) TimelineText() string {
	var b quote.Text
	all := h.Timeline()
	for _, e := range all {
		took, failed := "", ""
		if e.Took > 0 {
			took = fmt.Sprintf(" (%s)", e.Took.Round(time.Microsecond))
		}
		if e.Err != "" {
			failed = " -> " + e.Err
		}
		b.Line("%9.3fs %-10s %s%s%s", e.At.Sub(all[0].At).Seconds(), e.Who, e.What, took, failed)
	}
	return b.String()
}
