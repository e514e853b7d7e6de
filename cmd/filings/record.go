package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/filing"
	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/repro/signature"
	"github.com/shimquake/shimquake/sweep/engine"
)

// tries is how often a case runs until it shows all findings of its bug. Some bugs are
// races.
const tries = 5

// record runs a bug's case on the newest release with the bug. If the issue has a patch
// of the source, the patched source runs. It also runs the same workload without a
// fault, and keeps what only the run with the fault logged.
func record(ctx context.Context, f filing.Filing) (r filing.Recorded, err error) {
	r = filing.Recorded{Bug: f.Bug.ID, Release: f.Release(), Digest: f.Digest()}
	source, err := containerd.SourceDir(ctx, r.Release)
	if err != nil {
		return r, err
	}
	if r.Lines, r.Texts, err = filing.Lines(os.DirFS(source), f.Code); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "shimquake-filing-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	c, without := f.Run, report.WithoutFault(f.Run)
	if f.Patch == "" && f.Run.Faultless() {
		without = plainCase(f.Run.Workload.API)
	}
	c.Containerd, without.Containerd = r.Release, r.Release
	if f.Patch != "" {
		name := filepath.Join(dir, "filing.patch")
		if err := os.WriteFile(name, []byte(f.Patch), 0o644); err != nil {
			return r, err
		}
		c.Containerd += "+" + name
	}
	run := &runner.Runner{
		Residues: catalogue.Residues(), Evidence: filepath.Join(dir, "evidence"), KeepAll: true, Log: os.Stderr,
	}
	for _, subject := range []string{c.Containerd, without.Containerd} {
		if err := run.Prepare(ctx, subject); err != nil {
			return r, err
		}
	}
	wanted := len(f.Bug.Left)
	if f.Bug.OneOf {
		wanted = 1
	}
	e := engine.New(run, 1)
	enough := func(v harness.Verdict) bool { return len(repro.Shows(f.Bug, v)) >= wanted }
	verdicts, err := e.Repeat(ctx, c, tries, enough, engine.KeepAll)
	if err != nil {
		return r, err
	}
	plain, err := e.Repeat(ctx, without, 1, nil, engine.KeepAll)
	if err != nil {
		return r, err
	}
	v := slices.MaxFunc(verdicts, func(a, b harness.Verdict) int {
		return cmp.Compare(len(repro.Shows(f.Bug, a)), len(repro.Shows(f.Bug, b)))
	})
	left := repro.Shows(f.Bug, v)
	if len(left) == 0 {
		return r, fmt.Errorf("none of %d runs shows the bug; the first run is %s: %s", tries, v.Outcome, v.ProblemsText())
	}
	for _, x := range left {
		_, is, _ := strings.Cut(wording.Of(x), ": ")
		r.Left = append(r.Left, shown(is))
	}
	r.Left = slices.Compact(r.Left)
	return r, read(ctx, &r, v.Evidence, plain[0].Evidence, f)
}

// read notes the log lines and errors that are in the evidence of a run, and not in
// that of the run without a fault.
func read(ctx context.Context, r *filing.Recorded, evidence, without string, f filing.Filing) error {
	said, err := signature.LogsIn(evidence)
	if err != nil {
		return err
	}
	for i, text := range said.Errors {
		r.Errors = append(r.Errors, shown(said.Calls[i]+": "+text))
	}
	failed := strings.Join(r.Errors, "\n")
	before, err := signature.LogsIn(without)
	if err != nil {
		return err
	}
	for _, line := range signature.Lines(said, before) {
		if refused := strings.Contains(line, "is reserved for"); !refused || strings.Contains(failed, "is reserved for") {
			r.Log = append(r.Log, shown(line)) // otherwise the error comes from a check of the harness, which uses a name again
		}
	}
	if f.LogUntil != "" {
		last := slices.IndexFunc(r.Log, func(line string) bool { return strings.Contains(line, f.LogUntil) })
		if last < 0 {
			return fmt.Errorf("logUntil: no line of the log has %q", f.LogUntil)
		}
		r.Log = r.Log[:last+1]
	}
	r.Log = r.Log[:min(len(r.Log), maxLines)]
	r.Errors = slices.Compact(r.Errors)
	r.Errors = r.Errors[:min(len(r.Errors), maxLines)]
	if f.Run.Workload.API == harness.CRI {
		text, err := os.ReadFile(filepath.Join(evidence, "config.toml"))
		if err != nil {
			return err
		}
		_, ofCRI, _ := strings.Cut(string(text), criSection)
		r.Config = shown(criSection + ofCRI)
	}
	if r.Machine, err = machine(ctx, evidence); err != nil {
		return err
	}
	r.Stack, err = stack(evidence, f.Stuck)
	return err
}

// criSection begins the part of a configuration that is CRI's.
const criSection = "[plugins.'io.containerd.cri."

// plainCase is a case without a fault, for an API.
func plainCase(api harness.API) harness.Case {
	all := plain.Cases()
	return all[slices.IndexFunc(all, func(c harness.Case) bool {
		return c.Workload.API == api && (c.Name == "plain-exit" || c.Name == "plain-pod")
	})]
}

// maxLines is the maximum number of log lines, and of errors, that are kept.
const maxLines = 12

// machine has the lines about the machine that an issue needs.
func machine(ctx context.Context, evidence string) (lines []string, err error) {
	text, err := os.ReadFile(filepath.Join(evidence, "machine.txt"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cgroups: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	const node = `. /etc/os-release; echo "uname -srvm: $(uname -srvm)"; echo "distribution: $PRETTY_NAME"`
	said, err := child.Command(ctx, "sh", "-c", node).Output()
	if err != nil {
		return nil, fmt.Errorf("read the names of the kernel and of the distribution: %w", err)
	}
	lines = append(lines, strings.Split(strings.TrimSpace(string(said)), "\n")...)
	return append(lines, "runc: "+containerd.RuncVersion), nil
}

// stack returns the first goroutine whose stack has a function. The argument names the
// process and the function: "shim FUNCTION".
func stack(evidence, where string) (string, error) {
	if where == "" {
		return "", nil
	}
	process, function, _ := strings.Cut(where, " ")
	files := "goroutines-" + process + "*.txt"
	if process == "panic" {
		files = "containerd.log"
	}
	dumps, err := filepath.Glob(filepath.Join(evidence, files))
	if err != nil {
		return "", err
	}
	for _, name := range dumps {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for part := range strings.SplitSeq(string(text), "\n\n") {
			part, _, _ = strings.Cut(part, "\ntime=") // the log goes on
			if strings.HasPrefix(part, "goroutine ") && strings.Contains(part, function) {
				return shorten(part), nil
			}
		}
	}
	return "", errors.New("no goroutine of a " + process + " stands in " + function)
}

// shorten leaves the arguments of calls, offsets, and the frames of probes out of a
// stack.
func shorten(stack string) string {
	var lines []string
	probe := false
	for line := range strings.SplitSeq(strings.TrimSpace(stack), "\n") {
		if place := strings.HasPrefix(line, "\t"); !place {
			probe = strings.Contains(line, "shimquake")
			if at := strings.LastIndexByte(line, '('); at > 0 && strings.HasSuffix(line, ")") {
				line = line[:at] + "(...)"
			}
		}
		if !probe {
			line, _, _ = strings.Cut(line, " +0x")
			lines = append(lines, line)
		}
	}
	return shown(strings.Join(lines, "\n"))
}

// ofHarness are paths and names of the harness, each with the path or name that a real
// node has.
var ofHarness = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/root`), "/var/lib/containerd"},
	{regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/containerd\.sock`), "/run/containerd/containerd.sock"},
	{regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/programs-\d+`), "/usr/local/bin"},
	{regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/cni`), "/etc/cni"},
	{regexp.MustCompile(`/var/cache/shimquake/[^/\s]+/bin`), "/usr/local/bin"},
	{regexp.MustCompile(`/shimquake/w[0-9a-f]{8}`), ""},
	{regexp.MustCompile(`containerd/v2@v[\w.-]+`), "containerd/v2"},
	{regexp.MustCompile(`/shimquake-absent-command`), "/no/such/program"},
	{regexp.MustCompile(`\bshimquake\.local/`), "registry.example/"},
	{regexp.MustCompile(`shimquake`), "default"}, // the namespace of its tasks, and the uid of its pods
}

func shown(text string) string {
	for _, h := range ofHarness {
		text = h.pattern.ReplaceAllString(text, h.is)
	}
	return harness.ShortIDs(strings.TrimSpace(text))
}
