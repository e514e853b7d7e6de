package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/plan"
)

// small is a folder with the plan of a sweep of some ten cases, whole and in shards.
type small struct {
	*testing.T
	dir   string
	cases int
}

// smallPlan is the plan of all of them, which takes ten seconds to trace.
var smallPlan struct {
	sync.Once
	made answer
}

func newSmall(t *testing.T) *small {
	t.Helper()
	must.BeRoot(t, "for worlds")
	s := &small{T: t, dir: t.TempDir()}
	smallPlan.Do(func() {
		smallPlan.made = shimquake(t, nil, "sweep", "--plan-only", "--who", "shim,daemon", "--actions", "error",
			"--workload", "task",
			"--path", "start,exit,delete", // an error of a Create leaves what luck decides
			"--points", "^rpc:.*Task.*:(entry|exit)$")
	})
	if a := smallPlan.made; a.status != statusHeld || a.out == "" {
		t.Fatalf("no plan: %d, %s", a.status, a.err)
	}
	must.Succeed(t, os.WriteFile(s.plan(), []byte(smallPlan.made.out), 0o644))
	p, err := plan.Read(s.plan())
	if err != nil || len(p.Specs) < 6 {
		t.Fatalf("%d cases, %v; want some", len(p.Specs), err)
	}
	s.cases = len(p.Specs)
	return s
}

func (s *small) plan() string           { return filepath.Join(s.dir, "plan.json") }
func (s *small) at(name string) string  { return filepath.Join(s.dir, name) }
func (s *small) dirOf(sh string) string { return s.at("shard-" + strings.ReplaceAll(sh, "/", "-")) }

// sweep runs a shard of the plan.
func (s *small) sweep(shard string) answer {
	s.Helper()
	a := shimquake(s.T, nil, "sweep", "--plan", s.plan(), "--shard", shard, "--replay", "0", "--out", s.dirOf(shard))
	if a.status != statusHeld && a.status != statusViolated {
		s.Fatalf("shard %s: %d, %s%s", shard, a.status, a.out, a.err)
	}
	return a
}

func (s *small) merge(shards ...string) answer {
	s.Helper()
	args := []string{"sweep", "merge", "--replay", "0", "--out", s.at("merged")}
	for _, shard := range shards {
		args = append(args, s.dirOf(shard))
	}
	return shimquake(s.T, nil, args...)
}

// findings returns the findings of a report in a folder, without the folder's name.
func (s *small) findings(dir string) []report.Finding {
	s.Helper()
	all := must.Get(report.Findings(filepath.Join(dir, report.ResultsFile)))(s)
	for i := range all {
		all[i].Evidence = ""
	}
	return all
}

// results is how many results a journal has so far.
func (s *small) results(shard string) int {
	text, err := os.ReadFile(filepath.Join(s.dirOf(shard), "journal.jsonl"))
	if err != nil {
		return 0
	}
	return max(bytes.Count(text, []byte("\n"))-1, 0)
}

// killed runs a shard, and kills it once it has a result.
func (s *small) killed(shard string) {
	s.Helper()
	self := must.Get(os.Executable())(s)
	cmd := exec.CommandContext(s.Context(), self, "sweep", "--plan", s.plan(), "--shard", shard, "--parallel", "1",
		"--replay", "0", "--out", s.dirOf(shard))
	cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
	must.Succeed(s, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(5 * time.Millisecond); s.results(shard) == 0; <-tick.C {
		select {
		case err := <-ended:
			s.Fatalf("it ended before it was killed: %v", err)
		default:
		}
	}
	must.Succeed(s, cmd.Process.Kill())
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != -1 { // by a signal
		s.Fatalf("it was not killed: %v", err)
	}
	if s.results(shard) >= s.cases/2 {
		s.Fatalf("shard %s was through when it was killed", shard)
	}
}

// Shards on several machines give the report of one machine, word for word, also when one
// of them was killed and resumed.
func TestShardsFindWhatOneMachineFinds(t *testing.T) {
	t.Parallel()
	s := newSmall(t)
	one := s.sweep("1/1")
	s.killed("1/2")
	s.sweep("2/2")

	// The error names a truncated or lost shard, and there is no report.
	for says, shards := range map[string][]string{
		"shard 1/2 was interrupted after": {"1/2", "2/2"}, "shard 1/2 is missing": {"2/2"}} {
		if a := s.merge(shards...); a.status != statusInvalid || a.out != "" || !strings.Contains(a.err, says) {
			t.Errorf("%q: status %d, %q, %q", says, a.status, a.out, a.err)
		}
	}

	a := shimquake(t, nil, "sweep", "--resume", s.dirOf("1/2"), "--replay", "0")
	if a.status > statusViolated || !strings.Contains(a.err+a.out, "shard 1/2") {
		t.Fatalf("resumed: %d, %s%s", a.status, a.out, a.err)
	}
	merged := s.merge("2/2", "1/2")
	there := strings.NewReplacer(s.at("merged"), "OUT", s.dirOf("1/1"), "OUT")
	if merged.status != one.status || there.Replace(merged.out) != there.Replace(one.out) {
		t.Errorf("merged: %d\n%s\none machine: %d\n%s", merged.status, merged.out, one.status, one.out)
	}
	got, want := s.findings(s.at("merged")), s.findings(s.dirOf("1/1"))
	if !slices.EqualFunc(got, want, func(a, b report.Finding) bool { return a.Key == b.Key && a.Cases == b.Cases }) {
		t.Errorf("merged %+v, one machine %+v", got, want)
	}
	if a := shimquake(t, nil, "judge", "--changed", s.dirOf("1/2"), s.dirOf("2/2")); a.status != statusHeld {
		t.Errorf("judged again: %d, %s%s", a.status, a.out, a.err)
	}
}

// A fault that never fires, and a run of nothing, are red.
func TestASweepThatShowsNothing(t *testing.T) {
	t.Parallel()
	s := newSmall(t)
	a := shimquake(t, nil, "sweep", "--plan", s.plan(), "--shard", "98/99", "--out", s.at("none"))
	must.Equal(t, a.status, statusUsage, "a shard of nothing")
	must.Contain(t, a.err, "shard 98/99 has no case", "a shard of nothing")
	p := must.Get(plan.Read(s.plan()))(t)
	p.Specs = p.Specs[:2]
	p.Specs[1].Faults[0].Nth = 999 // never hit so often
	p = p.WithDigest()
	must.Succeed(t, p.Write(s.plan()))
	a = shimquake(t, nil, "sweep", "--plan", s.plan(), "--replay", "0", "--out", s.at("unfired"))
	if a.status != statusInvalid || !strings.Contains(a.out, "2 cases planned, 2 executed, 1 fired") ||
		!strings.Contains(a.out, "not fired") {
		t.Errorf("a fault that does not fire: %d, %s%s", a.status, a.out, a.err)
	}
	if a := shimquake(t, nil, "judge", t.TempDir()); a.status == statusHeld {
		t.Errorf("an empty folder: %d, %s%s", a.status, a.out, a.err)
	}
}
