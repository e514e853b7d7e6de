package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofEffects are the records of faults, and the functions that find effects in them. A
// rule that read one of these would have an excuse of its own.
var ofEffects = []string{
	"Deaths", "Kills", "Stops", "Reboots", "Firings", "IgnoredSIGTERM", "Plan", "Faultless", "AnyFired", "Misbehaviours",
	"effects", "effectsOf", "downBetween", "killsShimOf", "shimDied",
}

// mayRead has the files that read effects for another reason than an excuse.
var mayRead = map[string]string{
	"effects.go":       "finds the effects",
	"deaths.go":        "says when containerd and its shims ended",
	"tolerance.go":     "says what they excuse",
	"run.go":           "keeps them",
	"proofs.go":        "checks that each fault fired",
	"logged.go":        "counts containerd's starts",
	"crashes.go":       "checks how containerd and its shims ended",
	"conditions.go":    "gives residues what happened",
	"circumstances.go": "adds causes to findings",
	"judge.go":         "copies the proofs into the verdict",
}

// A rule asks the statements what an effect excuses, and has no excuse of its own.
func TestExcusesStandInOneTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || mayRead[name] != "" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[ast.Node]bool{} // of composite literals, which write and do not read
		ast.Inspect(file, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				keys[kv.Key] = true
			}
			if id, ok := n.(*ast.Ident); ok && !keys[id] && slices.Contains(ofEffects, id.Name) {
				t.Errorf("%s: %s: make it a statement in tolerance.go", set.Position(id.Pos()), id.Name)
			}
			return true
		})
	}
	for name := range mayRead {
		if !slices.Contains(files, name) {
			t.Errorf("%s does not exist", name)
		}
	}
}

// Each statement has an excuse, and each effect excuses a statement.
func TestTolerancesAreComplete(t *testing.T) {
	text := map[string]string{}
	for _, name := range []string{"tolerance.go", "effects.go"} {
		all, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(all)
	}
	if strings.Contains(text["tolerance.go"], "statement{}") {
		t.Error("a statement has no excuse")
	}
	_, kinds, _ := strings.Cut(text["effects.go"], "const (\n")
	kinds, _, _ = strings.Cut(kinds, "\n)")
	for line := range strings.Lines(kinds) {
		if kind := strings.Fields(line)[0]; !strings.Contains(text["tolerance.go"], kind+":") {
			t.Errorf("the effect %s excuses nothing", kind)
		}
	}
}
