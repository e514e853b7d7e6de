package slowsys

import (
	"bufio"
	"fmt"
	"io"
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

// ParseLog parses a log of strace -f -ttt -T for the calls of one system call. Other
// lines (exits, signals, other calls) are ignored. A last line without its end is a call
// in progress. The only errors are the errors of r.
func ParseLog(r io.Reader, syscall string) ([]Call, error) {
	p := newParser(syscall)
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		p.line(strings.TrimSuffix(line, "\n"))
		if err == io.EOF {
			return p.calls, nil
		}
		if err != nil {
			return p.calls, fmt.Errorf("read strace's log: %w", err)
		}
	}
}

// parser joins the two halves of a call that another thread's line interrupted in the
// log.
type parser struct {
	syscall string
	calls   []Call
	open    map[int]int // thread -> index in calls of its current call
}

func newParser(syscall string) *parser {
	return &parser{syscall: syscall, open: map[int]int{}}
}

// line parses one whole line, or the written part of the last one. It returns the call of
// the line.
func (p *parser) line(line string) (Call, bool) {
	tid, start, rest, ok := prefix(line)
	if !ok {
		return Call{}, false
	}
	if tail, ok := strings.CutPrefix(rest, "<... "+p.syscall+" resumed>"); ok {
		i, known := p.open[tid]
		if !known {
			// The beginning of the call is missing: strace attached within it.
			return Call{}, false
		}
		delete(p.open, tid)
		p.calls[i].finish(tail)
		return p.calls[i], true
	}
	args, ok := strings.CutPrefix(rest, p.syscall+"(")
	if !ok {
		return Call{}, false
	}
	c := Call{TID: tid, Start: start}
	if before, ok := strings.CutSuffix(args, "<unfinished ...>"); ok {
		c.Args = strings.TrimRight(before, " ")
		p.open[tid] = len(p.calls)
	} else {
		c.finish(args)
	}
	p.calls = append(p.calls, c)
	return c, true
}

// finish parses the rest of a call's line after the "(": `"/x", 0) = 0 (DELAYED) <0.5>`,
// or less if the call has not returned.
func (c *Call) finish(s string) {
	// The last " = ": a path may contain one, too, and a result never does.
	i := strings.LastIndex(s, " = ")
	if i < 0 {
		c.Args += s
		return
	}
	c.Args += strings.TrimSuffix(strings.TrimRight(s[:i], " "), ")")
	result := strings.TrimSpace(s[i+3:])
	if j := strings.LastIndex(result, " <"); j >= 0 && strings.HasSuffix(result, ">") {
		if took, ok := seconds(result[j+2 : len(result)-1]); ok {
			c.Took, result = took, result[:j]
		}
	}
	result, c.Delayed = strings.CutSuffix(result, " (DELAYED)")
	c.Result = result
	c.Killed = strings.HasPrefix(result, "?")
}

// prefix splits `41 1700000000.123456 rest` into thread, time and rest.
func prefix(line string) (tid int, at time.Time, rest string, ok bool) {
	a, b, ok := strings.Cut(line, " ")
	tid, err := strconv.Atoi(a)
	if !ok || err != nil || tid <= 0 {
		return 0, time.Time{}, "", false
	}
	stamp, rest, ok := strings.Cut(strings.TrimLeft(b, " "), " ")
	d, good := seconds(stamp)
	if !ok || !good {
		return 0, time.Time{}, "", false
	}
	return tid, time.Unix(0, 0).Add(d), rest, true
}

// seconds parses strace's "12.345678". It rejects signs, exponents, and more than a
// time.Duration can hold (292 years).
func seconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	d, err := time.ParseDuration(s + "s")
	return d, err == nil
}
