package bystander

import (
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// ReadLines reads what a payload of kind write has written: lines "17 t=UNIXNANO".
func ReadLines(text string) (o harness.Output) {
	for line := range strings.Lines(text) {
		n, at, ok := parseLine(line)
		switch {
		case !ok:
			o.Foreign++
			continue
		case n <= o.Last:
			o.Repeated++
			continue
		case n > o.Last+1:
			o.Holes = append(o.Holes, harness.Hole{From: o.Last + 1, To: n - 1, After: o.LastAt, Before: at})
		}
		o.Last, o.LastAt = n, at
	}
	return o
}

func parseLine(line string) (n int, at time.Time, ok bool) {
	number, stamp, found := strings.Cut(strings.TrimSuffix(line, "\n"), " t=")
	n, err := strconv.Atoi(number)
	ns, stampErr := strconv.ParseInt(stamp, 10, 64)
	ok = found && err == nil && stampErr == nil && n > 0 && strings.HasSuffix(line, "\n")
	return n, time.Unix(0, ns), ok
}
