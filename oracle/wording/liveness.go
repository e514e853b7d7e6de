package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
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
	{fact.ExecTaken, "containerd", execTakenWords},
	{fact.AttachFailed, "attach", says("a client could not attach, without a fault: %s", fact.Error)},
	{fact.AttachOpen, "attach",
		says("its container has ended, but the stream of an attached client is still open %s later", fact.Bound)},
	{fact.ExecFailed, "exec", says("CRI's call failed, without a fault: %s", fact.Error)},
	{fact.ExecUntimed, "exec",
		says("its timeout was %s and it does not end by itself, but ExecSync reports that it ended with %s",
			fact.Bound, fact.Reported)},
	{fact.ExecEarly, "exec", says("its timeout was %s, but ExecSync reported after %s that it had timed out", fact.Bound,
		fact.Apart)},
	{fact.ExecLives, "exec", execLivesWords},
	{fact.WrongOutput, "output", outputWords},
	{fact.WrongInput, "input", inputWords},
	{fact.InputOpen, "input", says("it was closed, but its payload did not read its end within %s",
		fact.Bound)},
	{fact.InputEnded, "input", inputEndedWords},
	{fact.StateAs, "task", says("its %s succeeded, but containerd reports it as %s", fact.Call, fact.Task)},
	{fact.StatePID, "task", statePIDWords},
	{fact.WrongResponse, "task", responseWords},
	{fact.WrongState, "task", says("after %s its %s is reported as %s while it was %s", fact.Call, fact.Field,
		fact.Reported, fact.True)},
	{fact.PausedRuns, "task", says("it was paused, but its payload still ran: %s heartbeats since", fact.Count)},
	{fact.ResumedStands, "task", says("it was resumed, but its payload did not continue within %s", fact.Bound)},
	{fact.ASlowCall, "workload", slowWords},
	{fact.WaitUnanswered, "task", waitUnansweredWords},
	{fact.DoneTwice, "task", says("its %s succeeded twice", fact.Call)},
	{fact.AskedUnanswered, "task",
		says("its state was not reported while %s was held: after %s the response was %s",
			fact.Call, fact.Apart, fact.Error)},
	{fact.LateKillAs, "task", says("it got SIGKILL after its end, and the response was %s, not NotFound",
		fact.Code)},
	{fact.KillHitsAnother, "task",
		says("a SIGKILL after its end killed another process, which had its pid by then")},
	{fact.AbsentBegun, "task", says("%s of a command that does not exist succeeded", fact.Call)},
	{fact.Baseline, "workload", baselineWords},
}

func slowWords(fs fact.Facts) []string {
	took := fmt.Sprintf("%s took %s", fs[fact.Call], fs[fact.Apart])
	if fs[fact.After] == fact.AnotherStop {
		return []string{took + ", as long as the stop of a container that ignores SIGTERM", "so did the other stops"}
	}
	return []string{took + " before any fault", "its limit, from the quickest calls of its case, is " + fs[fact.Bound]}
}

func baselineWords(fs fact.Facts) []string {
	return []string{fmt.Sprintf("%s failed%s before any fault, but succeeds on the default release: %s",
		fs[fact.Call], timesWords(fs), fs[fact.Error])}
}

func deathWords(fs fact.Facts) []string {
	if fs[fact.Status] == fact.Killed {
		return []string{"it was asked to stop, still ran " + fs[fact.Apart] + " later, and was killed" + timesWords(fs)}
	}
	how := "it ended by itself with %s, without a fault"
	if fs[fact.Exit] == killedExit {
		how = "SIGKILL ended it (%s), but no fault sent this signal: another process in its world or on this machine did"
	}
	if fs[fact.Asked] == fact.Yes {
		how = "it was asked to stop, and ended with %s " + fs[fact.Apart] + " later"
	}
	how = fmt.Sprintf(how, fs[fact.Exit])
	return []string{how + timesWords(fs) + "; see the end of containerd.log"}
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

func logWords(fs fact.Facts) []string {
	says := fmt.Sprintf("it logged %s times %q", fs[fact.Count], fs[fact.Message])
	if fs[fact.Is] == fact.Fatal {
		return []string{says, "containerd exits after such a message", "no fault was planned"}
	}
	return []string{says, "the limit for this number of calls is " + fs[fact.Most]}
}

func execTakenWords(fs fact.Facts) []string {
	of := "that was deleted"
	if fs[fact.Task] != "" {
		of = "that it refused while the task was " + fs[fact.Task]
	}
	return []string{fmt.Sprintf("it refuses the id of an exec %s: %s", of, fs[fact.Error])}
}

func execLivesWords(fs fact.Facts) []string {
	why := "ExecSync reported that it timed out"
	if fs[fact.After] == fact.ClientGone {
		why = "its client went away"
	}
	return []string{why, fmt.Sprintf("it is still running: %s heartbeats since", fs[fact.Count])}
}

func inputEndedWords(fs fact.Facts) []string {
	if fs[fact.After] == fact.ClientGone {
		return []string{"its payload read the end of its input, which should stay open until the container's end",
			"an attached client had gone"}
	}
	return []string{fmt.Sprintf("its payload read the end of its input %s before it was closed", fs[fact.Apart])}
}

func responseWords(fs fact.Facts) []string {
	got := fmt.Sprintf("%s got the response %s", fs[fact.Call], fs[fact.Reported])
	if fs[fact.Error] != "" {
		got += fmt.Sprintf(" (%s)", fs[fact.Error])
	}
	return []string{got, fmt.Sprintf("it was %s, where the response is %s", fs[fact.True], fs[fact.Want])}
}

func statePIDWords(fs fact.Facts) []string {
	if fs[fact.Reported] == fact.None {
		return []string{fmt.Sprintf("its %s succeeded with a response without a pid", fs[fact.Call])}
	}
	return []string{fmt.Sprintf("its %s returned the pid %s, but its state has %s", fs[fact.Call],
		fs[fact.True], fs[fact.Reported])}
}

func waitUnansweredWords(fs fact.Facts) []string {
	if fs[fact.Of] == fact.AnExec {
		return []string{"its start was refused and it was deleted",
			"a client that was waiting for its end got no response within " + fs[fact.Bound]}
	}
	return []string{fmt.Sprintf("a client that waits for its end got no response within %s of it",
		fs[fact.Bound]), "no call was held"}
}
