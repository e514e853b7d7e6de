package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"mvdan.cc/sh/v3/syntax"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
)

// keepLogs copies the logs of a case that did not hold out of its world, before the world
// ends, and returns the folder of its evidence; "" where none is kept.
func (x *run) keepLogs(v harness.Verdict) (string, error) {
	if v.Outcome == harness.Held && !x.runner.KeepAll || v.Unable() || x.world == nil {
		return "", nil
	}
	dir, err := x.evidenceDir()
	if err != nil {
		return "", err
	}
	err = copyLogs(x.world, dir)
	for name, text := range x.dumps {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	return dir, errors.Join(err, x.keepFacts(dir))
}

// evidenceDir is the folder of the run's evidence. It is made when it is asked for.
func (x *run) evidenceDir() (string, error) {
	base := cmp.Or(x.runner.Evidence, filepath.Join("out", "evidence"))
	name := fmt.Sprintf("%s-%s-%s", x.Name, x.begun.Format("20060102-150405"), x.world.Name())
	dir, err := filepath.Abs(filepath.Join(base, name))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("keep the evidence: %w", err)
	}
	return dir, nil
}

// keepFacts writes the command that runs the case again, and what is known of versions
// and the machine.
func (x *run) keepFacts(dir string) error {
	subject := cmp.Or(x.Containerd, x.subject.Version)
	replay, err := replayScript(subject)
	if err != nil {
		return err
	}
	m := ThisMachine()
	facts := fmt.Sprintf("containerd: %s (%s)\nshimquake: %s, built with %s\nkernel: %s\ncgroups: %s\ncpus: %d\n",
		subject, x.subject.Version, build(), runtime.Version(), m.Kernel, m.Cgroups, m.CPUs)
	for _, name := range []string{"/proc/version", "/proc/cgroups", "/sys/fs/cgroup/cgroup.controllers"} {
		text, err := os.ReadFile(name)
		if err != nil {
			text = []byte(err.Error() + "\n") // on cgroup v1, or v2, one of them is not there
		}
		facts += fmt.Sprintf("\n--- %s\n%s", name, text)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "replay.sh"), []byte(replay), 0o755),
		os.WriteFile(filepath.Join(dir, "machine.txt"), []byte(facts), 0o644),
	)
}

// replayScript is a shell script that runs the case beside it on a containerd.
func replayScript(containerd string) (string, error) {
	quoted, err := syntax.Quote(containerd, syntax.LangPOSIX)
	if err != nil {
		return "", fmt.Errorf("write replay.sh for containerd %q: %w", containerd, err)
	}
	return "#!/bin/sh\n# Runs this case again; root is needed.\n" +
		"exec shimquake run --containerd " + quoted + " \"$@\" \"$(dirname \"$0\")/case.yaml\"\n", nil
}

// build names this program's version, as Go has noted it.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			text += " " + s.Key + "=" + s.Value
		}
	}
	return text
}

// keepBootLog keeps the log of a containerd that does not boot, whose path the error
// names.
func (x *run) keepBootLog(err error) error {
	var boot *daemon.BootError
	if x.world == nil || !errors.As(err, &boot) {
		return nil
	}
	dir, err := x.evidenceDir()
	if err != nil {
		return err
	}
	return boot.Keep(dir)
}

// keepHistory writes a verdict, what it is made of, and the rest that people read, to the
// folder of the evidence.
func keepHistory(v harness.Verdict) error {
	if v.Evidence == "" {
		return nil
	}
	h := *v.History
	text, err := harness.Kept{Verdict: v, History: h}.Encode()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(h.Evidence, harness.HistoryFile), text, 0o644),
		os.WriteFile(filepath.Join(h.Evidence, "case.yaml"), []byte(h.Case.String()), 0o644),
		os.WriteFile(filepath.Join(h.Evidence, "timeline.txt"), []byte(h.TimelineText()), 0o644),
	)
}

// copyLogs copies the plain files of the world's folder: containerd's log and
// configuration, what helpers have written.
func copyLogs(w *world.World, dir string) error {
	var errs []error
	for _, pattern := range []string{"*.log", "*.toml", "truth/*.truth"} {
		files, err := filepath.Glob(filepath.Join(w.Dir(), pattern))
		errs = append(errs, err)
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o644)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
