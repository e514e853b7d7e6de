package weave

import (
	"fmt"
	"go/ast"
	"strings"
)

// slugLength is how much of a statement's first line its name keeps, in bytes.
const slugLength = 40

// Slug returns a statement's first line for its name: letters, digits, `_` and `.` stay,
// every other text becomes one `-`. It is never empty.
func Slug(line string) string {
	var b strings.Builder
	gap := false
	for i := range len(line) {
		c := line[i]
		if c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteByte(c)
			gap = false
		} else {
			gap = true
		}
		if b.Len() >= slugLength {
			break
		}
	}
	if b.Len() == 0 {
		return "block" // of the statements in containerd only a bare block has neither letter nor digit
	}
	return strings.TrimSuffix(b.String()[:min(b.Len(), slugLength)], "-")
}

// FunctionName returns FUNC of a point's name: Func or Recv.Func, without star and type
// parameters.
func FunctionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// namer names the statements of a package: the second statement of a function with the
// same text gets #2.
type namer struct {
	pkg  Package
	seen map[string]int
}

func (n *namer) name(function, line string) string {
	name := fmt.Sprintf("stmt:%s:%s.%s:%s", n.pkg.Who, n.pkg.Alias, function, Slug(line))
	n.seen[name]++
	if k := n.seen[name]; k > 1 {
		return fmt.Sprintf("%s#%d", name, k)
	}
	return name
}
