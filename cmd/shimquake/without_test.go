package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/sweep/engine"
)

// repro prints and writes its findings although its last runs were interrupted.
func TestAnInterruptLeavesReproItsAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := reproFlags{out: t.TempDir()}
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence")}
	o := repro.Options{Trier: repro.Trier{Runner: r, Engine: engine.New(r, 1)}}
	shown := judge.Judge(harness.History{
		Case:   harness.Case{Name: "x", Containerd: "v2.4.2"},
		Run:    harness.Run{Reached: harness.Completed},
		Before: &inventory.Inventory{},
		After:  &harness.Inspection{Inventory: &inventory.Inventory{}},
		Reuse:  &harness.Reuse{Err: callerr.Of(context.DeadlineExceeded)},
	}, catalogue.Residues())
	if shown.Outcome != harness.Violated {
		t.Fatal(shown)
	}
	var out bytes.Buffer
	err := f.answer(ctx, "x", o, &out, func(o repro.Options) (repro.Answer, error) {
		o.Keep(shown)
		cancel() // while the first release without the bug runs
		return repro.Answer{Best: -1, Release: "v2.4.2"}, nil
	})
	if se, ok := err.(statusError); !ok || se.err != nil { //nolint:errorlint // it is made here
		t.Errorf("%v, want the answer's own status", err)
	}
	must.Get(os.Stat(filepath.Join(f.out, report.HTMLFile)))(t)
	must.Contain(t, out.String(), "next:", "printed")
}
