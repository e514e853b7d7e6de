// Package term is the grammar of a fault: it names the action at the n-th hit of a point.
//
// A term is one or more clauses joined by "->", each `[count*]action[(argument)]`, in the
// grammar that containerd's failpoints and gofail share with FreeBSD's fail(9).
// `2*off->1*crash` does nothing at two hits and crashes at the third. A clause without a
// count holds permanently. Nothing happens after the last clause.
//
// The package uses the standard library only: it is linked into instrumented binaries
// too.
package term

import (
	"strconv"
	"strings"
	"time"
)

// Clause is one part of a term.
type Clause struct {
	// Count is the number of hits that the clause holds for; 0 means all that follow.
	Count  int
	Action Action
	// Arg is the argument's text, without the parentheses.
	Arg string
}

// Delay returns the duration of a delay clause.
func (c Clause) Delay() time.Duration {
	d, err := parseMillis(c.Arg)
	if err != nil {
		return 0
	}
	return d
}

// Text returns the argument of an error or panic. The default names shimquake.
func (c Clause) Text() string {
	if c.Arg == "" {
		return "injected by shimquake"
	}
	return c.Arg
}

func (c Clause) String() string {
	var b strings.Builder
	if c.Count > 0 {
		b.WriteString(strconv.Itoa(c.Count))
		b.WriteByte('*')
	}
	b.WriteString(string(c.Action))
	if c.Arg != "" {
		b.WriteString("(" + c.Arg + ")")
	}
	return b.String()
}

// Term is a parsed term. It is comparable; the zero Term is "off".
type Term struct{ text string }

// String returns the term's canonical text, which Parse accepts.
func (t Term) String() string {
	if t.text == "" {
		return string(Off)
	}
	return t.text
}

// Clauses returns the term's parts in order.
func (t Term) Clauses() []Clause {
	if t.text == "" {
		return nil
	}
	cs, err := parse(t.text)
	if err != nil { // a Term only comes from Parse or Of
		panic(err)
	}
	return cs
}

// At returns the clause that holds at the n-th hit (from 1). Past the last clause it is
// off.
func (t Term) At(n int) Clause {
	for _, c := range t.Clauses() {
		if c.Count == 0 || n <= c.Count {
			return c
		}
		n -= c.Count
	}
	return Clause{Action: Off}
}

// Moment returns which hits of a statement the term counts. It is the same for all
// clauses.
func (t Term) Moment() Moment {
	for _, c := range t.Clauses() {
		if c.Action != Off {
			return c.Action.Moment()
		}
	}
	return AtStatement
}

// Of makes a term of well-formed clauses; it panics if Parse would return an error.
func Of(clauses ...Clause) Term {
	parts := make([]string, len(clauses))
	for i, c := range clauses {
		parts[i] = c.String()
	}
	t, err := Parse(strings.Join(parts, "->"))
	if err != nil {
		panic(err)
	}
	return t
}
