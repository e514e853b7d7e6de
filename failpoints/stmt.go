package failpoints

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// A statement's names: the short name of its package and its function, with the
// receiver's type; and a slug of its text, numbered from the second of the same text on.
var (
	stmtFunction = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[A-Za-z0-9_]+){1,2}$`)
	stmtText     = regexp.MustCompile(`^[A-Za-z0-9_.-]+(#[1-9][0-9]*)?$`)
)

// parseStmt reads a statement point. Whether there is such a statement is known of a
// build only.
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

// decidedTogether refuses a term at a statement whose clauses are decided at different
// hits: the statement's, its call's, and those where a context can be ended. Their counts
// would not be of the same thing.
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
