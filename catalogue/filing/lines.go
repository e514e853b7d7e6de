package filing

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"

	"github.com/shimquake/shimquake/failpoints/weave"
)

// Lines returns the numbers and the texts of the quoted lines in the source of a release.
// It returns an error if a function does not exist, or if not exactly one of its lines
// matches.
func Lines(source fs.FS, claims []Code) (numbers []int, texts []string, err error) {
	for _, c := range claims {
		file, function, _ := strings.Cut(c.In, " ")
		text, err := fs.ReadFile(source, file)
		if err != nil {
			return nil, nil, err
		}
		first, last, err := linesOf(file, text, function)
		if err != nil {
			return nil, nil, err
		}
		found, below := 0, c.After == ""
		for i, line := range strings.Split(string(text), "\n") {
			if i+1 < first || i+1 > last {
				continue
			}
			if below && strings.Contains(line, c.Line) && (c.After == "" || found == 0) {
				found++
				numbers, texts = append(numbers, i+1), append(texts, strings.TrimSpace(line))
			}
			below = below || strings.Contains(line, c.After)
		}
		if found != 1 {
			return nil, nil, fmt.Errorf("%q is on %d lines of %s, and must be on one", c.Line, found, c.In)
		}
	}
	return numbers, texts, nil
}

// linesOf returns the first and the last line of a function, "Func" or "Type.Method".
func linesOf(file string, text []byte, function string) (first, last int, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && weave.FunctionName(f) == function {
			return set.Position(f.Pos()).Line, set.Position(f.End()).Line, nil
		}
	}
	return 0, 0, fmt.Errorf("%s has no function %s", file, function)
}
