package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofEffects are the records of faults, and the functions that find effects in them. A
// rule that read one of these would have an excuse of its own.
var ofEffects = []string{
	"Deaths", "Kills", "Stops", "Reboots", "Firings", "IgnoredSIGTERM", "Plan", "Faultless", "AnyFired", "Misbehaviours",
	"downs", "shimDeaths", "effects", "downBetween", "shimKills", "shimKillsOf", "shimDiedBefore",
}

// mayRead has the files that read effects for another reason than an excuse.
var mayRead = map[string]string{
	"effects.go":       "finds the effects",
	"deaths.go":        "says when containerd and its shims ended",
	"tolerance.go":     "says what they excuse",
	"run.go":           "keeps them",
	"proofs.go":        "checks that each fault fired",
	"crashes.go":       "checks how containerd and its shims ended",
	"conditions.go":    "gives residues what happened",
	"circumstances.go": "adds causes to findings",
	"judge.go":         "copies the proofs into the verdict",
}

// A rule asks the table of tolerances what an effect excuses, and has no excuse of its
// own.
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
				t.Errorf("%s: %s: make it a row of the table tolerances", set.Position(id.Pos()), id.Name)
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

// Each statement has a row, and each effect excuses a statement.
func TestTolerancesAreComplete(t *testing.T) {
	used := map[kind]bool{}
	for what := exitNoticed; what <= nothingFrozen; what++ {
		if len(tolerances[what]) == 0 {
			t.Errorf("statement %d has no row", what)
		}
		for k := range tolerances[what] {
			used[k] = true
		}
	}
	for k := containerdDown; k <= shimFaked; k++ {
		if !used[k] {
			t.Errorf("effect %d excuses nothing", k)
		}
	}
}
