package audit

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// String is the report for people, in 100 columns.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s, %s", count(len(r.Suspects), "suspect"), r.Node, count(r.Shims, "shim"),
		count(len(r.Daemons), "containerd"))
	if len(r.Suspects) > 0 {
		fmt.Fprintf(&b, "; seen twice")
	}
	fmt.Fprintf(&b, " (%s)\n", time.Duration(r.Took).Round(time.Millisecond))
	for _, d := range r.Daemons {
		fmt.Fprintf(&b, "  containerd %s, process %d, %s%s\n", cmp.Or(d.Version, "of an unknown version"), d.PID, d.Address,
			d.state())
	}
	for _, p := range r.Partial {
		fmt.Fprintf(&b, "  note: %s\n", p)
	}
	for _, s := range r.Suspects {
		b.WriteString(s.String())
	}
	return b.String()
}

func (d Daemon) state() string {
	if d.Replaced {
		return "; its binary was replaced since: an upgrade without a restart"
	}
	return ""
}

// String is a suspect in four lines at most.
func (s Suspect) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %s", s.Sure, s.Kind)
	if s.PID != 0 {
		fmt.Fprintf(&b, " %d", s.PID)
	}
	if s.ID != "" {
		fmt.Fprintf(&b, " %s/%s", cmp.Or(s.Namespace, "?"), short(s.ID))
	}
	if s.Path != "" {
		fmt.Fprintf(&b, " %s", s.Path)
	}
	if s.Age > 0 {
		fmt.Fprintf(&b, ", %s old", Age(s.Age))
	}
	fmt.Fprintf(&b, ": no %s", strings.Join(s.Missing, ", no "))
	if s.View != "" {
		fmt.Fprintf(&b, " (in %s)", s.View)
	}
	if len(s.With) > 0 {
		fmt.Fprintf(&b, "\n         left with it: %s", strings.Join(s.With, ", "))
	}
	fmt.Fprintf(&b, "\n         bug: %s\n         do:  %s\n", bugs(s), s.Do)
	return b.String()
}

// bugs are those that this version has; where there is none, those that it may have.
func bugs(s Suspect) string {
	switch {
	case len(s.Bugs) > 0:
		return firstOf(s.Bugs)
	case len(s.MayBe) > 0:
		return "none known of " + cmp.Or(s.Version, "this version") + ", where nobody has looked for " + firstOf(s.MayBe)
	}
	return "none known"
}

// firstOf are the first three.
func firstOf(all []string) string {
	const most = 3
	text := strings.Join(all[:min(len(all), most)], ", ")
	if len(all) > most {
		text += fmt.Sprintf(" (or one of %d others, see --json)", len(all)-most)
	}
	return text
}

// short is an id as crictl shortens it.
func short(id string) string {
	const full, shown = 64, 13
	if len(id) == full {
		return id[:shown]
	}
	return id
}

// Age is a duration with its largest unit alone: 4d, 3h, 12m, 5s.
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

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
