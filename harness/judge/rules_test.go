package judge

import (
	"cmp"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
)

// leftOut is the index of a rule without which the tests run. TestEveryRuleIsNeeded sets
// it for a run of its own.
const leftOut = "SHIMQUAKE_RULE_LEFT_OUT"

// catalogued are the residues of the catalogue.
var catalogued = catalogue.Residues()

func TestMain(m *testing.M) {
	if i, err := strconv.Atoi(cmp.Or(os.Getenv(leftOut), "none")); err == nil {
		all := rules
		rules = func(known excuses) []rule { return slices.Delete(all(known), i, i+1) }
	}
	os.Exit(m.Run())
}

// Every rule has a test that fails without the rule. Otherwise the rule could be removed
// without notice.
func TestEveryRuleIsNeeded(t *testing.T) {
	if os.Getenv(leftOut) != "" {
		t.Skip("runs the other tests once for each rule")
	}
	for i, r := range rules(nil) {
		name := runtime.FuncForPC(reflect.ValueOf(r).Pointer()).Name()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^Test", "-test.failfast")
			c.Env = append(os.Environ(), leftOut+"="+strconv.Itoa(i))
			if out, err := c.CombinedOutput(); err == nil {
				t.Errorf("no test fails without it\n%s", out)
			}
		})
	}
}
