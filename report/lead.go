package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MainDifference returns a sentence about the most important difference between two
// runs. It names a finding of the run with the fault, and what happened instead without
// the fault. It returns "" if there is no finding.
func MainDifference(with, without *Timeline) string {
	for _, of := range []func(with, without *Timeline, i Item) string{leadOfShim, leadOfStatus, leadOfFinding} {
		for _, i := range with.Items {
			if i.Lane < 0 {
				continue
			}
			if text := of(with, without, i); text != "" {
				return text
			}
		}
	}
	return ""
}

// leadOfShim handles a shim that still runs: without the fault, the shim of the same
// container ended, and leadOfShim says when.
func leadOfShim(with, without *Timeline, i Item) string {
	lane := with.Lanes[i.Lane]
	if i.Mark != Left || lane.Kind != Shim {
		return ""
	}
	name, of := shimName(lane)
	here := fmt.Sprintf("%s still runs %s after the client's last call", name, people(i.Took))
	var last *Item // the last call of a shim of that container
	for n, other := range without.Items {
		if other.Lane < 0 || without.Lanes[other.Lane].Kind != Shim {
			continue
		}
		twin, its := shimName(without.Lanes[other.Lane])
		switch {
		case its != of:
		case other.Mark == Ended && last != nil:
			return fmt.Sprintf("Without the fault, %s %s, %s after %s. Here, %s.", twin, other.Text,
				people(other.At-last.At), last.Text, here)
		case other.Mark == Ended:
			return fmt.Sprintf("Without the fault, %s %s. Here, %s.", twin, other.Text, here)
		case other.call != "" && other.Mark != Minor:
			last = &without.Items[n]
		}
	}
	return ""
}

// shimName returns the name of a shim's lane ("shim 29") and its first container.
func shimName(l Lane) (name, of string) {
	words := strings.SplitN(l.Name, " ", 3)
	if len(words) < 3 {
		return l.Name, ""
	}
	return words[0] + " " + words[1], words[2]
}

// leadOfStatus handles a wrong exit status: it names the status that was reported without
// the fault.
func leadOfStatus(with, without *Timeline, i Item) string {
	lane := with.Lanes[i.Lane]
	if i.Mark != Wrong || lane.Kind != Events && lane.Kind != Reported {
		return ""
	}
	at := strings.IndexAny(i.Text, ":") + 1
	if lane.Kind == Reported {
		at = strings.Index(i.Text, " reported ") + len(" reported ")
	}
	if at < 1 || at > len(i.Text) {
		return ""
	}
	head, here := i.Text[:at], strings.TrimSpace(strings.TrimSuffix(i.Text[at:], ": wrong"))
	n := slices.IndexFunc(without.Items, func(other Item) bool {
		return other.Lane >= 0 && without.Lanes[other.Lane] == lane && strings.HasPrefix(other.Text, head) &&
			(lane.Kind == Events || other.Mark != Wrong)
	})
	if n < 0 {
		return ""
	}
	there := strings.TrimSpace(without.Items[n].Text[at:])
	if there == here {
		return ""
	}
	return fmt.Sprintf("Without the fault, %s %s. Here, %s.", strings.TrimRight(head, " "), there, here)
}

// leadOfFinding handles any other finding that the run without the fault does not have.
func leadOfFinding(with, without *Timeline, i Item) string {
	if i.Mark != Left && i.Mark != Wrong || with.Lanes[i.Lane].Kind != Found ||
		slices.ContainsFunc(without.Items, func(other Item) bool { return other.Text == i.Text && other.Mark == i.Mark }) {
		return ""
	}
	return fmt.Sprintf("Here, %s. The run without the fault has no such finding.", i.Text)
}

// people returns a duration with up to three digits, as the page shows it: "2.2 ms".
func people(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1e3)
}
