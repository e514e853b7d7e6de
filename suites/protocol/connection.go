package protocol

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// calls are the calls of a lifecycle without a fault. A container that runs during the
// call exits only after a signal. If it exited by itself between the end of the
// connection and containerd's cleanup, no client could get its exit.
var calls = []struct {
	name      string
	container harness.Container
}{
	{"Create", waiting}, {"Connect", waiting}, {"Start", waiting}, {"State", waiting}, {"Wait", waiting},
	{"Kill", waiting}, {"Delete", exiting}, {"Shutdown", exiting},
}

var (
	waiting = harness.Container{Signal: "SIGKILL"}
	exiting = harness.Container{Exit: 7}
)

var _ = Describe("a shim that breaks its connections at a call, and keeps running", Label("shim"), func() {
	for _, call := range calls {
		bugs := []string{"shim-connection-broken"}
		if call.name == "Shutdown" {
			bugs = nil // the shim has received the call, so it shuts down
		}
		spec.It("leaves nothing and no made-up exit code: "+call.name, harness.Case{
			Name:     "connection-breaks-at-" + strings.ToLower(call.name),
			Workload: harness.Workload{Fakeshim: "plain", Containers: []harness.Container{call.container}},
			Plan:     failpoints.Plan{failpoints.Once("rpc:shim:Task."+call.name+":entry", term.Close)},
			Bugs:     bugs,
		})
	}
})
