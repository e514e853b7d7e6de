package main

import (
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
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/repro/signature"
)

// tries is how often a case may fail to show its bug: some are races.
const tries = 5

// record runs a bug's case on its newest release, with the patch of its issue if there is
// one. It also runs the same without a fault, and keeps the difference.
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
	c.Containerd, without.Containerd = r.Release, r.Release
	if f.Patch != "" {
		if err := patched(ctx, source, filepath.Join(dir, "src"), f.Patch); err != nil {
			return r, err
		}
		c.Containerd = "src:" + filepath.Join(dir, "src")
	}
	run := &runner.Runner{
		Residues: catalogue.Residues(), Evidence: filepath.Join(dir, "evidence"), KeepAll: true, Log: os.Stderr,
	}
	for _, subject := range []string{c.Containerd, without.Containerd} {
		if err := run.Prepare(ctx, subject); err != nil {
			return r, err
		}
	}
	var v harness.Verdict
	for range tries {
		if v = run.Run(ctx, c); len(repro.Shows(f.Bug, v)) > 0 || ctx.Err() != nil {
			break
		}
	}
	shown := repro.Shows(f.Bug, v)
	if len(shown) == 0 {
		return r, fmt.Errorf("no run of %d shows it, the last is %s: %s", tries, v.Outcome, v.Why())
	}
	for _, x := range shown {
		_, is, _ := strings.Cut(wording.Of(x), ": ")
		r.Left = append(r.Left, plain(is))
	}
	return r, read(&r, v.Evidence, run.Run(ctx, without).Evidence, f)
}

// patched copies a release's source, and changes it by a patch.
func patched(ctx context.Context, source, to, patch string) error {
	if err := os.CopyFS(to, os.DirFS(source)); err != nil {
		return err
	}
	cmd := child.Command(ctx, "git", "apply", "--verbose", "-")
	cmd.Dir, cmd.Stdin = to, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("its patch does not fit the source: %w: %s", err, out)
	}
	return nil
}

// read fills in what the evidence of a run has, and the same without a fault has not.
func read(r *filing.Recorded, evidence, without string, f filing.Filing) error {
	said, err := signature.SaidIn(evidence)
	if err != nil {
		return err
	}
	var before signature.Said // nothing, if the case has no fault: all warnings are told then
	if f.Patch != "" || !f.Run.Faultless() {
		if before, err = signature.SaidIn(without); err != nil {
			return err
		}
	}
	for _, line := range signature.Lines(said, before) {
		r.Log = append(r.Log, plain(line))
	}
	r.Log = r.Log[:min(len(r.Log), mostLines)]
	for i, text := range said.Errors {
		r.Errors = append(r.Errors, plain(said.Calls[i]+": "+text))
	}
	r.Errors = slices.Compact(r.Errors)
	r.Errors = r.Errors[:min(len(r.Errors), mostLines)]
	if f.Run.Workload.API == harness.CRI {
		text, err := os.ReadFile(filepath.Join(evidence, "config.toml"))
		if err != nil {
			return err
		}
		_, ofCRI, _ := strings.Cut(string(text), criSection)
		r.Config = plain(criSection + ofCRI)
	}
	if r.Machine, err = machine(evidence); err != nil {
		return err
	}
	r.Stack, err = stack(evidence, f.Stuck)
	return err
}

// criSection begins the part of a configuration that is CRI's.
const criSection = `[plugins."io.containerd.cri.`

// mostLines of a log, and of errors, are kept.
const mostLines = 12

// machine has the lines about the machine that an issue needs.
func machine(evidence string) (lines []string, err error) {
	text, err := os.ReadFile(filepath.Join(evidence, "machine.txt"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		for _, key := range []string{"kernel: ", "cgroups: "} {
			if strings.HasPrefix(line, key) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return append(lines, "runc: "+containerd.RuncVersion), nil
}

// stack is the first goroutine that stands in a function of a process: "shim FUNCTION".
func stack(evidence, where string) (string, error) {
	if where == "" {
		return "", nil
	}
	process, function, _ := strings.Cut(where, " ")
	dumps, err := filepath.Glob(filepath.Join(evidence, "goroutines-"+process+"*.txt"))
	if err != nil {
		return "", err
	}
	for _, name := range dumps {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for part := range strings.SplitSeq(string(text), "\n\n") {
			if strings.HasPrefix(part, "goroutine ") && strings.Contains(part, function) {
				return plain(arguments.ReplaceAllString(part, "(...)")), nil
			}
		}
	}
	return "", errors.New("no goroutine of a " + process + " stands in " + function)
}

// Paths of this harness are written as on a node.
var (
	arguments = regexp.MustCompile(`\((?:(?:0x|\{|[0-9a-f]+)[^()]*)\)$|\(0x[^()]*\)`)
	paths     = regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/root`)
	socket    = regexp.MustCompile(`/var/lib/shimquake/worlds/\w+/containerd\.sock`)
	programs  = regexp.MustCompile(`/var/cache/shimquake/[^/\s]+/bin`)
	groups    = regexp.MustCompile(`/shimquake/w[0-9a-f]{8}`)
)

func plain(text string) string {
	text = paths.ReplaceAllString(text, "/var/lib/containerd")
	text = socket.ReplaceAllString(text, "/run/containerd/containerd.sock")
	text = programs.ReplaceAllString(text, "/usr/local/bin")
	text = groups.ReplaceAllString(text, "")
	return harness.ShortIDs(strings.TrimSpace(text))
}
