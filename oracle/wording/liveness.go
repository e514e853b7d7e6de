package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// livenessWhats has a row for each value of What in a finding of invariant Liveness.
var livenessWhats = []phrase{
	{fact.Removal, "removal", says("the client could not remove the %s: %s", fact.Object, fact.Error)},
	{fact.NameFree, "containerd",
		says("since its restart it accepts the name of an existing %s again", fact.Object)},
	{fact.IDReuse, "ID reuse", says("the id could not be used again: %s", fact.Error)},
	{fact.Boot, "containerd", says("%s", fact.Error)},
	{fact.Listing, "containerd", says("it cannot list its objects: %s", fact.Error)},
	{fact.Collection, "containerd", says("it could not collect its garbage: %s", fact.Error)},
	{fact.Answer, "containerd",
		says("it did not respond to Version within %s (%s): %s", fact.Bound, fact.Apart,
			fact.Error)},
	{fact.ARestart, "restart of containerd", says("it does not respond within %s: %s", fact.Bound, fact.Error)},
	{fact.Shutdown, "shim", says("it got SIGTERM, as at the shutdown of a node, and still ran %s later",
		fact.Bound)},
	{fact.ShimEnded, "shim", says("it ended by itself with %s, without a fault", fact.Exit)},
	{fact.Death, "containerd", deathWords},
	{fact.ALog, "containerd's log", logWords},
	{fact.ExecKept, "containerd", says("it still has the deleted exec: its status is %s", fact.Task)},
	{fact.AttachFailed, "attach", says("a client could not attach, without a fault: %s", fact.Error)},
	{fact.AttachOpen, "attach",
		says("its container has ended, but the stream of an attached client is still open %s later", fact.Bound)},
	{fact.ExecFailed, "exec", says("CRI's call failed, without a fault: %s", fact.Error)},
	{fact.ExecUntimed, "exec",
		says("its timeout was %s and it does not end by itself, but ExecSync reports that it ended with %s",
			fact.Bound, fact.Reported)},
	{fact.ExecEarly, "exec", says("its timeout was %s, but ExecSync reported after %s that it had timed out", fact.Bound,
		fact.Apart)},
	{fact.ExecLives, "exec", by(fact.After, []phrase{
		{fact.ClientGone, "", says("its client went away; it is still running: %s heartbeats since", fact.Count)},
		{anyValue, "", says("ExecSync reported that it timed out; it is still running: %s heartbeats since", fact.Count)},
	})},
	{fact.WrongOutput, "output", outputWords},
	{fact.WrongInput, "input", by(fact.Output, inputs)},
	{fact.InputOpen, "input", says("it was closed, but its payload did not read its end within %s",
		fact.Bound)},
	{fact.InputEnded, "input", by(fact.After, []phrase{
		{fact.ClientGone, "", says("its payload read the end of its input, which should stay open until the container's " +
			"end; an attached client had gone")},
		{anyValue, "", says("its payload read the end of its input %s before it was closed", fact.Apart)},
	})},
	{fact.WrongResponse, "task", responseWords},
	{fact.WrongState, "task", says("after %s its %s is reported as %s while it was %s", fact.Call, fact.Field,
		fact.Reported, fact.True)},
	{fact.ASlowCall, "workload", by(fact.After, []phrase{
		{fact.AnotherStop, "", says("%s took %s, as long as the stop of a container that ignores SIGTERM; "+
			"so did the other stops", fact.Call, fact.Apart)},
		{anyValue, "", says("%s took %s before any fault; its limit, from the quickest calls of its case, is %s", fact.Call,
			fact.Apart, fact.Bound)},
	})},
	{fact.WaitUnanswered, "task", by(fact.Of, []phrase{
		{fact.AnExec, "", says("its start was refused and it was deleted; a client that was waiting for its end got no "+
			"response within %s", fact.Bound)},
		{anyValue, "", says("a client that waits for its end got no response within %s of it; no call was held",
			fact.Bound)},
	})},
	{fact.AskedUnanswered, "task",
		says("its state was not reported while %s was held: after %s the response was %s",
			fact.Call, fact.Apart, fact.Error)},
	{fact.KillHitsAnother, "task",
		says("a SIGKILL after its end killed another process, which had its pid by then")},
	{fact.AbsentBegun, "task", says("%s of a command that does not exist succeeded", fact.Call)},
	{fact.Baseline, "workload", baselineWords},
}

func baselineWords(f finding.Finding) string {
	fs := f.Facts
	return fmt.Sprintf("%s failed%s before any fault, but succeeds on the default release: %s", fs[fact.Call],
		timesWords(fs), fs[fact.Error])
}

func deathWords(f finding.Finding) string {
	fs := f.Facts
	if fs[fact.Status] == fact.Killed {
		return "it was asked to stop, still ran " + fs[fact.Apart] + " later, and was killed" + timesWords(fs)
	}
	how := "it ended by itself with %s, without a fault"
	if fs[fact.Exit] == killedExit {
		how = "SIGKILL ended it (%s), but no fault sent this signal: another process in its world or on this machine did"
	}
	if fs[fact.Asked] == fact.Yes {
		how = "it was asked to stop, and ended with %s " + fs[fact.Apart] + " later"
	}
	how = fmt.Sprintf(how, fs[fact.Exit])
	return how + timesWords(fs) + "; see the end of containerd.log"
}

// killedExit is the exit status of a process that SIGKILL ended.
const killedExit = "137"

// timesWords returns the number of equal findings.
func timesWords(fs fact.Facts) string {
	if fs[fact.Count] == "" {
		return ""
	}
	return " " + fs[fact.Count] + " times"
}

func logWords(f finding.Finding) string {
	fs := f.Facts
	says := fmt.Sprintf("it logged %s times %q", fs[fact.Count], fs[fact.Message])
	if fs[fact.Is] == fact.Fatal {
		return join(says, "containerd exits after such a message", "no fault was planned")
	}
	return join(says, "the limit for this number of calls is "+fs[fact.Most])
}

func responseWords(f finding.Finding) string {
	fs := f.Facts
	got := fmt.Sprintf("%s got the response %s", fs[fact.Call], fs[fact.Reported])
	if fs[fact.Error] != "" {
		got += fmt.Sprintf(" (%s)", fs[fact.Error])
	}
	return join(got, fmt.Sprintf("it was %s, where the response is %s", fs[fact.True], fs[fact.Want]))
}
