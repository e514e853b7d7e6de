package report

import (
	"fmt"
	"strings"
	"time"
)

// MainDifference says of a shim that still runs when the shim of the same container ended
// without the fault. It returns "" if there is no such shim.
func MainDifference(with, without *Timeline) string {
	for _, i := range with.Items {
		if i.Mark != Left || i.Lane < 0 || with.Lanes[i.Lane].Kind != Shim {
			continue
		}
		name, of := shimName(with.Lanes[i.Lane])
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

// people returns a duration with up to three digits, as the page shows it: "2.2 ms".
func people(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1e3)
}
