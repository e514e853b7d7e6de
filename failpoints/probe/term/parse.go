package term

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseError names the position of an error in a term, and the expected text.
type ParseError struct {
	Text string // the whole term
	Pos  int    // offset in bytes, from 0
	Want string // the expected text at Pos
}

func (e *ParseError) Error() string {
	got := "the end"
	if e.Pos < len(e.Text) {
		got = strconv.Quote(e.Text[e.Pos:])
	}
	return fmt.Sprintf("term %q, position %d: expected %s, found %s", e.Text, e.Pos+1, e.Want, got)
}

// Parse parses a term. Its errors are of type *ParseError.
func Parse(s string) (Term, error) {
	clauses, err := parse(s)
	if err != nil {
		return Term{}, err
	}
	parts := make([]string, len(clauses))
	for i, c := range clauses {
		parts[i] = c.String()
	}
	return Term{text: strings.Join(parts, "->")}, nil
}

func parse(s string) ([]Clause, error) {
	p := parser{text: s}
	var clauses []Clause
	for {
		c, err := p.clause()
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
		p.space()
		if p.pos == len(s) {
			return clauses, nil
		}
		if !strings.HasPrefix(s[p.pos:], "->") {
			return nil, p.want(`"->" or the end`)
		}
		if c.Count == 0 {
			return nil, p.want("the end, because the clause before it has no count and holds forever")
		}
		p.pos += len("->")
	}
}

type parser struct {
	text string
	pos  int
}

func (p *parser) want(what string) error { return &ParseError{Text: p.text, Pos: p.pos, Want: what} }

func (p *parser) space() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

func (p *parser) run(ok func(byte) bool) string {
	from := p.pos
	for p.pos < len(p.text) && ok(p.text[p.pos]) {
		p.pos++
	}
	return p.text[from:p.pos]
}

func (p *parser) clause() (Clause, error) {
	var c Clause
	p.space()
	start := p.pos
	if digits := p.run(func(b byte) bool { return b >= '0' && b <= '9' }); digits != "" {
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || n == 0 {
			p.pos = start
			return c, p.want("a count from 1 to 2147483647")
		}
		if p.pos == len(p.text) || p.text[p.pos] != '*' {
			return c, p.want(`"*" after the count`)
		}
		p.pos++
		c.Count = int(n)
	}
	start = p.pos
	c.Action = Action(p.run(func(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }))
	t, known := c.Action.syntax()
	if !known {
		p.pos = start
		return c, p.want(expectedAction(string(c.Action)))
	}
	return c, p.argument(&c, t)
}

// expectedAction returns the action that was probably meant, or the names of all actions.
func expectedAction(found string) string {
	var all []string
	for _, a := range Actions() {
		all = append(all, string(a))
	}
	if nearest := Nearest(found, all); nearest != "" {
		return "an action, perhaps " + nearest
	}
	slices.Sort(all)
	return "an action (" + strings.Join(all, ", ") + ")"
}

func (p *parser) argument(c *Clause, t syntax) error {
	if p.pos == len(p.text) || p.text[p.pos] != '(' {
		if t.needs != "" {
			return p.want(t.needs)
		}
		return nil
	}
	if t.arg == nil {
		return p.want("no argument after " + string(c.Action))
	}
	p.pos++
	start, depth := p.pos, 1
	for ; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if depth != 0 {
		return p.want(`")"`)
	}
	var want string
	if c.Arg, want = t.arg(p.text[start:p.pos]); want != "" {
		p.pos = start
		return p.want(want)
	}
	p.pos++
	return nil
}

func parseMillis(s string) (time.Duration, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 || n > int64(24*time.Hour/time.Millisecond) {
			return 0, fmt.Errorf("%d ms is not between 0 and a day", n)
		}
		return time.Duration(n) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > 24*time.Hour {
		return 0, fmt.Errorf("%q is no duration between 0 and a day", s)
	}
	return d.Truncate(time.Millisecond), nil
}

// maxDirty is the largest size of a pressure clause: the disk for the dirty pages is a
// file of the host.
const maxDirty = 1 << 30

// ParsePressure parses the argument of a pressure clause, `RATE/s,SIZE`: bytes per
// second, and bytes to dirty, up to 1 GiB. Sizes are whole numbers with an optional KiB,
// MiB or GiB.
func ParsePressure(s string) (bps, dirty int64, err error) {
	rate, size, ok := strings.Cut(s, ",")
	if !ok || !strings.HasSuffix(rate, "/s") {
		return 0, 0, fmt.Errorf("%q: expected RATE/s,SIZE such as 4MiB/s,60MiB", s)
	}
	if bps, err = parseBytes(strings.TrimSuffix(rate, "/s")); err != nil {
		return 0, 0, err
	}
	if dirty, err = parseBytes(size); err != nil {
		return 0, 0, err
	}
	if dirty > maxDirty {
		return 0, 0, fmt.Errorf("size %q: up to %d MiB", size, maxDirty>>20)
	}
	if bps < 2 { // io.max refuses 0, and on some kernels 1
		return 0, 0, fmt.Errorf("rate %q: at least 2 bytes per second", rate)
	}
	return bps, dirty, nil
}

func parseBytes(s string) (int64, error) {
	factor := int64(1)
	for suffix, f := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, factor = rest, f
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("size %q: expected a whole number with KiB, MiB or GiB", s)
	}
	return n * factor, nil
}
