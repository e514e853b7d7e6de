package control

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/events"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// everybody are the observers of a plain task's exit status.
var everybody = []exit.Observer{
	exit.ByWait,
	exit.ByDelete,
	exit.ByShimDelete,
	exit.ByTaskExit,
	exit.ByTaskDelete,
}

// The wrong statuses come from a shim, and reach the client through a real containerd.
// The folder protocol has a status that is no special value, and a single wrong observer.
var _ = Describe("a shim that reports a wrong exit code of a payload", Label("control"), func() {
	misreports := func(ctx context.Context, w harness.Workload, words string, plan ...failpoints.Fault) harness.Verdict {
		GinkgoHelper()
		w.Fakeshim = "plain"
		clean(ctx, harness.Case{Name: "control-truth", Workload: w, Plan: plan})
		w.Fakeshim = words
		v := sabotaged(ctx, harness.Case{Name: "control-wrong-status", Workload: w, Plan: plan}, nil)
		Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
		Expect(classes(v)).To(ConsistOf(finding.ClassExitCode), "%v", v)
		return v
	}
	DescribeTable(
		"is found by",
		func(ctx context.Context, words, kind string) {
			v := misreports(ctx, exits(harness.TaskAPI), words)
			var reported []exit.Observer
			for _, f := range v.Violations() {
				Expect(f.Facts[fact.Status]).To(Equal(kind), "%v", f)
				reported = append(reported, exit.Observer(f.Facts[fact.By]))
			}
			Expect(reported).To(ContainElements(everybody), "%v", v)
		},
		Entry("everybody: 137, as if it had been killed", spec.Quick, "exit=137", fact.MadeUp137),
		Entry("everybody: 255, as if it were unknown", spec.Quick, "exit=255", fact.MadeUp255),
		Entry("everybody: 0, as if it had succeeded", "exit=0", fact.MadeUp0),
		Entry("everybody: 143, a signal that was never sent", "exit=143", fact.MadeUpSig),
	)
	It("is found when it reports it to a restarted containerd", func(ctx context.Context) {
		// The client's signal ends it, so it ends after containerd has restarted.
		w := harness.Workload{Containers: []harness.Container{{Signal: "SIGTERM"}}}
		v := misreports(ctx, w, "wait=255", failpoints.Kill("proc:containerd:running"))
		Expect(
			v.Violations(),
		).To(
			ContainElement(spec.HaveFacts(fact.Facts{fact.By: string(exit.ByRestarted)})),
			"%v",
			v,
		)
	})
})

var _ = Describe("a world whose events", Label("control"), func() {
	says := func(v harness.Verdict, want fact.Facts, besides ...finding.Class) {
		GinkgoHelper()
		Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
		Expect(classes(v)).To(ConsistOf(append(besides, finding.ClassEvent)), "%v", v)
		Expect(v.Violations()).To(ContainElement(spec.HaveFacts(want)), "%v", v)
	}
	DescribeTable(
		"are violated by one that containerd passes on, and that",
		func(ctx context.Context, want fact.Facts, published ...event) {
			c := harness.Case{Name: "control-events", Workload: exits(harness.TaskAPI)}
			says(sabotaged(ctx, c, publish(published...)), want)
		},
		Entry(
			"repeats the exit of the workload",
			spec.Quick,
			fact.Facts{fact.Event: fact.Repeated},
			exited("c0", 4242, 7, time.Now()),
		),
		Entry(
			"comes out of order",
			spec.Quick,
			fact.Facts{fact.Event: fact.Late, fact.After: "/tasks/exit"},
			exited(planted, 4242, 7, time.Now()),
			started(planted, 4242),
		),
		Entry(
			"has no pid",
			spec.Quick,
			fact.Facts{fact.Event: fact.NoPID},
			started(planted, 0),
			exited(planted, 0, 7, time.Now()),
		),
		Entry(
			"has no time",
			spec.Quick,
			fact.Facts{fact.Event: fact.NoTime},
			started(planted, 4242),
			exited(planted, 4242, 7, time.Time{}),
		),
	)
	It(
		"report another status the second time are violated, and so is the exit code",
		spec.Quick,
		func(ctx context.Context) {
			c := harness.Case{Name: "control-events", Workload: exits(harness.TaskAPI)}
			says(
				sabotaged(ctx, c, publish(exited("c0", 4242, 137, time.Now()))),
				fact.Facts{fact.Repeat: fact.OtherStatus, fact.First: "7", fact.Reported: "137"},
				finding.ClassExitCode,
			)
		},
	)
})

// event is an event of a task's life.
type event struct {
	topic string
	body  any
}

func started(id string, pid uint32) event {
	return event{"/tasks/start", &events.TaskStart{ContainerID: id, Pid: pid}}
}

func exited(id string, pid, status uint32, at time.Time) event {
	e := &events.TaskExit{ContainerID: id, ID: id, Pid: pid, ExitStatus: status}
	if !at.IsZero() {
		e.ExitedAt = timestamppb.New(at)
	}
	return event{"/tasks/exit", e}
}

// publish sends events through the world's containerd, as a shim does.
func publish(all ...event) plant {
	return func(ctx context.Context, s runner.Scene) error {
		for _, e := range all {
			if err := s.Client.EventService().Publish(inNamespace(ctx), e.topic, e.body); err != nil {
				return err
			}
		}
		return nil
	}
}
