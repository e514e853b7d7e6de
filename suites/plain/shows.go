package plain

import (
	"slices"

	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/suites/spec"
)

// shows checks the history of a case, by its name. The verdict alone does not show that
// the client did everything in the case.
var shows = map[string]func(harness.Verdict){
	"plain-waiters": func(v harness.Verdict) {
		var waits []exit.Observation
		for _, o := range v.History.Reported {
			if o.Observer == exit.ByWait && o.Container == "c0" {
				waits = append(waits, o)
			}
		}
		Expect(waits).To(And(HaveLen(4), HaveEach(HaveField("Status", uint32(7)))))
	},
	"plain-exec": func(v harness.Verdict) {
		Expect(v.History.PIDReuses).To(HaveLen(4))
	},
	"plain-oom":     outOfMemory,
	"plain-pod-oom": outOfMemory,
	"plain-output":  wholeOutput,
	"plain-pod-output": func(v harness.Verdict) {
		wholeOutput(v)
		for _, by := range []exit.Observer{exit.ByExecSync, exit.ByTaskExit} {
			Expect(v.Reported).To(ContainElement(And(HaveField("Exec", Not(BeEmpty())), HaveField("Observer", by),
				HaveField("Status", uint32(3)))))
		}
	},
	"plain-stdin": func(v harness.Verdict) {
		i := one(v, func(k harness.Container) bool { return k.Stdin > 0 })
		Expect(i.Input).To(spec.WholeInput(i.Spec.Stdin))
		Expect(i.Payload.EOFAt).To(BeTemporally(">", i.Input.Closing))
		Expect(i.Outputs.Stdout.Last).To(Equal(i.Spec.Stdin))
		Expect(i.Execs).To(ConsistOf(HaveField("Input", spec.WholeInput(i.Spec.Stdin))))
	},
	"plain-pod-exec": func(v harness.Verdict) {
		i := one(v, func(k harness.Container) bool { return k.Exit == 6 })
		Expect(i.Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
		Expect(v.Truths).To(ContainElement(And(HaveField("Exec", i.Execs[0].ID), HaveField("Status", uint32(137)))))
		e := one(v, func(k harness.Container) bool { return k.Signal != "" }).Execs[0]
		Expect(e.Sync.Err).To(HaveField("Code", "DeadlineExceeded"))
		Expect(v.Truths).To(ContainElement(And(HaveField("Exec", e.ID), HaveField("Status", uint32(137)))))
		Expect(v.Reported).To(ContainElement(And(HaveField("Exec", e.ID), HaveField("Status", uint32(137)))))
	},
	"plain-pod-stream": streamed,
	"plain-pod-restart": func(v harness.Verdict) {
		Expect(v.History.Deaths).To(HaveLen(1))
		Expect(v.History.Bystanders).To(ContainElement(And(HaveField("API", harness.CRI),
			HaveField("Output.Last", BeNumerically(">", 1)), HaveField("Stderr.Last", BeNumerically(">", 1)),
			HaveField("Rotations", Not(BeEmpty())))))
	},
	"plain-rest":     rested,
	"plain-pod-rest": rested,
}

// one returns the first matching container.
func one(v harness.Verdict, is func(harness.Container) bool) harness.Instance {
	i := slices.IndexFunc(v.History.Instances, func(i harness.Instance) bool { return is(i.Spec) })
	Expect(i).To(BeNumerically(">=", 0), "no container of %s is like that", v.Name)
	return v.History.Instances[i]
}

func wholeOutput(v harness.Verdict) {
	i := one(v, func(k harness.Container) bool { return k.Lines > 0 && len(k.Execs) > 0 })
	Expect(i.Outputs).To(spec.WholeOutputs(i.Spec.Lines))
	Expect(i.Execs).To(ConsistOf(HaveField("Outputs", spec.WholeOutputs(i.Spec.Lines))))
}

// outOfMemory expects an OOM kill by the kernel, and containerd's report of it.
func outOfMemory(v harness.Verdict) {
	for _, who := range []harness.OOM{harness.OOMChild, harness.OOMInit} {
		i := one(v, func(k harness.Container) bool { return k.OOM == who })
		Expect(i.Payload.HoggedAt).NotTo(BeZero(), "it took too much memory")
		if who == harness.OOMChild {
			Expect(i.Payload.ChildStatus).To(Equal(137))
		}
		if who == harness.OOMChild || v.Case.Workload.API != harness.CRI {
			Expect(v.History.Events).To(ContainElement(And(HaveField("Topic", event.TopicOOM),
				HaveField("Container", i.ID))))
			Expect(i.OOMKills).To(HaveValue(BeNumerically(">", 0)), "the kernel has counted it")
		}
	}
}

// streamed expects the outputs, breaks and ends of the clients of CRI's streaming server,
// as in the case.
func streamed(v harness.Verdict) {
	i := one(v, func(k harness.Container) bool { return k.Exit == 5 })
	lines := i.Spec.Stdin
	Expect(i.Input).To(spec.WholeInput(lines))
	Expect(i.Attaches).To(ConsistOf(spec.Stayed(lines)))
	Expect(i.Outputs.Stdout.Last).To(Equal(lines))
	Expect(i.Execs).To(ConsistOf(And(HaveField("Input", spec.WholeInput(lines)), HaveField("Outputs.Stderr.Last", lines),
		HaveField("Sync.Status", uint32(4)))))

	spec.ExpectBrokenStreams(one(v, func(k harness.Container) bool { return k.Exit == 6 }))
}

// rested expects a container that kept running as long as in the case.
func rested(v harness.Verdict) {
	Expect(v.History.Deaths).To(HaveLen(1))
	Expect(v.History.Instances[0].Payload.ExitedAt).To(
		BeTemporally(">", v.History.Deaths[0].At.Add(v.Case.Workload.Soaks())))
}
