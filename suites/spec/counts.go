package spec

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// CountsEnv names the file to which each process adds what it knows of how far a suite
// is: Ginkgo shows nobody what its processes print before all is over. `verdicts -follow`
// tells it.
const CountsEnv = "SHIMQUAKE_COUNTS"

// Count is a line of that file.
type Count struct {
	Suite string `json:"suite"`
	// Begins is set in the line with which a suite begins; Specs is how many run, maybe
	// none.
	Begins bool `json:"begins,omitempty"`
	Specs  int  `json:"specs,omitempty"`
	// Failed is set where the spec that has ended has failed.
	Failed bool `json:"failed,omitempty"`
}

var suite string

var (
	// Only the first process begins a suite.
	_ = ginkgo.ReportBeforeSuite(func(r ginkgo.Report) {
		addCount(Count{Suite: r.SuiteDescription, Begins: true, Specs: r.PreRunStats.SpecsThatWillRun})
	})
	_ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		if r.RunTime > 0 { // it was selected
			addCount(Count{Suite: suite, Failed: r.Failed()})
		}
	})
)

// addCount adds a line. Lines of several processes do not mix: each is one write.
func addCount(c Count) {
	name := os.Getenv(CountsEnv)
	if name == "" {
		return
	}
	line, err := json.Marshal(c)
	if err == nil {
		err = appendTo(name, append(line, '\n'))
	}
	if err != nil { // how far it is decides nothing
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
