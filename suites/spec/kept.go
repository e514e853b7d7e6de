package spec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/report"
)

// ReportEnv is the environment variable with the folder of the suites' report
// (scripts/suites), which has the histories and the evidence of all cases. If it is
// empty, no history is kept, and the evidence is in out/evidence of the checkout.
const ReportEnv = "SHIMQUAKE_REPORT"

// HistoriesDir is the folder of histories in the report's folder.
const HistoriesDir = "histories"

// entry is a verdict in Ginkgo's report.
type entry struct {
	harness.Verdict
	// Known are the ids of the bugs that may explain a violation.
	Known string `json:"known,omitempty"`
	// File is the file with the history, in the folder of histories. Without is the file
	// with the history of the same workload without a fault.
	File    string       `json:"file,omitempty"`
	At      harness.Part `json:"at,omitzero"`
	Without harness.Part `json:"without,omitzero"`
}

// String returns the text for a verdict table.
func (e entry) String() string {
	s := string(e.Outcome)
	if e.Known != "" {
		s += fmt.Sprintf(" (known: %s)", e.Known)
	}
	return s
}

// kept is this process's file of histories: each Ginkgo process has its own.
var kept = sync.OnceValues(func() (*harness.Histories, error) {
	dir := os.Getenv(ReportEnv)
	if dir == "" {
		return nil, nil
	}
	dir = filepath.Join(dir, HistoriesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("keep histories: %w", err)
	}
	f, err := os.CreateTemp(dir, "*.jsonl.gz")
	if err != nil {
		return nil, fmt.Errorf("keep histories: %w", err)
	}
	return harness.OpenHistories(f.Name())
})

// report adds a verdict to Ginkgo's report, with its history. If the case is violated,
// it also runs the same workload without the fault, and adds that history.
func (e entry) report(ctx context.Context) {
	ginkgo.GinkgoHelper()
	file, err := kept()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if file != nil {
		e.File = filepath.Base(file.Name())
		e.At, err = file.Keep(e.Verdict)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		if e.Outcome == harness.Violated && !e.Case.Faultless() {
			e.Without, err = withoutFault(ctx, e.Case)
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
		}
	}
	ginkgo.AddReportEntry(VerdictEntry, e, ginkgo.ReportEntryVisibilityFailureOrVerbose)
}

// plain has the places of the runs without a fault, by their names.
var plain sync.Map

// withoutFault runs a case without its faults, once for all equal cases.
func withoutFault(ctx context.Context, c harness.Case) (harness.Part, error) {
	name := report.WithoutName(c)
	if at, ok := plain.Load(name); ok {
		return at.(harness.Part), nil
	}
	v := cases.Run(ctx, report.WithoutFault(c))
	file, err := kept()
	if err != nil || ctx.Err() != nil {
		return harness.Part{}, err
	}
	at, err := file.Keep(v)
	plain.Store(name, at)
	return at, err
}
