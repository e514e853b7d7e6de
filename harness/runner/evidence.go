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
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// keepLogs copies the logs out of the world if the case did not hold. It must be called
// before the world ends. It returns the folder of the evidence, or "" if none is kept.
func (x *run) keepLogs(v harness.Verdict) (string, error) {
	if v.Outcome == harness.Held && !x.runner.KeepAll || v.UnableHere() || x.world == nil {
		return "", nil
	}
	dir, err := x.evidenceDir()
	if err != nil {
		return "", err
	}
	err = copyLogs(x.world, dir)
	for name, text := range x.dumps {
		err = errors.Join(err, dir.Write(name, text, 0o644))
	}
	return dir.Name(), errors.Join(err, x.keepFacts(dir), dir.Close())
}

// evidenceDir creates the folder for the run's evidence. Another user may have write
// access to --out, so evidenceDir refuses to follow a symbolic link there.
func (x *run) evidenceDir() (dir *foreign.Dir, err error) {
	name := fmt.Sprintf("%s-%s-%s", x.Name, x.begun.Format("20060102-150405"), x.world.Name())
	path, err := filepath.Abs(cmp.Or(x.runner.Evidence, filepath.Join("out", "evidence")))
	if err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	if dir, err = foreign.MakeDir(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	for _, folder := range []string{filepath.Base(path), name} {
		err = dir.MkdirAll(folder, 0o755)
		var sub *foreign.Dir
		if err == nil {
			sub, err = dir.Sub(folder)
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return nil, fmt.Errorf("keep the evidence: %w", err)
		}
		dir = sub
	}
	return dir, nil
}

// keepFacts writes a script that runs the case again, and a file with the versions and
// facts about the machine.
func (x *run) keepFacts(dir *foreign.Dir) error {
	subject := cmp.Or(x.Containerd, x.subject.Version)
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("write replay.sh: the path of this program: %w", err)
	}
	replay, err := replayScript(program, subject)
	if err != nil {
		return err
	}
	m := ThisMachine()
	facts := fmt.Sprintf("containerd: %s (%s)\nshimquake: %s, built with %s\nkernel: %s\ncgroups: %s\ncpus: %d\n",
		subject, x.subject.Version, build(), runtime.Version(), m.Kernel, m.Cgroups, m.CPUs)
	for _, name := range []string{"/proc/version", "/proc/cgroups", "/sys/fs/cgroup/cgroup.controllers"} {
		text, err := foreign.ReadFile(name, maxKept)
		if err != nil {
			text = []byte(err.Error() + "\n") // cgroup v1 and v2 each lack one of the files
		}
		facts += fmt.Sprintf("\n--- %s\n%s", name, text)
	}
	return errors.Join(
		dir.Write("replay.sh", []byte(replay), 0o755),
		dir.Write("machine.txt", []byte(facts), 0o644),
	)
}

// replayScript returns a shell script that runs the case.yaml in its own folder. If the
// program no longer exists, the script uses shimquake from PATH.
func replayScript(program, containerd string) (string, error) {
	quoted, err := syntax.Quote(containerd, syntax.LangPOSIX)
	if err == nil {
		program, err = syntax.Quote(program, syntax.LangPOSIX)
	}
	if err != nil {
		return "", fmt.Errorf("write replay.sh for containerd %q by %q: %w", containerd, program, err)
	}
	return "#!/bin/sh\n# Runs this case again; root is needed.\n" +
		"program=" + program + "\n[ -x \"$program\" ] || program=shimquake\n" +
		"exec \"$program\" run --containerd " + quoted + " \"$@\" \"$(dirname \"$0\")/case.yaml\"\n", nil
}

// build returns this program's version from its build information.
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

// keepBootLog keeps the log of a containerd that did not start. The text of a BootError
// then names the path of the log.
func (x *run) keepBootLog(err error) error {
	var boot *daemon.BootError
	if x.world == nil || !errors.As(err, &boot) {
		return nil
	}
	dir, err := x.evidenceDir()
	if err != nil {
		return err
	}
	return errors.Join(boot.Keep(dir), dir.Close())
}

// discard removes the evidence of a run, if it has any.
func discard(dir string) error {
	if dir == "" {
		return nil
	}
	all, err := foreign.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(all.RemoveAll(filepath.Base(dir)), all.Close())
}

// keepHistory writes the history with the verdict to the folder of the evidence, and the
// case and the timeline for people.
func keepHistory(v harness.Verdict) error {
	if v.Evidence == "" {
		return nil
	}
	h := *v.History
	text, err := harness.Kept{Verdict: v, History: h}.Encode()
	if err != nil {
		return err
	}
	dir, err := foreign.OpenDir(h.Evidence)
	if err != nil {
		return fmt.Errorf("keep the evidence: %w", err)
	}
	return errors.Join(
		dir.Write(harness.HistoryFile, text, 0o644),
		dir.Write("case.yaml", []byte(h.Case.String()), 0o644),
		dir.Write("timeline.txt", []byte(h.TimelineText()), 0o644),
		dir.Close(),
	)
}

// maxKept is how much of the end of a log is kept, in bytes.
const maxKept = 8 << 20

// maxFiles limits how many entries of a folder of the world are read.
const maxFiles = 4096

// copyLogs copies containerd's log and configuration, the payloads' records, and the
// output of helpers. It copies only the end of a large file. For an entry that is not a
// regular file, it writes a file that says so. The folder of logs comes last, so that no
// other file replaces containerd's log.
func copyLogs(w *world.World, dir *foreign.Dir) error {
	var errs []error
	for _, of := range []struct {
		files   *foreign.Dir
		pattern string
	}{{w.Files(), "*.log"}, {w.Files(), "*.toml"}, {w.Truth(), "*.truth"}, {w.Logs(), "*.log"}} {
		entries, err := of.files.List(".", maxFiles)
		errs = append(errs, err)
		for _, e := range entries {
			if ok, _ := filepath.Match(of.pattern, e.Name()); !ok { // the pattern is well formed
				continue
			}
			text, cut, err := of.files.Tail(e.Name(), maxKept)
			var kind *foreign.KindError
			switch {
			case errors.As(err, &kind):
				text, err = fmt.Appendf(nil, "not copied: %v\n", err), nil
			case cut > 0:
				text = append(fmt.Appendf(nil, "... %d bytes before this were not copied\n", cut), text...)
			}
			if err == nil {
				err = dir.Write(e.Name(), text, 0o644)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
