package spec

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// CountsEnv is the environment variable with the file to which each process appends its
// progress. `verdicts -follow` shows that file, because Ginkgo prints the output of its
// processes only at the end.
const CountsEnv = "SHIMQUAKE_COUNTS"

// Count is a line of that file.
type Count struct {
	Suite string `json:"suite"`
	// Begins is set in the first line of a suite. Specs is the number of its specs, which
	// may be 0.
	Begins bool `json:"begins,omitempty"`
	Specs  int  `json:"specs,omitempty"`
	// Failed is set if the spec that has ended has failed.
	Failed bool `json:"failed,omitempty"`
}

var suite string

var (
	// Only the first process writes the first line of a suite.
	_ = ginkgo.ReportBeforeSuite(func(r ginkgo.Report) {
		addCount(Count{Suite: r.SuiteDescription, Begins: true, Specs: r.PreRunStats.SpecsThatWillRun})
	})
	_ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		if r.RunTime > 0 { // the spec was selected
			addCount(Count{Suite: suite, Failed: r.Failed()})
		}
	})
)

// addCount appends a line. It makes one write, so that the lines of several processes
// do not mix.
func addCount(c Count) {
	name := os.Getenv(CountsEnv)
	if name == "" {
		return
	}
	line, err := json.Marshal(c)
	if err == nil {
		err = appendTo(name, append(line, '\n'))
	}
	if err != nil { // progress is not essential
		fmt.Fprintf(os.Stderr, "%s: %v\n", CountsEnv, err)
	}
}

func appendTo(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
