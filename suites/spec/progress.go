package spec

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// ProgressEnv set to anything prints a line for each spec as it ends: for a run that
// nobody sees the terminal of, and whose every spec may take many seconds
// (scripts/vm-suites).
const ProgressEnv = "SHIMQUAKE_PROGRESS"

// progressMark begins each line, by which the script finds it among Ginkgo's own.
const progressMark = "spec: "

var ended, selected int

var (
	_ = ginkgo.ReportBeforeSuite(func(r ginkgo.Report) { selected = r.PreRunStats.SpecsThatWillRun })
	_ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		if os.Getenv(ProgressEnv) == "" || r.RunTime == 0 { // it was not selected
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
