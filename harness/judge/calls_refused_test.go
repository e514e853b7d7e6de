package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
)

// absent adds a container to the clean history whose command does not exist, and whose
// create has failed with this text.
func absent(text string) func(*harness.History) {
	return func(h *harness.History) {
		plain(h)
		h.Instances = append(h.Instances, harness.Instance{Name: "c1", ID: "c1", Begun: at(1),
			Spec: harness.Container{NoSuchCommand: true}})
		h.Calls = append(h.Calls, fails("create", "c1", text))
		h.Hits = append(h.Hits, hit(createExit, 2, func(h *failpoints.Hit) { h.PID, h.ID, h.Err = 44, "c1", text }))
		h.Flushed.Hits = len(h.Hits)
	}
}

// absentExec adds an exec to the clean history whose command does not exist, and whose
// start was refused, while a client waits.
func absentExec(change func(*harness.Exec)) func(*harness.History) {
	return func(h *harness.History) {
		plain(h)
		h.Instances[0].Spec.Execs = []harness.ExecSpec{{NoSuchCommand: true}}
		e := harness.Exec{ID: "e3", Absent: true, Begun: at(20), Added: at(21), Deleted: at(23)}
		change(&e)
		h.Instances[0].Execs = []harness.Exec{e}
		h.Calls = append(h.Calls, fails("start", "c0", refuses))
		h.Events = append(h.Events, event.Task{Namespace: daemon.TaskNamespace, Topic: event.TopicExecAdded,
			Container: "c0", Exec: "e3", Seen: at(21)})
		h.Flushed.Events = len(h.Events)
	}
}

// fails adds a call that failed before any fault had happened.
func fails(verb, of, text string) harness.Call {
	return harness.Call{Who: "client", Verb: verb, Of: of, At: at(1), Took: time.Millisecond,
		Err: failed("Unknown", text), Unprovoked: true}
}

// tells adds an event with a pid. An exit event also has a time.
func tells(topic, id, exec string) func(*harness.History) {
	return func(h *harness.History) {
		e := event.Task{Namespace: daemon.TaskNamespace, Topic: topic, Container: id, Exec: exec, PID: 45,
			Seen: at(22)}
		if topic == event.TopicExit {
			e.Exited = at(22)
		}
		h.Events = append(h.Events, e)
		h.Flushed.Events = len(h.Events)
	}
}

// refuses is runc's error.
const refuses = "exec: \"" + harness.AbsentCommand + "\": no such file or directory"

func TestRefusals(t *testing.T) {
	refusedAs := absent(refuses)
	faulty := func(h *harness.History) {
		h.Case.Plan = failpoints.Plan{failpoints.Once(createExit, term.Error)}
		h.Firings = []harness.Firing{{Count: 1, At: at(1)}}
		h.Hits[0].Fault, h.Hits[0].Did = 0, term.Error
	}
	begins := func(h *harness.History) { h.Instances[1].Created = at(2) }
	const begun = "liveness container what=absent-begun"
	exec := absentExec(func(*harness.Exec) {})
	starts := absentExec(func(e *harness.Exec) { e.Started, e.PID = at(22), 45 })
	sync := func(err *callerr.Failed) func(*harness.History) {
		return absentExec(func(e *harness.Exec) {
			e.Sync = &harness.ExecSync{Answered: at(22), Err: err}
		})
	}
	told := func(topic string) string { return "event event event=of-refused topic=" + topic }
	judged(t, map[string]row{
		"it is refused":                {refusedAs, ""},
		"its error does not say why":   {absent("x"), "before"},
		"and another release says why": {also(absent("x"), can), "liveness container what=baseline call=create"},
		"its create succeeds":          {also(refusedAs, begins), begun + " call=create"},
		"after a fault":                {also(refusedAs, faulty, begins, tells(event.TopicCreate, "c1", "")), ""},
		"it is told to have been created": {also(refusedAs, tells(event.TopicCreate, "c1", "")),
			told(event.TopicCreate)},
		"it is told to have ended":  {also(refusedAs, tells(event.TopicExit, "c1", "")), told(event.TopicExit)},
		"its exec is refused":       {exec, ""},
		"its exec starts":           {starts, begun + " of=exec call=start"},
		"its ExecSync is refused":   {sync(failed("Unknown", refuses)), ""},
		"and after a fault":         {also(sync(failed("Unknown", refuses)), faulty), ""},
		"its ExecSync is answered":  {sync(nil), begun + " of=exec call=ExecSync"},
		"its exec is told to start": {also(exec, tells(event.TopicExecStart, "c0", "e3")), told(event.TopicExecStart)},
		"its exec is told to end":   {also(exec, tells(event.TopicExit, "c0", "e3")), told(event.TopicExit)},
	})
}

// can makes the default release run the workload.
func can(h *harness.History) { h.Reference = &harness.Reference{Outcome: harness.Held} }
