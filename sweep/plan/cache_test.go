package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
)

// played is a Runner whose runs have the history of a kept run.
type played struct {
	engine.Runner
	verdict harness.Verdict
	runs    int
}

func (p *played) Run(_ context.Context, c harness.Case) harness.Verdict {
	p.runs++
	v := p.verdict
	h := *v.History
	v.Case, h.Case = c, c
	v.History = &h
	return v
}

// A case without a fault runs once. It runs again if its history is damaged or was
// invalid, if the rules of this build find something in it, or with Fresh.
func TestFaultlessRunsOnce(t *testing.T) {
	text := must.Get(os.ReadFile("../../cmd/shimquake/testdata/kept/held.json.gz"))(t)
	k := must.Get(harness.Unpack(bytes.NewReader(text), "held", harness.Part{Len: int64(len(text))}))(t)
	p := &played{verdict: k.Verdict}
	p.verdict.History = &k.History
	o := Options{Cache: t.TempDir()}
	c := k.History.Case
	for _, step := range []struct {
		name   string
		before func()
		runs   int
	}{
		{"first", func() {}, 1},
		{"second", func() {}, 0},
		{"other binaries of the same name", func() { c.Containerd = "src:x" }, 0},
		{"fresh", func() { o.Fresh = true }, 1},
		{"after fresh", func() { o.Fresh = false }, 0},
		{"damaged", func() { damage(t, o.Cache) }, 1},
		{"another text", func() { c.Workload.Debug = true }, 1},
		{"invalid", func() { c.Workload.Debug = false; damage(t, o.Cache); p.verdict.Outcome = harness.Invalid }, 1},
		{"after invalid", func() { p.verdict.Outcome = harness.Held }, 1},
		{"violated by this build", func() {
			damage(t, o.Cache)
			p.verdict.History.Problems = []harness.Problem{{Kind: harness.ByEnd, Text: "interrupted"}}
		}, 1},
		{"after that", func() {}, 1},
	} {
		step.before()
		p.runs = 0
		err := task(t, p, func(task *engine.Task) error {
			_, err := o.faultless(task, c)
			return err
		})
		if err != nil || p.runs != step.runs {
			t.Errorf("%s: %d runs, want %d: %v", step.name, p.runs, step.runs, err)
		}
	}
}

// damage cuts all kept histories.
func damage(t *testing.T, cache string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "faultless", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories are kept: %v", err)
	}
	for _, f := range files {
		must.Succeed(t, os.Truncate(f, 100))
	}
}

// A plan is made once for the same options. Another name of the same binaries is no
// reason to make it again.
func TestAPlanIsKept(t *testing.T) {
	o := Options{Cache: t.TempDir(), Containerd: "v2.4.2"}
	if _, ok := o.cached(); ok {
		t.Fatal("an empty cache has a plan")
	}
	p := must.Get(New(o, traced()))(t)
	must.Succeed(t, o.keep(o.planFile(), must.Get(json.Marshal(p))(t)))
	if back, ok := o.cached(); !ok || back.Digest != p.Digest {
		t.Errorf("%s, want %s", back.Digest, p.Digest)
	}
	o.Containerd = "src:x"
	if back, ok := o.cached(); !ok || back.Containerd != o.Containerd || back.Check("x") != nil {
		t.Errorf("of another name: %v, %v", back.Containerd, back.Check("x"))
	}
	other, fresh := o, o
	other.Hits, fresh.Fresh = "all", true
	for _, o := range []Options{other, fresh} {
		if _, ok := o.cached(); ok {
			t.Errorf("%s has the plan of %s (fresh %v)", o, Options{}, o.Fresh)
		}
	}
	must.Succeed(t, os.Truncate(o.planFile(), 100))
	if _, ok := o.cached(); ok {
		t.Error("a plan without an end was read")
	}
}
