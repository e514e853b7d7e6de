package judge_test

import (
	"fmt"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// A verdict depends only on a history. In this one containerd died.
func ExampleJudge() {
	v := judge.Judge(harness.History{
		Case: harness.Case{Name: "x"},
		Run:  harness.Run{Version: "v2.4.2"},
		Log:  harness.Log{Deaths: []daemon.Death{{At: time.Now(), PID: 9, Code: 2}}},
	}, nil)
	fmt.Println(v.Outcome)
	for _, f := range v.Findings {
		fmt.Println(f.Invariant, f.Class, f.Facts)
	}
	// Output:
	// violated
	// liveness containerd what=death exit=2
}
