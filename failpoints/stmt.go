package failpoints

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// A statement is named by the short name of its package, its function with the receiver's
// type, and a slug of its text. The second statement with the same text gets a number.
var (
	stmtFunction = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[A-Za-z0-9_]+){1,2}$`)
	stmtText     = regexp.MustCompile(`^[A-Za-z0-9_.-]+(#[1-9][0-9]*)?$`)
)

// parseStmt parses a statement point. Only a build knows whether the statement exists.
func parseStmt(s string, parts []string) (Point, error) {
	const example = "stmt:shim:runc-task.service.Delete:if-err-nil"
	who := ruleOf(Stmt).who
	switch {
	case len(parts) != 4:
		return Point{}, fmt.Errorf("point %s: a stmt point has 4 parts joined by colons, for example %s", quote(s), example)
	case !slices.Contains(who, parts[1]):
		return Point{}, spelling.Unknown("point "+quote(s)+": process", parts[1], who)
	case !stmtFunction.MatchString(parts[2]):
		return Point{}, fmt.Errorf(
			"point %s: function %s: want PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD, for example %s",
			quote(s),
			quote(parts[2]),
			example,
		)
	case !stmtText.MatchString(parts[3]):
		return Point{}, fmt.Errorf(
			"point %s: statement %s: want letters, digits, dots and dashes, for example %s",
			quote(s),
			quote(parts[3]),
			example,
		)
	}
	return Point{Kind: Stmt, Who: parts[1], What: parts[2], Where: parts[3]}, nil
}

// decidedTogether rejects a term whose clauses are decided at different hits of a
// statement. These are the hits of the statement, of its call, and of contexts that can
// be ended. One count for different kinds of hits would mean nothing.
func decidedTogether(f Fault) error {
	var first term.Action
	for _, c := range f.Do.Clauses() {
		if c.Action == term.Off {
			continue
		}
		if first != "" && first.Moment() != c.Action.Moment() {
			return fmt.Errorf("%s: %s and %s are decided at different moments of a statement: make two faults of them",
				f.At, first, c.Action)
		}
		first = c.Action
	}
	return nil
}
