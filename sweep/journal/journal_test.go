package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/sweep/plan"
)

// begun returns a journal of a plan with a crash at each of n points, in a folder.
func begun(t testing.TB, n int, shard plan.Shard) (string, *Journal, Head) {
	t.Helper()
	p := plan.Plan{Version: "v2.4.2", Subject: "abc"}
	for i := range n {
		at := failpoints.MustPoint("stmt:containerd:runtime.binary.Start:" + strings.Repeat("x", i+1))
		p.Specs = append(p.Specs, plan.Single(plan.Hit{Point: at, Nth: 1, Path: "create"}, "crash", "task"))
	}
	dir, h := t.TempDir(), Head{Plan: p.WithDigest(), Shard: shard}
	j := must.Get(Create(dir, h))(t)
	t.Cleanup(func() { _ = j.Close() }) // closed twice in some tests
	return dir, j, h
}

// whole is the shard that is the whole plan.
var whole = plan.Shard{I: 1, Of: 1}

// leak returns a finding with facts, as in a result.
func leak() []finding.Finding {
	return []finding.Finding{{
		Invariant: finding.Leak, Class: finding.ClassShim, Subject: finding.Subject{PID: 4, ID: "c0"},
		Facts: fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone},
	}}
}

func add(t *testing.T, j *Journal, is ...int) {
	t.Helper()
	for _, i := range is {
		must.Succeed(t, j.Add(&Result{I: i, Outcome: harness.Held}))
	}
}

func TestJournalIsReadBack(t *testing.T) {
	dir, j, h := begun(t, 3, whole)
	add(t, j, 2)
	must.Succeed(t, j.Add(&Result{I: 0, Outcome: harness.Violated, Found: leak()}))
	got, results, err := Read(dir)
	if err != nil || got.Plan.Digest != h.Plan.Digest || len(results) != 2 {
		t.Fatalf("%v, %d results, %v", got.Plan.Digest, len(results), err)
	}
	if r := results[1]; r.I != 0 || len(r.Found) != 1 || r.Found[0] != leak()[0] {
		t.Errorf("%+v", r)
	}
	if _, err := Create(dir, h); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a journal was begun over another: %v", err)
	}
	if err := CheckUnused(dir); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("%s is in use: %v", dir, err)
	}
	must.Succeed(t, CheckUnused(t.TempDir()))
}

// A case has one result of its own, and any number of further runs.
func TestFurtherRunsAreKept(t *testing.T) {
	dir, j, _ := begun(t, 3, whole)
	for _, on := range []string{"v2.4.2+fixes", "", "v2.4.2+fixes", "v2.4.1"} {
		must.Succeed(t, j.Add(&Result{I: 1, On: on, Outcome: harness.Held}))
	}
	_, all, err := Read(dir)
	if own := Own(all); err != nil || len(all) != 4 || len(own) != 1 || own[0].On != "" {
		t.Errorf("%+v, %v", all, err)
	}
	add(t, j, 1)
	if _, _, err := Read(dir); err == nil {
		t.Error("a second result of a case was accepted")
	}
}

// A sweep that is killed during a write leaves a torn line. It is cut off, and the next
// record begins a line.
func TestATornLineIsCutOff(t *testing.T) {
	dir, j, _ := begun(t, 3, whole)
	add(t, j, 0)
	spoilt(t, dir, func(s string) string { return s + `{"case":1,"verdict":"he` })
	if _, results, err := Read(dir); err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	must.Succeed(t, j.Close())
	j, _, results, err := Resume(dir)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	add(t, j, 1)
	must.Succeed(t, j.Close())
	if _, results, err := Read(dir); err != nil || len(results) != 2 {
		t.Fatalf("after it went on: %d results, %v", len(results), err)
	}
}

func TestAJournalHasOneWriter(t *testing.T) {
	dir, _, _ := begun(t, 1, whole)
	if _, _, _, err := Resume(dir); err == nil || !errors.Is(err, foreign.ErrInUse) {
		t.Errorf("a second writer was let in: %v", err)
	}
}

func TestBadJournalsAreRefused(t *testing.T) {
	for says, spoil := range map[string]func(string) string{
		"does not belong to this shard": func(s string) string { return s + `{"case":9,"verdict":"held","ms":1}` + "\n" },
		"or is repeated":                func(s string) string { return s + `{"case":0,"verdict":"held","ms":1}` + "\n" },
		"unknown field":                 func(s string) string { return s + `{"kase":1}` + "\n" },
		"its plan is incomplete":        func(s string) string { return s[:20] },
		"was changed after":             func(s string) string { return strings.Replace(s, `"crash"`, `"panic"`, 1) },
		"no journal of a sweep":         func(string) string { return "hello\n" },
		"another version of shimquake":  func(s string) string { return strings.Replace(s, `"format":3`, `"format":1`, 1) },
		"journal.jsonl:3":               func(s string) string { return s + "{\n" },
	} {
		dir, j, _ := begun(t, 2, whole)
		add(t, j, 0)
		spoilt(t, dir, spoil)
		if _, _, err := Read(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if _, _, err := Read(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// rebuild changes the build of a journal.
func rebuild(t *testing.T, dir string) {
	t.Helper()
	self := must.Get(BuildID())(t)
	spoilt(t, dir, func(text string) string {
		if !strings.Contains(text, self) {
			t.Fatalf("%q is not in the journal", self)
		}
		return strings.Replace(text, self, "shimquake of yesterday", 1)
	})
}

// kept adds a result with the history of a case without a fault, which has only its
// problem.
func kept(t *testing.T, j *Journal, i int, p ...harness.Problem) {
	t.Helper()
	nothing := &inventory.Inventory{Daemon: &inventory.Daemon{}}
	v := judge.Judge(harness.History{
		Case:   harness.Case{Name: "x"},
		Run:    harness.Run{Problems: p, Reached: harness.Completed},
		Before: nothing,
		After:  &harness.Inspection{Inventory: nothing},
	}, catalogue.Residues())
	r := must.Get(ResultOf(i, v))(t)
	r.Outcome = harness.Violated // the outcome by yesterday's shimquake
	must.Succeed(t, errors.Join(r.Keep(v), j.Add(&r)))
}

// A case that was violated by the rules of an older shimquake may hold by the present
// rules, because it judges the histories again.
func TestAnotherShimquakesSweepIsJudgedAgain(t *testing.T) {
	dir, j, _ := begun(t, 3, whole)
	kept(t, j, 0)
	kept(t, j, 2, harness.Problem{Kind: harness.ByMiss, Text: "x"})
	must.Succeed(t, j.Close())
	_, own, err := Read(dir)
	if err != nil || own[0].Outcome != harness.Violated {
		t.Fatalf("by the one that ran it: %+v, %v", own, err)
	}
	rebuild(t, dir)
	j, _, again, err := Resume(dir)
	must.Succeed(t, err)
	if again[0].Outcome != harness.Held || again[1].Outcome != harness.Invalid || again[1].Why != "x" {
		t.Errorf("%+v", again)
	}
	kept(t, j, 1)
	must.Succeed(t, j.Close())
	self := must.Get(BuildID())(t)
	h, all, err := Read(dir)
	if err != nil || h.Build != self || len(all) != 3 ||
		all[0].Outcome != harness.Held || all[2].Outcome != harness.Violated {
		t.Errorf("of two builds in one journal: %s, %+v, %v", h.Build, all, err)
	}
	n := 0
	err = EachHistory(dir, func(r Result, k harness.Kept) error { n++; return nil })
	if err != nil || n != 3 {
		t.Errorf("%d histories, %v", n, err)
	}
}

func TestWithoutHistoriesAnotherShimquakesSweepIsRefused(t *testing.T) {
	dir, j, _ := begun(t, 2, whole)
	add(t, j, 0)
	must.Succeed(t, j.Close())
	rebuild(t, dir)
	_, _, _, err := Resume(dir)
	if !errors.Is(err, errNoHistories) || !strings.Contains(err.Error(), "of yesterday") ||
		!strings.Contains(err.Error(), "--out") {
		t.Errorf("resumed: %v", err)
	}
}

// A torn or edited history is an error with its line, and nothing is judged.
func TestATornHistoryIsRefused(t *testing.T) {
	dir, j, _ := begun(t, 2, whole)
	kept(t, j, 0)
	must.Succeed(t, j.Close())
	rebuild(t, dir)
	name := filepath.Join(dir, harness.HistoriesFile)
	for what, change := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"edited":  func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
	} {
		text := must.Get(os.ReadFile(name))(t)
		must.Succeed(t, os.WriteFile(name, change(bytes.Clone(text)), 0o600))
		if _, _, err := Read(dir); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
		must.Succeed(t, os.WriteFile(name, text, 0o600))
	}
}

func FuzzRead(f *testing.F) {
	dir, j, _ := begun(f, 3, whole)
	must.Succeed(f, j.Add(&Result{I: 1, Outcome: harness.Violated, Found: leak()}))
	text := must.Get(os.ReadFile(filepath.Join(dir, fileName)))(f)
	f.Add(text)
	f.Add(text[:len(text)-5])
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, results, whole, err := read(bytes.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		if whole > int64(len(text)) || len(Own(results)) > len(h.Plan.Specs) {
			t.Fatalf("%d of %d bytes, %d results of %d cases", whole, len(text), len(results), len(h.Plan.Specs))
		}
	})
}

// A result has the path on which each fault fired.
func TestAResultSaysOnWhichPathsItsFaultsFired(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	h := &harness.History{
		Log: harness.Log{
			Calls: []harness.Call{
				{Who: "client", Verb: "create", At: at(10)}, {Who: "client", Verb: "delete", At: at(20)},
			},
		},
	}
	v := harness.Verdict{
		Outcome: harness.Violated, History: h, Case: harness.Case{Plan: make(failpoints.Plan, 3)},
		Firings: []harness.Firing{
			{Fault: -1, Count: 1, At: at(1)}, {Fault: 0, Count: 1, At: at(11)},
			{Fault: 1}, {Fault: 2, Count: 1, At: at(21)},
		},
	}
	r, err := ResultOf(0, v)
	if want := []string{"create", "", "delete"}; err != nil || !slices.Equal(r.Paths, want) {
		t.Errorf("%q, %v, want %q", r.Paths, err, want)
	}
	v.History = nil // as in a kept verdict
	if r, err = ResultOf(0, v); err != nil || r.Paths != nil {
		t.Errorf("%q, %v of a verdict without a history", r.Paths, err)
	}
}
