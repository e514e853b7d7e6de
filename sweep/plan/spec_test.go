package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// aFault draws a fault.
func aFault() *rapid.Generator[Fault] {
	return rapid.Custom(func(t *rapid.T) Fault {
		return Fault{
			Point:  failpoints.MustPoint(rapid.SampledFrom([]string{called, caught, method}).Draw(t, "point")),
			Nth:    rapid.IntRange(1, 5).Draw(t, "hit"),
			Action: rapid.SampledFrom([]string{"crash", "delay(20)", "pause"}).Draw(t, "action"),
			Path:   rapid.SampledFrom(Paths).Draw(t, "path"),
		}
	})
}

func TestSpecsComeBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{Workload: "grouped", Faults: rapid.SliceOfN(aFault(), 1, 6).Draw(t, "faults")}
		text := must.Get(json.Marshal(s))(t)
		var back Spec
		if err := json.Unmarshal(text, &back); err != nil || back.Key() != s.Key() || back.String() != s.String() {
			t.Fatalf("%s: %+v, %v", text, back, err)
		}
		c, err := s.Case("v2.4.2")
		if err != nil || c.Check() != nil || len(c.Plan) != len(s.Faults) || len(c.Name) > 180 {
			t.Fatalf("%s: %v, %v", c, err, c.Check())
		}
		again, err := harness.ParseCase("x", []byte(c.String()))
		if err != nil || again.Plan.String() != c.Plan.String() {
			t.Fatalf("%s: %v", again, err)
		}
	})
}

// Cases with different faults have different keys, and different names of folders.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Spec{Workload: "task", Faults: rapid.SliceOfN(aFault(), 1, 3).Draw(t, "a")}
		b := Spec{Workload: "task", Faults: rapid.SliceOfN(aFault(), 1, 3).Draw(t, "b"), Unsteady: true}
		x, errA := a.Case("")
		y, errB := b.Case("")
		same := x.Plan.String() == y.Plan.String()
		if errA != nil || errB != nil || (a.Key() == b.Key()) != same || same && x.Name != y.Name {
			t.Fatalf("%q, %q: %v, %v", a.Key(), b.Key(), errA, errB)
		}
	})
}

// Read refuses the plan of an older shimquake with one line that says what to do.
func TestPlansThatCannotBeRead(t *testing.T) {
	whole := must.Get(New(Options{}, traced()))(t)
	text := must.Get(json.Marshal(whole))(t)
	for says, text := range map[string]string{
		"another version of shimquake": `{"digest":"d","cases":[{"at":"` + method + `","hit":1,"do":"crash"}]}`,
		"is not a plan":                "hello",
		"4000000 values":               `{"format":3,"cases":[{}` + strings.Repeat(",{}", 4_000_000) + "]}",
		"format 3":                     strings.Replace(string(text), `"format":3`, `"format":2`, 1),
		"was changed":                  strings.Replace(string(text), `"hit":1`, `"hit":2`, 1),
		"is unknown":                   strings.Replace(string(text), "Shutdown", "Shutdwon", 1),
	} {
		file := filepath.Join(t.TempDir(), "plan.json")
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", says, err)
		}
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	must.Succeed(t, whole.Write(file))
	if back, err := Read(file); err != nil || back.Digest != whole.Digest || len(back.Specs) != len(whole.Specs) {
		t.Errorf("%s, want %s: %v", back.Digest, whole.Digest, err)
	}
	nothing := Plan{Specs: []Spec{{Workload: "task"}}}.WithDigest()
	must.FailWith(t, nothing.Check("x"), "needs a fault", "a case without a fault")
}

// A process that has been asked to exit may not reach a hit, so the case has fewer tries.
func TestTries(t *testing.T) {
	if sure, perhaps := (Spec{}).MaxRuns(), (Spec{Unsteady: true}).MaxRuns(); sure <= perhaps || perhaps < 2 {
		t.Errorf("%d tries usually, %d after an exit request", sure, perhaps)
	}
}
