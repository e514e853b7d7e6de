package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// notStarted has CRI say that of a container when its StartContainer has failed.
func notStarted(state string, code int32) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.NotStarted = []oracle.CRIStatus{{ID: "c9", State: state, ExitCode: code}}
	}
}

func TestRulesOfFailedStarts(t *testing.T) {
	judgedPod(t, map[string]row{
		"it has failed, too":      {notStarted(oracle.CRIExited, 128), ""},
		"it is still called made": {notStarted("CONTAINER_CREATED", 0), ""},
		"what it was killed with": {notStarted(oracle.CRIExited, 137), ""},
		"it is said to have succeeded": {notStarted(oracle.CRIExited, 0),
			"status cri-status object=container field=exit-code is=other"},
	})
}
