package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/suites/spec"
)

// limit is the memory limit of the containers, in MiB: four times the need of runc and
// the payload.
const limit = 32

// oomChild is a container whose child is OOM-killed.
var oomChild = harness.Container{Memory: limit, OOM: harness.OOMChild, Exit: 7}

// reasons returns CRI's reasons for the ends of containers, by their names.
func reasons(v harness.Verdict) map[string]string {
	out := map[string]string{}
	for _, i := range v.History.Instances {
		for _, s := range v.History.CRI.Statuses {
			if s.ID == i.ID && s.State == criview.Exited {
				out[i.Name] = s.Reason
			}
		}
	}
	return out
}

// Package plain has such a container without a fault and without bystanders.
var _ = Describe("a container that runs out of memory", Label("others", "oom", "cgroup"), func() {
	for _, api := range apis {
		It("is told apart from its neighbours, by the "+string(api)+" API", spec.Quick, func(ctx context.Context) {
			w := harness.Workload{API: api, Grouped: api == harness.TaskAPI, Containers: []harness.Container{
				{Exit: 3, Memory: limit}, oomChild, {Signal: "SIGKILL", Memory: limit},
			}}
			v := spec.Holds(ctx, harness.Case{Name: "others-oom-beside-" + string(api), Workload: w})
			for _, e := range v.History.Events {
				if e.Topic == event.TopicOOM {
					Expect(e.Container).To(Equal(v.History.Instances[1].ID))
				}
			}
			if api == harness.CRI {
				Expect(reasons(v)).To(Equal(map[string]string{"c0": "Error", "c1": "OOMKilled", "c2": "Error"}))
			}
		})
	}
	DescribeTable("is reported OOM-killed after", func(
		ctx context.Context, name string, api harness.API, f failpoints.Fault,
	) {
		v := spec.Holds(ctx, harness.Case{
			Name: "others-oom-" + name, Workload: one(api, oomChild), Plan: failpoints.Plan{f},
		})
		Expect(v.History.Events).To(ContainElement(HaveField("Topic", event.TopicOOM)))
		if api == harness.CRI {
			Expect(reasons(v)).To(HaveKeyWithValue("c0", "OOMKilled"))
		}
	},
		Entry("containerd was SIGKILLed while it ran", spec.Quick, "containerd-killed", harness.TaskAPI,
			failpoints.Kill("proc:containerd:running")),
		Entry("containerd was SIGKILLed while its pod ran", spec.Quick, "containerd-killed-pod", harness.CRI,
			failpoints.Kill("proc:containerd:running")),
		// The OOM kill is the third event of a task, and the fifth of a pod with one
		// container.
		Entry("containerd has refused the event", "refused", harness.TaskAPI,
			failpoints.Nth("rpc:containerd:Events.Forward:entry", 3, term.Error, "injected")),
		Entry("containerd has refused the event of a pod", "refused-pod", harness.CRI,
			failpoints.Nth("rpc:containerd:Events.Forward:entry", 5, term.Error, "injected")),
	)
})
