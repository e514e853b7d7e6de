package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// WithoutFile is the name of the history of a case's workload without a fault, in the
// case's folder of evidence. A sweep has one for each workload in WithoutDir.
const (
	WithoutFile = "without-fault.json"
	WithoutDir  = "without-fault"
)

// WithoutFault is the case that does what c does, and breaks nothing.
func WithoutFault(c harness.Case) harness.Case {
	plain := harness.Case{Name: "without-fault", Containerd: c.Containerd, Workload: c.Workload,
		About: "What " + c.Name + " does, and nothing is broken."}
	if c.Workload.Fakeshim != "" {
		plain.Workload.Fakeshim = "plain"
	}
	return plain
}

// WithoutName names the run of a case without a fault: cases that do the same share it.
func WithoutName(c harness.Case) string {
	c = WithoutFault(c)
	c.About = ""
	sum := sha256.Sum256([]byte(c.String()))
	return "without-" + hex.EncodeToString(sum[:6])
}

// KeepWithout keeps a run without a fault in a file.
func KeepWithout(file string, v harness.Verdict) error {
	if v.History == nil {
		return fmt.Errorf("keep %s: the run without a fault has no history", file)
	}
	text, err := harness.Kept{Verdict: v, History: *v.History}.Encode()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the run without a fault: %w", err)
	}
	return nil
}

// ReadWithout reads what KeepWithout has kept. A file that is not there is
// os.ErrNotExist.
func ReadWithout(file string) (harness.Verdict, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return harness.Verdict{}, fmt.Errorf("read the run without a fault: %w", err)
	}
	k, err := harness.DecodeKept(file, text)
	return judge.Judge(k.History, catalogue.Residues()), err
}

// SweptWithout reads the runs without a fault that a sweep has kept, by workload.
func SweptWithout(dir string) (map[string]harness.Verdict, error) {
	files, err := filepath.Glob(filepath.Join(dir, WithoutDir, "*.json"))
	out := map[string]harness.Verdict{}
	for _, f := range files {
		v, rerr := ReadWithout(f)
		err = errors.Join(err, rerr)
		out[strings.TrimSuffix(filepath.Base(f), ".json")] = v
	}
	return out, err
}
