package slowsys

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is one call of the delayed system call, as strace saw it.
type Call struct {
	TID    int       // thread, as strace's PID namespace sees it
	Start  time.Time // entry, before the delay.
	Args   string    // as strace prints them: `"/run/x/rootfs", MNT_DETACH`
	Result string    // "0", "-1 EBUSY (Device or resource busy)"; empty while it runs
	// Took is the time from entry to return: the delay and every wait in the kernel, also
	// on the return to user mode. It is zero if the call did not return.
	Took time.Duration
	// Delayed is set if strace has marked the call as delayed.
	Delayed bool
	// Killed is set if the thread ended within the call ("= ?"): it began and never
	// returned.
	Killed bool
}

// Returned reports whether the call came back to the process.
func (c Call) Returned() bool { return c.Result != "" && !c.Killed }

func (c Call) String() string {
	switch {
	case c.Killed:
		return fmt.Sprintf("thread %d: %s: the thread ended in it", c.TID, c.Args)
	case !c.Returned():
		return fmt.Sprintf("thread %d: %s: has not returned", c.TID, c.Args)
	default:
		return fmt.Sprintf("thread %d: %s = %s after %v", c.TID, c.Args, c.Result, c.Took)
	}
}

// parser parses the lines of strace -f -ttt -T for the calls of one system call. It joins
// the two halves of a call that another thread's line interrupted.
type parser struct {
	begin, resumed *regexp.Regexp
	calls          []Call
	open           map[int]int // thread -> index in calls of its current call
}

func newParser(syscall string) *parser {
	const prefix = `^([1-9]\d{0,8}) +(\d{1,10}\.\d+) `
	return &parser{
		begin:   regexp.MustCompile(prefix + syscall + `\((.*)$`),
		resumed: regexp.MustCompile(prefix + `<\.\.\. ` + syscall + ` resumed>(.*)$`),
		open:    map[int]int{},
	}
}

// line parses one whole line, or the written part of the last one. It returns the call of
// the line, or nil. Other lines (exits, signals, other calls) are ignored.
func (p *parser) line(line string) *Call {
	if m := p.resumed.FindStringSubmatch(line); m != nil {
		tid, _ := strconv.Atoi(m[1])
		i, known := p.open[tid]
		if !known { // the beginning of the call is missing: strace attached within it
			return nil
		}
		delete(p.open, tid)
		p.calls[i].finish(m[3])
		return &p.calls[i]
	}
	m := p.begin.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	tid, _ := strconv.Atoi(m[1])
	p.calls = append(p.calls, Call{TID: tid, Start: time.Unix(0, 0).Add(seconds(m[2]))})
	c := &p.calls[len(p.calls)-1]
	if before, ok := strings.CutSuffix(m[3], "<unfinished ...>"); ok {
		c.Args = strings.TrimRight(before, " ")
		p.open[tid] = len(p.calls) - 1
	} else {
		c.finish(m[3])
	}
	return c
}

// result matches the end of a call's line.
var result = regexp.MustCompile(`^ = (.*?)( \(DELAYED\))?(?: <(\d{1,9}\.\d+)>)?$`)

// with returns all calls so far. The tail is the written part of the last line: strace
// writes a call's arguments, then delays it, then ends the line.
func (p *parser) with(tail string) []Call {
	calls := slices.Clone(p.calls)
	last := parser{begin: p.begin, resumed: p.resumed, open: map[int]int{}}
	if c := last.line(tail); c != nil {
		calls = append(calls, *c)
	}
	return calls
}

// finish parses the rest of a call's line after the "(": `"/x", 0) = 0 (DELAYED) <0.5>`,
// or less if the call has not returned.
func (c *Call) finish(s string) {
	i := strings.LastIndex(s, " = ") // a path may contain one, too, and a result never does
	if i < 0 {
		c.Args += s
		return
	}
	c.Args += strings.TrimSuffix(strings.TrimRight(s[:i], " "), ")")
	if m := result.FindStringSubmatch(s[i:]); m != nil {
		c.Result, c.Delayed, c.Took = m[1], m[2] != "", seconds(m[3])
		c.Killed = strings.HasPrefix(c.Result, "?")
	}
}

// seconds parses strace's "12.345678", or "".
func seconds(s string) time.Duration {
	d, _ := time.ParseDuration(s + "s")
	return d
}
