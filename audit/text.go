package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/quote"
)

// String returns the report as text with 100 columns. Users of the node may have chosen
// names and paths, so quote.Text escapes line breaks in them.
func (r *Report) String() string {
	var t quote.Text
	head := fmt.Sprintf("%s on %s: %s, %s", quote.Count(len(r.Suspects), "suspect"), r.Node, quote.Count(r.Shims, "shim"),
		quote.Count(len(r.Daemons), "containerd"))
	if len(r.Suspects) > 0 {
		head += "; seen twice"
	}
	t.Line("%s (%s)", head, time.Duration(r.Took)*time.Millisecond)
	for _, d := range r.Daemons {
		state := ""
		if d.Replaced {
			state = "; its binary on disk was replaced (an upgrade without a restart)"
		}
		t.Line("  containerd %s, process %d, %s%s", cmp.Or(d.Version, "of an unknown version"), d.PID, d.Address, state)
	}
	head = "not trusted (--untrusted examines them)"
	if r.untrusted {
		head = "not trusted, and not examined"
	}
	if names := notBelieved(r.Untrusted, false); names != "" {
		t.Line("  %s: %s", head, names)
	}
	if names := notBelieved(r.Untrusted, true); names != "" {
		t.Line("  examined, but not trusted: %s", names)
	}
	for _, p := range r.Partial {
		t.Line("  note: %s", p)
	}
	if len(r.Suspects) > 0 {
		t.Line("  plan: keep evidence (--bundle FILE --stacks); then take the suspects from the top down, each after its" +
			" check, and audit again after each")
	}
	text := t.String()
	for _, s := range r.Suspects {
		text += s.String()
	}
	return text
}

// notBelieved names the first untrusted containerds that were examined, or the first that
// were not.
func notBelieved(all []Untrusted, examined bool) string {
	return first(slices.DeleteFunc(slices.Clone(all), func(u Untrusted) bool { return u.Examined != examined }))
}

func (u Untrusted) String() string { return fmt.Sprintf("process %d (%s)", u.PID, u.Why) }

// maxText limits a text that another program chose, in bytes.
const maxText = 300

// first returns the first entries of a list, and the number of the others.
func first[T any](all []T) string {
	const most = 5
	var names []string
	for _, entry := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprint(entry))
	}
	text := strings.Join(names, ", ")
	if len(all) > most {
		text += fmt.Sprintf(" and %d more", len(all)-most)
	}
	return text
}

// String returns a suspect as text, with one line for each fact about it.
func (s Suspect) String() string {
	var t quote.Text
	head := fmt.Sprintf("%-8s %s", s.Sure, s.Kind)
	if s.PID != 0 {
		head += fmt.Sprintf(" %d", s.PID)
	}
	if s.ID != "" {
		head += fmt.Sprintf(" %s/%s", cmp.Or(s.Namespace, "?"), short(s.ID))
	}
	if s.Path != "" {
		head += " " + s.Path
	}
	if s.Age > 0 {
		head += fmt.Sprintf(", %s old", Age(s.Age))
	}
	head += ": no " + strings.Join(s.Missing, ", no ")
	if s.View != "" {
		head += fmt.Sprintf(" (%s)", s.View)
	}
	t.Line("%s", head)
	if len(s.With) > 0 {
		t.Line("         left with it: %s", strings.Join(s.With, ", "))
	}
	for _, l := range s.Living[:min(len(s.Living), maxLiving)] {
		t.Line("         may serve: process %d, up %s: %s", l.PID, Age(l.Age), l.Command)
	}
	if more := len(s.Living) - maxLiving; more > 0 {
		t.Line("         may serve: %s more", quote.Count(more, "process"))
	}
	t.Line("         bug: %s", s.bug())
	if s.Check != "" {
		t.Line("         check: %s", s.Check)
	}
	t.Line("         do:  %s", s.Do)
	return t.String()
}

// maxLiving limits the processes of a suspect that a report names.
const maxLiving = 3

// bug names the known bug of a suspect, if the facts tell it from all others.
func (s Suspect) bug() string {
	switch {
	case s.Bug != "":
		return s.Bug
	case s.Alike > 0:
		return fmt.Sprintf("not named: %s may leave this on %s; containerd's journal tells more (shimquake repro)",
			quote.Count(s.Alike, "known bug"), cmp.Or(s.Version, "an unknown version"))
	}
	return "none known"
}

// short returns an id as crictl shortens it.
func short(id string) string {
	const full, shown = 64, 13
	if len(id) == full {
		return id[:shown]
	}
	return id
}

// Age returns a duration in its largest unit: 4d, 3h, 12m, 5s.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%dd", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
