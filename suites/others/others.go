// Package others has the specs about the effects of one container's fault on other
// containers, and about unusual containers. In every suite, bystanders run beside the
// container with the fault: containers that no fault targets. The cases here exist to
// check them.
package others

import (
	_ "embed" // the specs
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed others.yaml
var specs string

var _ = spec.File("suites/others/others.yaml", specs, shows)

// shows checks the history of a case, by its name.
var shows = map[string]func(harness.Verdict){
	"others-task-hang-create": oneHeld,
	"others-task-hang-start":  oneHeld,
	"others-task-hang-kill":   oneHeld,
	"others-task-hang-delete": oneHeld,
	"others-cri-hang-create":  oneHeld,
	"others-cri-hang-start":   oneHeld,
	"others-cri-hang-kill":    oneHeld,
	"others-cri-hang-delete":  oneHeld,
	"others-hang-state": func(v harness.Verdict) {
		Expect(v.History.Firings).To(ConsistOf(HaveField("Count", 2)))
	},
	"others-ignores-term": func(v harness.Verdict) {
		Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(137))))
		Expect(v.Reported).To(ContainElement(HaveField("Status", uint32(137))))
	},
	"others-short-task":     endedFirst,
	"others-short-cri":      endedFirst,
	"others-again-delete":   withoutRestart,
	"others-again-create":   withoutRestart,
	"others-again-start":    withoutRestart,
	"others-again-shutdown": withoutRestart,
	"others-delete-awaits": func(v harness.Verdict) {
		Expect(v.History.Firings).To(HaveLen(1))
		released := v.History.Firings[0].At.Add(time.Second)
		Expect(v.History.Calls).To(ContainElement(And(HaveField("Verb", "delete"), HaveField("Err", BeNil()),
			WithTransform(func(c harness.Call) time.Time { return c.At.Add(c.Took) }, BeTemporally(">=", released)))))
	},
	"others-exec": func(v harness.Verdict) {
		Expect(v.Truths).To(ConsistOf(
			And(HaveField("Exec", ""), HaveField("Status", uint32(7))),
			And(HaveField("Exec", "e0"), HaveField("Status", uint32(3))),
			And(HaveField("Exec", "e1"), HaveField("Status", uint32(137))),
		))
		for _, exec := range []string{"e0", "e1"} {
			for _, by := range []exit.Observer{
				exit.ByWait, exit.ByDelete, exit.ByTaskStatus, exit.ByTaskExit, exit.ByShimDelete,
			} {
				Expect(v.Reported).To(ContainElement(report(exec, by)))
			}
		}
	},
	"others-exec-refused-by-the-dead": func(v harness.Verdict) {
		for _, by := range []exit.Observer{exit.ByWait, exit.ByDelete, exit.ByTaskExit} {
			Expect(v.Reported).To(ContainElement(And(report("", by), HaveField("Status", uint32(137)))))
		}
	},
	"others-exec-starts-slowly": func(v harness.Verdict) {
		Expect(v.History.AskedWhile).To(ConsistOf(And(HaveField("Of", "c0"), HaveField("As", "RUNNING"))))
	},
	"others-exec-ends-while-down": func(v harness.Verdict) {
		Expect(v.Reported).To(ContainElement(report("e0", exit.ByTaskExit)))
	},
	"others-output-task-at-once":     wholeOutputs,
	"others-output-cri-at-once":      wholeOutputs,
	"others-stdin-containerd-killed": wholeInput,
	"others-stdin-close-killed":      wholeInput,
	"others-stdin-close-fails":       wholeInput,
	"others-stdin-answer-slow":       wholeInput,
	"others-stdin-close-slow":        wholeInput,
	"others-stdin-restart":           wholeInput,
	"others-stream-killed": func(v harness.Verdict) {
		i := v.History.Instances[0]
		spec.ExpectBrokenStreams(i)
		Expect(i.Attaches).To(ContainElement(spec.Stayed(i.Spec.Stdin)))
	},
	"others-oom-beside-task": besideOOM,
	"others-oom-beside-cri": func(v harness.Verdict) {
		besideOOM(v)
		Expect(reasons(v)).To(Equal(map[string]string{"c0": "Error", "c1": "OOMKilled", "c2": "Error"}))
	},
	"others-oom-containerd-killed":     killedForOOM,
	"others-oom-refused":               killedForOOM,
	"others-oom-containerd-killed-pod": podKilledForOOM,
	"others-oom-refused-pod":           podKilledForOOM,
}

// report matches a report about an exec, or about its container.
func report(exec string, by exit.Observer) types.GomegaMatcher {
	return And(HaveField("Exec", exec), HaveField("Observer", by))
}

// oneHeld expects that the bystanders did not wait for the call that hangs.
func oneHeld(v harness.Verdict) {
	newcomers := 0
	for _, b := range v.History.Bystanders {
		if b.Newcomer {
			newcomers++
			Expect(b.Removed.Sub(b.Started)).To(BeNumerically("<", v.Case.Workload.CallTimeout), "it was not held")
		} else {
			Expect(b.Asked).To(BeNumerically(">", 10), "it was asked all the time")
		}
	}
	Expect(newcomers).To(Equal(1))
}

func endedFirst(v harness.Verdict) {
	i := v.History.Instances[0]
	Expect(i.Payload.ExitedAt).To(BeTemporally("<", i.Started), "it ended first")
	Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7))))
}

func withoutRestart(v harness.Verdict) {
	Expect(v.History.Restart).To(BeNil())
	Expect(v.History.Deaths).To(BeEmpty())
	Expect(v.History.Reuse).NotTo(BeNil())
}

func wholeOutputs(v harness.Verdict) {
	i := v.History.Instances[0]
	Expect(i.Outputs).To(spec.WholeOutputs(i.Spec.Lines))
}

func wholeInput(v harness.Verdict) {
	i := v.History.Instances[0]
	Expect(i.Input).To(spec.WholeInput(i.Spec.Stdin))
}

// besideOOM expects that events tell the OOM kill of the second container alone.
func besideOOM(v harness.Verdict) {
	for _, e := range v.History.Events {
		if e.Topic == event.TopicOOM {
			Expect(e.Container).To(Equal(v.History.Instances[1].ID))
		}
	}
}

func killedForOOM(v harness.Verdict) {
	Expect(v.History.Events).To(ContainElement(HaveField("Topic", event.TopicOOM)))
}

func podKilledForOOM(v harness.Verdict) {
	killedForOOM(v)
	Expect(reasons(v)).To(HaveKeyWithValue("c0", "OOMKilled"))
}

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
