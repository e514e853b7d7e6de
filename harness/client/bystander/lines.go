package bystander

import (
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// readLines reads what a payload of kind write has written: lines "17 t=UNIXNANO".
func readLines(text string) (o harness.Output) {
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

// clockGrace is how far the times of two processes of one machine may be apart.
const clockGrace = 50 * time.Millisecond

// readLog reads those lines from a log of CRI's, which was read at a time. It puts before
// each line the time at which it was read, its stream and a tag.
func readLog(text string, read time.Time) harness.Output {
	var out strings.Builder
	misdated, before := 0, time.Time{}
	for line := range strings.Lines(text) {
		words := strings.SplitN(line, " ", 4)
		if len(words) == 4 && words[1] == "stdout" && words[2] == "F" {
			line = words[3]
			_, written, _ := parseLine(line)
			at, err := time.Parse(time.RFC3339Nano, words[0])
			if err != nil || at.Before(before) || at.Add(clockGrace).Before(written) || at.After(read.Add(clockGrace)) {
				misdated++
			}
			before = at
		}
		out.WriteString(line)
	}
	o := readLines(out.String())
	o.Misdated = misdated
	return o
}

func parseLine(line string) (n int, at time.Time, ok bool) {
	number, stamp, found := strings.Cut(strings.TrimSuffix(line, "\n"), " t=")
	n, err := strconv.Atoi(number)
	ns, stampErr := strconv.ParseInt(stamp, 10, 64)
	ok = found && err == nil && stampErr == nil && n > 0 && strings.HasSuffix(line, "\n")
	return n, time.Unix(0, ns), ok
}
