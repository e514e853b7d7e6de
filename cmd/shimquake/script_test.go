package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/plan"
)

// The scripts run the commands of the pages. The scripts in root run cases.
const (
	scriptsDir  = "testdata/script"
	rootScripts = "testdata/script/root"
)

// TestScripts runs what needs neither root nor a containerd.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: scriptsDir, Setup: kept, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "usage": usage}})
}

// status runs a program that must end with an exit status.
func status(ts *testscript.TestScript, _ bool, words []string) {
	var exit *exec.ExitError
	if err := ts.Exec(words[1], words[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != words[0] {
		ts.Fatalf("%v, want status %s", err, words[0])
	}
}

// usage runs a command that refuses its input: it prints nothing, and complains in one
// line.
func usage(ts *testscript.TestScript, neg bool, words []string) {
	status(ts, neg, append([]string{strconv.Itoa(statusUsage)}, words...))
	out, complaint := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if out != "" || !strings.HasPrefix(complaint, "shimquake: ") ||
		strings.Count(strings.TrimSpace(complaint), "\n") != 0 {
		ts.Fatalf("it says %q, %q, want one complaint", out, complaint)
	}
}

// TestScriptsAsRoot runs cases, as the pages have them.
func TestScriptsAsRoot(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "for worlds")
	must.TakeLong(t, "runs cases for a minute")
	testscript.Run(t, testscript.Params{Dir: rootScripts, Setup: kept, RequireExplicitExec: true,
		RequireUniqueNames: true, Cmds: map[string]func(*testscript.TestScript, bool, []string){"maybe": maybe}})
}

// maybe runs a program whose exit status depends on the machine. That it ran is checked
// by what it prints.
func maybe(ts *testscript.TestScript, _ bool, words []string) {
	var exit *exec.ExitError
	if err := ts.Exec(words[0], words[1:]...); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
}

// scripted are the commands that the scripts run, as the pages have them.
func scripted(t *testing.T) map[string]bool {
	t.Helper()
	ran := map[string]bool{}
	for _, dir := range []string{scriptsDir, rootScripts} {
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no script is in %s: %v", dir, err)
		}
		for _, f := range files {
			a := must.Get(txtar.ParseFile(f))(t)
			for line := range strings.Lines(string(a.Comment)) {
				line = strings.TrimLeft(strings.TrimSpace(line), "! ")
				line = strings.TrimPrefix(strings.TrimPrefix(line, "exec "), "maybe ")
				if rest, ok := strings.CutPrefix(line, "shimquake "); ok {
					ran[rest] = true
				}
			}
		}
	}
	return ran
}

// kept lays out what the pages suppose: evidence of a run, sweeps, a case and a report.
func kept(e *testscript.Env) error {
	var histories []harness.Kept
	for _, name := range []string{"violated", "held"} {
		k, err := evidenceHere(e.WorkDir, name)
		if err != nil {
			return err
		}
		histories = append(histories, k)
	}
	absolute, err := filepath.Abs(checkout)
	e.Setenv("CHECKOUT", absolute)
	for _, s := range []struct{ dir, shard string }{
		{"out/sweep", "1/1"}, {"shard1", "1/2"}, {"shard2", "2/2"}, {"elsewhere", "1/2"},
	} {
		err = errors.Join(err, sweptHere(filepath.Join(e.WorkDir, s.dir), s.shard, histories))
	}
	return errors.Join(err, tabledHere(filepath.Join(e.WorkDir, "out/matrix"), histories), casesOfPages(e.WorkDir))
}

// evidenceHere lays out the evidence of a kept history, in a folder whose name ends with
// that of the history. Histories are rewritten in the newest format.
func evidenceHere(dir, name string) (harness.Kept, error) {
	text, err := unzipped(filepath.Join("testdata/kept", name+".json.gz"))
	if err != nil {
		return harness.Kept{}, err
	}
	k, err := harness.DecodeKept(name, text)
	if err != nil {
		return k, err
	}
	if text, err = k.Encode(); err != nil {
		return k, err
	}
	dir = filepath.Join(dir, "out/evidence", k.History.Case.Name+"-"+name)
	return k, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, harness.HistoryFile), text, 0o644))
}

// unzipped is the text of a compressed file.
func unzipped(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// sweptHere is a sweep's folder with the results of histories.
func sweptHere(dir, shard string, histories []harness.Kept) error {
	s, err := plan.ParseShard(shard)
	if err != nil {
		return err
	}
	p := plan.Plan{Version: "v2.3.7", Containerd: "v2.3.7",
		Options: plan.Options{EveryWorkload: true, Hits: "path"}.String()}
	for _, word := range []string{"1*error(injected)", "1*crash"} {
		p.Specs = append(p.Specs, plan.Spec{Workload: "task", Faults: []plan.Fault{{
			Point: histories[0].History.Case.Plan[0].At, Nth: 1, Action: strings.TrimPrefix(word, "1*"), Path: "delete"}}})
	}
	j, err := journal.Create(dir, journal.Head{Plan: p.WithDigest(), Shard: s})
	for i, k := range histories {
		if err != nil || !s.Has(i) {
			continue
		}
		var r journal.Result
		v := rejudge.Kept(k)
		v.History, v.Evidence = &k.History, ""
		if r, err = journal.ResultOf(i, v); err == nil {
			err = errors.Join(r.Keep(v), j.Add(&r))
		}
	}
	return errors.Join(err, j.Close())
}

// played is an engine that plays histories again, by release.
type played []harness.Kept

func (p played) Run(_ context.Context, c harness.Case) harness.Verdict {
	for i := range p {
		if h := &p[i].History; h.Version == c.Containerd {
			v := judge.Judge(*h, catalogue.Residues())
			v.History = h
			return v
		}
	}
	return harness.Verdict{Case: c, Outcome: harness.Invalid}
}

func (played) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("a matrix traces nothing")
}

// tabledHere is a matrix's folder with histories.
func tabledHere(dir string, histories []harness.Kept) error {
	b, err := catalogue.FindBug(histories[0].History.Case.Name)
	if err != nil {
		return err
	}
	m := matrix.Matrix{Bugs: []catalogue.Bug{b}, Engine: engine.New(played(histories), 1), Dir: dir}
	for _, k := range histories {
		m.Releases = append(m.Releases, k.History.Version)
	}
	_, err = m.Run(context.Background())
	return err
}

// casesOfPages writes the cases that pages show, as files: the name of a case, and .yaml.
func casesOfPages(dir string) error {
	text, err := os.ReadFile(filepath.Join(checkout, "docs/write-a-case.md"))
	if err != nil {
		return err
	}
	for _, b := range strings.Split(string(text), "```yaml\n")[1:] {
		code, _, _ := strings.Cut(b, "```")
		if !strings.HasPrefix(code, "name:") {
			continue
		}
		c, err := harness.ParseCase("docs/write-a-case.md", []byte(code))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, c.Name+".yaml"), []byte(code), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
