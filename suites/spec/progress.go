package spec

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// ProgressEnv is the environment variable with the file to which each process appends a
// line for each spec when it ends. Ginkgo prints the output of parallel processes only at
// the end.
const ProgressEnv = "SHIMQUAKE_PROGRESS"

// progressMark begins each line, so that a script finds it in Ginkgo's output.
const progressMark = "spec: "

var _ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
	name := os.Getenv(ProgressEnv)
	if name == "" || r.RunTime == 0 { // the spec was not selected
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil { // one write: the lines of several processes do not mix
		_, err = fmt.Fprintf(f, "\n%s%s, %.1f s, %s\n", progressMark, r.State, r.RunTime.Seconds(), r.FullText())
		_ = f.Close() // a missing line is not essential
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", ProgressEnv, err)
	}
})
