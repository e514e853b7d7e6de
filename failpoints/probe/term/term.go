// Package term is the grammar of a fault: what happens at the n-th hit of a point.
//
// A term is one or more clauses joined by "->", each `[count*]action[(argument)]`, in the
// grammar that containerd's failpoints and gofail share with FreeBSD's fail(9).
// `2*off->1*crash` lets two hits pass and crashes at the third; a clause without a count
// holds permanently; after the last clause nothing happens any more.
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
	// Count is how many hits the clause holds for; 0 means all that follow.
	Count  int
	Action Action
	// Arg is the argument's text, without the parentheses.
	Arg string
}

// Delay is the duration of a delay clause.
func (c Clause) Delay() time.Duration {
	d, err := parseMillis(c.Arg)
	if err != nil {
		return 0
	}
	return d
}

// Text is the argument of an error or panic, with a default that names its author.
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

// String is the term's canonical text, which Parse accepts.
func (t Term) String() string {
	if t.text == "" {
		return string(Off)
	}
	return t.text
}

// Clauses are the term's parts in order.
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

// At is the clause that holds at the n-th hit (from 1). Past the last clause it is off.
func (t Term) At(n int) Clause {
	for _, c := range t.Clauses() {
		if c.Count == 0 || n <= c.Count {
			return c
		}
		n -= c.Count
	}
	return Clause{Action: Off}
}

// Moment is when the term is decided at a statement: all its clauses are at the same.
func (t Term) Moment() Moment {
	for _, c := range t.Clauses() {
		if c.Action != Off {
			return c.Action.Moment()
		}
	}
	return AtStatement
}

// Of makes a term of clauses that are known to be well-formed; it panics where Parse
// would return an error.
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
