package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Each line has a number, a mark and a time. The mark says to which stream the payload
// wrote the line.
const ofStdout, ofStderr = " t=", " e="

// ofNoStream replaces a line that belongs to neither stream. It counts as a foreign line.
const ofNoStream = "?\n"

// ReadLines parses the lines that a payload wrote: "17 t=UNIXNANO" to its standard
// output, and "17 e=UNIXNANO" to its standard error.
func ReadLines(stdout, stderr string) harness.Outputs {
	return harness.Outputs{Stdout: readLines(stdout, ofStdout), Stderr: readLines(stderr, ofStderr)}
}

// ReadTerminal parses such lines from the output of a terminal, which ends each line with
// CR and LF. A line without a mark, or with another end, counts as a foreign line of
// stdout.
func ReadTerminal(text string) harness.Outputs {
	var stdout, stderr strings.Builder
	for line := range strings.Lines(text) {
		whole, ended := strings.CutSuffix(line, "\r\n")
		if _, _, ok := parseLine(whole+"\n", ofStderr); ok && ended {
			stderr.WriteString(whole + "\n")
		} else if ended {
			stdout.WriteString(whole + "\n")
		} else {
			stdout.WriteString(ofNoStream)
		}
	}
	return ReadLines(stdout.String(), stderr.String())
}

func readLines(text, mark string) (o harness.Output) {
	for line := range strings.Lines(text) {
		n, at, ok := parseLine(line, mark)
		switch {
		case !ok && begins(line, o.Last+1, mark):
			o.Cut = true
			continue
		case !ok:
			o.Foreign++
			continue
		case n <= o.Last:
			o.Repeated++
			continue
		case n > o.Last+1:
			o.Holes = append(o.Holes, harness.MissingLines{From: o.Last + 1, To: n - 1, After: o.LastAt, Before: at})
		}
		o.Last, o.LastAt = n, at
	}
	return o
}

// begins reports whether a text can be the beginning of the n-th line.
func begins(text string, n int, mark string) bool {
	head := strconv.Itoa(n) + mark
	stamp, long := strings.CutPrefix(text, head)
	return strings.HasPrefix(head, text) || long && strings.Trim(stamp, "0123456789") == ""
}

// clockGrace is the tolerance between the clocks of two processes on one machine.
const clockGrace = 50 * time.Millisecond

// ReadLog parses such lines from CRI's log, which was read at a time. A rotated log has
// several texts. CRI writes three words before each line: the time at which containerd
// read the line, its stream and a tag. The tag is F for a whole line, or P for a part
// without the newline. A line without these words counts as a foreign line of stdout.
func ReadLog(read time.Time, texts ...string) (all harness.Outputs) {
	stdout, stderr := log{mark: ofStdout}, log{mark: ofStderr}
	for _, text := range texts {
		stdout.before, stderr.before = time.Time{}, time.Time{} // the times begin anew in each text
		for line := range strings.Lines(text) {
			words := strings.SplitN(line, " ", 4)
			tagged := len(words) == 4 && (words[2] == "F" || words[2] == "P")
			if tagged && words[2] == "P" {
				words[3] = strings.TrimSuffix(words[3], "\n")
			}
			switch {
			case tagged && words[1] == "stdout":
				stdout.add(words[0], words[3], read)
			case tagged && words[1] == "stderr":
				stderr.add(words[0], words[3], read)
			default:
				stdout.text.WriteString(ofNoStream)
			}
		}
	}
	return harness.Outputs{Stdout: stdout.output(), Stderr: stderr.output()}
}

// ReadTerminalLog parses such lines from CRI's log of a terminal, in which all lines
// belong to stdout. CRI removes the CR from the end of a line.
func ReadTerminalLog(read time.Time, texts ...string) harness.Outputs {
	logs := make([]string, len(texts))
	for n, text := range texts {
		var both strings.Builder
		for line := range strings.Lines(text) {
			words := strings.SplitN(line, " ", 4)
			if _, _, ok := parseLine(words[len(words)-1], ofStderr); ok && len(words) == 4 && words[1] == "stdout" {
				words[1] = "stderr"
			}
			both.WriteString(strings.Join(words, " "))
		}
		logs[n] = both.String()
	}
	return ReadLog(read, logs...)
}

// LogsAfter counts the lines of a log that the payload wrote after a time. It uses the
// times that the payload put into the lines.
func LogsAfter(at time.Time, texts ...string) (lines int) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			words := strings.SplitN(line, " ", 4)
			for _, mark := range []string{ofStdout, ofStderr} {
				_, written, ok := parseLine(words[len(words)-1], mark)
				if ok && written.After(at.Add(clockGrace)) {
					lines++
				}
			}
		}
	}
	return lines
}

// log has the lines of one stream of a log. The lines of the two streams may be
// interleaved in any way.
type log struct {
	mark     string
	text     strings.Builder
	before   time.Time
	misdated int
}

func (l *log) add(stamp, line string, read time.Time) {
	_, written, _ := parseLine(line, l.mark)
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || at.Before(l.before) || at.Add(clockGrace).Before(written) || at.After(read.Add(clockGrace)) {
		l.misdated++
	}
	l.before = at
	l.text.WriteString(line)
}

func (l *log) output() harness.Output {
	o := readLines(l.text.String(), l.mark)
	o.Misdated = l.misdated
	return o
}

func parseLine(line, mark string) (n int, at time.Time, ok bool) {
	text, whole := strings.CutSuffix(line, "\n")
	number, stamp, found := strings.Cut(text, mark)
	n, err := strconv.Atoi(number)
	ns, stampErr := strconv.ParseInt(stamp, 10, 64)
	ok = found && err == nil && stampErr == nil && n > 0 && whole
	return n, time.Unix(0, ns), ok
}
