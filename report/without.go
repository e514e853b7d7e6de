package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// WithoutFile is a file in a case's folder of evidence. It has the history of the case's
// workload without a fault. A sweep has such a file for each workload in the folder
// WithoutDir.
const (
	WithoutFile = "without-fault.json"
	WithoutDir  = "without-fault"
)

// WithoutFault returns the case c without its faults.
func WithoutFault(c harness.Case) harness.Case {
	plain := harness.Case{Name: "without-fault", Containerd: c.Containerd, Workload: c.Workload,
		About: "The workload of " + c.Name + ", without a fault."}
	if c.Workload.Fakeshim != "" {
		plain.Workload.Fakeshim = "plain"
	}
	return plain
}

// WithoutName returns the name of a case's run without a fault. Cases with the same
// workload share the run.
func WithoutName(c harness.Case) string {
	c = WithoutFault(c)
	c.About = ""
	sum := sha256.Sum256([]byte(c.String()))
	return "without-" + hex.EncodeToString(sum[:6])
}

// KeepWithout writes a run without a fault to a file in a folder.
func KeepWithout(dir, file string, v harness.Verdict) error {
	if v.History == nil {
		return fmt.Errorf("keep %s: the run without a fault has no history", file)
	}
	text, err := harness.Kept{Verdict: v, History: *v.History}.Encode()
	if err != nil {
		return fmt.Errorf("keep the run without a fault: %w", err)
	}
	d, err := foreign.MakeDir(dir, 0o755)
	if err != nil {
		return fmt.Errorf("keep the run without a fault: %w", err)
	}
	if err = d.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = d.Write(file, text, 0o644)
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("keep the run without a fault: %w", err)
	}
	return nil
}

// ReadWithout reads a file that KeepWithout has written. If there is none, the error is
// fs.ErrNotExist.
func ReadWithout(dir, file string) (harness.Verdict, error) {
	d, err := foreign.OpenDir(dir)
	if err != nil {
		return harness.Verdict{}, fmt.Errorf("read the run without a fault: %w", err)
	}
	v, err := readWithout(d, file)
	return v, errors.Join(err, d.Close())
}

func readWithout(d *foreign.Dir, file string) (harness.Verdict, error) {
	text, err := d.Read(file, harness.MaxHistory)
	if err != nil {
		return harness.Verdict{}, fmt.Errorf("read the run without a fault: %w", err)
	}
	k, err := harness.DecodeKept(d.Path(file), text)
	return rejudge.Kept(k), err
}

// maxWithout limits the files that SweptWithout reads from a folder. There is one for
// each workload.
const maxWithout = 1 << 16

// SweptWithout returns the runs without a fault that a sweep has kept, by the name of the
// workload.
func SweptWithout(dir string) (map[string]harness.Verdict, error) {
	out := map[string]harness.Verdict{}
	d, err := foreign.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the runs without a fault: %w", err)
	}
	files, err := d.List(WithoutDir, maxWithout)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			v, rerr := readWithout(d, filepath.Join(WithoutDir, f.Name()))
			err = errors.Join(err, rerr)
			out[name] = v
		}
	}
	return out, errors.Join(err, d.Close())
}
