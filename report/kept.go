package report

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// keptCases returns the cases of a file of histories. It calls make for each of them,
// with its index in parts. It skips a run whose history was not kept.
func keptCases(name string, parts []harness.Part, make func(int, harness.Verdict) Case) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		f, err := foreign.Open(name, harness.MaxHistories)
		if err != nil {
			if len(parts) > 0 {
				yield(Case{}, fmt.Errorf("report: %w", err))
			}
			return
		}
		defer func() { _ = f.Close() }() // ignored: the file is only read
		for n, p := range parts {
			if p.Len == 0 {
				continue
			}
			k, err := harness.Unpack(f, fmt.Sprintf("%s, case %d", name, n), p)
			v := rejudge.Kept(k)
			if !yield(make(n, v), err) || err != nil {
				return
			}
		}
	}
}

// EvidenceIn returns the folder of a case's evidence below dir, which may have been
// moved or copied since the run. It returns "" if the evidence is not in dir. It reads
// no other folder, even if a history names one.
func EvidenceIn(dir, evidence string) string {
	if evidence == "" {
		return ""
	}
	name := filepath.Base(evidence)
	d, err := foreign.OpenDir(dir)
	if err != nil {
		return ""
	}
	defer d.Close()               //nolint:errcheck // it is only read
	all, err := d.Sub("evidence") // Sub refuses a symbolic link, which could lead out of dir
	if err != nil {
		return ""
	}
	defer all.Close() //nolint:errcheck // it is only read
	if info, err := all.Describe(name); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(dir, "evidence", name)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
