package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/gobuild"
	"github.com/shimquake/shimquake/fixtures/world"
)

// keep copies the evidence of a case that did not hold out of its world, before the world ends.
func (x *experiment) keep(v *Verdict, failure error) error {
	x.mu.Lock()
	bad := failure != nil || len(x.errs) > 0 || len(v.Violations()) > 0
	why := errors.Join(append(x.errs, failure)...)
	x.mu.Unlock()
	if !bad && !x.runner.KeepAll {
		return nil
	}
	if Unable(why) {
		return nil
	}
	base := x.runner.Evidence
	if base == "" {
		base = filepath.Join("out", "evidence")
	}
	dir, err := filepath.Abs(filepath.Join(base, fmt.Sprintf("%s-%s-%s", x.Name, time.Now().Format("20060102-150405"), x.world.Name())))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep the evidence: %w", err)
	}
	v.Evidence = dir
	var boot *daemon.BootError
	if errors.As(failure, &boot) {
		if err := boot.Keep(dir); err != nil {
			return err
		}
	}
	if v.Timeline == nil && x.daemon != nil {
		v.Timeline = x.tell()
	}
	var text bytes.Buffer
	if len(v.Timeline) > 0 {
		for _, e := range v.Timeline {
			fmt.Fprintln(&text, e.line(v.Timeline[0].At))
		}
	}
	copied := *v
	copied.conclude(why)
	verdict, err := json.MarshalIndent(copied, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "case.yaml"), []byte(x.Case.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "verdict.json"), verdict, 0o644),
		os.WriteFile(filepath.Join(dir, "timeline.txt"), text.Bytes(), 0o644),
		copyLogs(x.world, dir),
	)
}

// copyLogs copies the plain files of the world's folder: containerd's log and configuration, what helpers have written.
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

// Unable says whether an error means that this machine cannot run the case at all.
func Unable(err error) bool {
	for _, e := range []error{
		world.ErrNotRoot, world.ErrNoCgroup, world.ErrLacksController,
		iopressure.ErrNoController, iopressure.ErrNoLoop, iopressure.ErrNoMkfs, slowsys.ErrNoStrace,
		gobuild.ErrNoGo,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
