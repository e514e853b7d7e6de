package spec

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// ProgressEnv is an environment variable. If it is set, a line is printed for each spec
// when it ends. It is for runs without a terminal, whose specs may take many seconds
// (scripts/vm-suites).
const ProgressEnv = "SHIMQUAKE_PROGRESS"

// progressMark begins each line, so that the script finds it in Ginkgo's output.
const progressMark = "spec: "

var ended, selected int

var (
	_ = ginkgo.ReportBeforeSuite(func(r ginkgo.Report) { selected = r.PreRunStats.SpecsThatWillRun })
	_ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		if os.Getenv(ProgressEnv) == "" || r.RunTime == 0 { // the spec was not selected
			return
		}
		ended++
		fmt.Printf(
			"\n%s%s %d of %d, %.1f s, %s\n",
			progressMark,
			r.State,
			ended,
			selected,
			r.RunTime.Seconds(),
			r.FullText(),
		)
	})
)
