package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
)

// livenessWhats are those of Liveness, and bystanderWhats those of Others.
var livenessWhats = []what{
	{fact.Removal, "removal", says("the client could not remove the %s: %s", fact.Object, fact.Error)},
	{fact.NameFree, "containerd",
		says("since its restart it would make another %s of the name of one that there is", fact.Object)},
	{fact.GoneFails, "containerd", says("%s of what is gone already must succeed, and failed: %s", fact.Call,
		fact.Error)},
	{fact.IDReuse, "ID reuse", says("the id could not be used again: %s", fact.Error)},
	{fact.Boot, "containerd", says("%s", fact.Error)},
	{fact.Listing, "containerd", says("it cannot tell what it has: %s", fact.Error)},
	{fact.Collection, "containerd", says("it was asked to collect its garbage, of which there is some: %s", fact.Error)},
	{fact.Answer, "containerd", says("it did not answer Version within %s (%s): %s", fact.Bound, fact.Apart, fact.Error)},
	{fact.ARestart, "restart of containerd", says("it does not answer within %s: %s", fact.Bound, fact.Error)},
	{fact.Shutdown, "shim", says("it was sent SIGTERM, as at the shutdown of a node, and had not ended %s later",
		fact.Bound)},
	{fact.ShimEnded, "shim", says("it ended by itself with %s, and no fault asked it to", fact.Exit)},
	{fact.Death, "containerd", deathWords},
	{fact.ALog, "containerd's log", logWords},
	{fact.ExecKept, "containerd", says("it answers for the exec that was deleted: its status is %s", fact.Task)},
	{fact.ExecTaken, "containerd", execTakenWords},
	{fact.AttachFailed, "attach", says("a client that attaches failed, and no fault explains that: %s", fact.Error)},
	{fact.AttachOpen, "attach", says("its container has ended, and the stream of who attached has not %s later",
		fact.Bound)},
	{fact.ExecFailed, "exec", says("CRI's call failed, and no fault explains that: %s", fact.Error)},
	{fact.ExecUntimed, "exec",
		says("it was given %s and does not end by itself, and ExecSync says that it has ended with %s",
			fact.Bound, fact.Reported)},
	{fact.ExecEarly, "exec", says("it was given %s, and ExecSync said after %s that its time is over", fact.Bound,
		fact.Apart)},
	{fact.ExecLives, "exec", execLivesWords},
	{fact.WrongOutput, "output", outputWords},
	{fact.WrongInput, "input", inputWords},
	{fact.InputOpen, "input", says("it was closed, and its payload did not see the end of its input within %s",
		fact.Bound)},
	{fact.InputEnded, "input", inputEndedWords},
	{fact.StateAs, "task", says("its %s has succeeded, and containerd calls it %s", fact.Call, fact.Task)},
	{fact.StatePID, "task", statePIDWords},
	{fact.WrongResponse, "task", says("%s got the response %s while it was %s", fact.Call, fact.Reported, fact.True)},
	{fact.WrongState, "task", says("behind %s its %s is reported as %s while it was %s", fact.Call, fact.Field,
		fact.Reported, fact.True)},
	{fact.PausedRuns, "task", says("it was paused, and its payload went on: its heart has beaten %s times", fact.Count)},
	{fact.ResumedStands, "task", says("it was resumed, and its payload did not go on within %s", fact.Bound)},
	{fact.ASlowCall, "workload", slowWords},
	{fact.WaitUnanswered, "task", waitUnansweredWords},
	{fact.DoneTwice, "task", says("its %s has succeeded, and had before", fact.Call)},
	{fact.AskedUnanswered, "task",
		says("its state was asked for while %s was held, and not told: after %s the answer was %s",
			fact.Call, fact.Apart, fact.Error)},
	{fact.LateKillAs, "task", says("it was sent SIGKILL when it had ended, and the answer is %s, not NotFound",
		fact.Code)},
	{fact.KillHitsAnother, "task",
		says("it was sent SIGKILL when it had ended, and that has killed another process, which had its pid by then")},
	{fact.AbsentBegun, "task", says("%s of a command that does not exist has succeeded", fact.Call)},
	{fact.Baseline, "workload", baselineWords},
}

func slowWords(fs fact.Facts) []string {
	took := fmt.Sprintf("%s took %s", fs[fact.Call], fs[fact.Apart])
	if fs[fact.After] == fact.AnotherStop {
		return []string{took + ", as long as the stop of a container that ignores SIGTERM", "so did the other stops"}
	}
	return []string{took + " before anything was broken", "the quickest calls of its case allow it " + fs[fact.Bound]}
}

func baselineWords(fs fact.Facts) []string {
	return []string{fmt.Sprintf("%s failed%s before anything was broken, and not so on the default release: %s",
		fs[fact.Call], timesWords(fs), fs[fact.Error])}
}

func deathWords(fs fact.Facts) []string {
	if fs[fact.Status] == fact.Killed {
		return []string{"it was asked to stop, had not ended " + fs[fact.Apart] + " later, and was killed" + timesWords(fs)}
	}
	how := "it ended by itself with %s, and no fault asked it to"
	if fs[fact.Exit] == killedExit {
		how = "SIGKILL has ended it (%s), and no fault sent that: a process of its world did, or another one on this machine"
	}
	if fs[fact.Asked] == fact.Yes {
		how = "it was asked to stop, and ended with %s " + fs[fact.Apart] + " later"
	}
	how = fmt.Sprintf(how, fs[fact.Exit])
	return []string{how + timesWords(fs) + "; its last words are in containerd.log"}
}

// killedExit is the exit of a process that SIGKILL has ended.
const killedExit = "137"

// timesWords say how often the same was found.
func timesWords(fs fact.Facts) string {
	if fs[fact.Count] == "" {
		return ""
	}
	return " " + fs[fact.Count] + " times"
}

func logWords(fs fact.Facts) []string {
	says := fmt.Sprintf("it says %s times %q", fs[fact.Count], fs[fact.Message])
	if fs[fact.Is] == fact.Fatal {
		return []string{says, "after that it cannot go on", "no fault was planned"}
	}
	return []string{says, "for the calls of its client the limit is " + fs[fact.Most]}
}

func execTakenWords(fs fact.Facts) []string {
	of := "that was deleted"
	if fs[fact.Task] != "" {
		of = "that it refused while the task was " + fs[fact.Task]
	}
	return []string{fmt.Sprintf("it refuses the id of an exec %s: %s", of, fs[fact.Error])}
}

func execLivesWords(fs fact.Facts) []string {
	why := "ExecSync said that its time is over"
	if fs[fact.After] == fact.ClientGone {
		why = "its client went away"
	}
	return []string{why, fmt.Sprintf("it is still running: %s heartbeats since", fs[fact.Count])}
}

func inputEndedWords(fs fact.Facts) []string {
	if fs[fact.After] == fact.ClientGone {
		return []string{"its payload saw the end of its input, which stays open until the container's end",
			"an attached client has gone"}
	}
	return []string{fmt.Sprintf("its payload saw the end of its input %s before it was closed", fs[fact.Apart])}
}

func statePIDWords(fs fact.Facts) []string {
	if fs[fact.Reported] == fact.None {
		return []string{fmt.Sprintf("its %s has succeeded, and was answered without a pid", fs[fact.Call])}
	}
	return []string{fmt.Sprintf("its %s was answered with the pid %s, and its state tells %s", fs[fact.Call],
		fs[fact.True], fs[fact.Reported])}
}

func waitUnansweredWords(fs fact.Facts) []string {
	if fs[fact.Of] == fact.AnExec {
		return []string{"its start was refused and it was deleted",
			"a client that waits for its end from before was not answered within " + fs[fact.Bound]}
	}
	return []string{fmt.Sprintf("one of several clients that wait for its end was not answered within %s of it",
		fs[fact.Bound]), "no call was held"}
}
