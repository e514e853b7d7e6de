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
	{fact.WrongList, "containerd", says("its list of the containers by %s %s", fact.Call, fact.Reported)},
	{fact.Listing, "containerd", says("it cannot tell what it has: %s", fact.Error)},
	{fact.Collection, "containerd", says("it was asked to collect its garbage, of which there is some: %s", fact.Error)},
	{fact.Stats, "containerd", says("CRI cannot tell what containers use (%s): %s", fact.Call, fact.Error)},
	{fact.Answer, "containerd", says("it did not answer Version within %s (%s): %s", fact.Bound, fact.Apart, fact.Error)},
	{fact.ARestart, "restart of containerd", says("it does not answer within %s: %s", fact.Bound, fact.Error)},
	{fact.Shutdown, "shim", says("it was sent SIGTERM, as at the shutdown of a node, and had not ended %s later",
		fact.Bound)},
	{fact.ShimEnded, "shim", says("it ended by itself with %s, and no fault asked it to", fact.Exit)},
	{fact.Death, "containerd", deathWords},
	{fact.ALog, "containerd's log", says("it says %s times %q; with what the client has called it may do so %s times",
		fact.Count, fact.Message, fact.Most)},
	{fact.AFatalLog, "containerd's log",
		says("it says %s times %q, after which it cannot go on, and no fault was planned",
			fact.Count, fact.Message)},
	{fact.ExecKept, "containerd", says("it answers for the exec that was deleted: its status is %s", fact.Task)},
	{fact.ExecTaken, "containerd", says("it refuses an exec of the id of one that was deleted: %s", fact.Error)},
	{fact.ExecOrphaned, "exec", says("its client went away, and it lives on: its heart has beaten %s times since",
		fact.Count)},
	{fact.AttachFailed, "attach", says("a client that attaches failed, and no fault explains that: %s", fact.Error)},
	{fact.AttachOpen, "attach", says("its container has ended, and the stream of who attached has not %s later",
		fact.Bound)},
	{fact.ExecFailed, "exec", says("CRI's call failed, and no fault explains that: %s", fact.Error)},
	{fact.ExecUntimed, "exec",
		says("it was given %s and does not end by itself, and ExecSync says that it has ended with %s",
			fact.Bound, fact.Reported)},
	{fact.ExecEarly, "exec", says("it was given %s, and ExecSync said after %s that its time is over", fact.Bound,
		fact.Apart)},
	{fact.ExecLives, "exec",
		says("ExecSync said that its time is over, and it lives on: its heart has beaten %s times since",
			fact.Count)},
	{fact.WrongOutput, "output", outputWords},
	{fact.WrongInput, "input", inputWords},
	{fact.InputOpen, "input", says("it was closed, and its payload did not see the end of its input within %s",
		fact.Bound)},
	{fact.InputEnded, "input", says("its payload saw the end of its input %s before it was closed", fact.Apart)},
	{fact.InputShut, "input",
		says("its payload saw the end of its input, which is to be open until the container's end: " +
			"a client that was attached has gone")},
	{fact.StateAs, "task", says("its %s has succeeded, and containerd calls it %s", fact.Call, fact.Task)},
	{fact.StatePID, "task", says("its %s was answered with the pid %s, and its state tells %s", fact.Call, fact.True,
		fact.Reported)},
	{fact.MeterAs, "task", says("its memory limit is %s, and Metrics tell: %s", fact.True, fact.Reported)},
	{fact.MeterPageAs, "task",
		says("its memory limit is %s, and the page of containerd's metrics has: %s", fact.True, fact.Reported)},
	{fact.NoPIDYet, "task", says("its %s has succeeded, and was answered without a pid", fact.Call)},
	{fact.PausedAs, "task", says("it was paused, and containerd calls it %s", fact.Task)},
	{fact.PausedRuns, "task", says("it was paused, and its payload went on: its heart has beaten %s times", fact.Count)},
	{fact.ResumedAs, "task", says("it was resumed, and containerd calls it %s", fact.Task)},
	{fact.ResumedStands, "task", says("it was resumed, and its payload did not go on within %s", fact.Bound)},
	{fact.ExecBurnt, "task", says("it was resumed, and an exec is refused of the id of one that was refused before: %s",
		fact.Error)},
	{fact.ASlowCall, "workload", slowWords},
	{fact.WaitUnanswered, "task",
		says("one of several clients that wait for its end was not answered within %s of it, and "+
			"no call was held", fact.Bound)},
	{fact.DoneTwice, "task", says("its %s has succeeded, and had before", fact.Call)},
	{fact.AskedUnanswered, "task",
		says("its state was asked for while %s was held, and not told: after %s the answer was %s",
			fact.Call, fact.Apart, fact.Error)},
	{fact.LateKillAs, "task", says("it was sent SIGKILL when it had ended, and the answer is %s, not NotFound",
		fact.Code)},
	{fact.KillHitsAnother, "task",
		says("it was sent SIGKILL when it had ended, and that has killed another process, which had its pid by then")},
	{fact.AbsentBegun, "task", says("%s of a command that does not exist has succeeded", fact.Call)},
	{fact.RefusedUnanswered, "exec",
		says("its start was refused and it was deleted, and who has waited for its end from "+
			"before was not answered within %s", fact.Bound)},
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
	if fs[fact.Asked] == fact.Yes {
		how = "it was asked to stop, and ended with %s " + fs[fact.Apart] + " later"
	}
	how = fmt.Sprintf(how, fs[fact.Exit])
	return []string{how + timesWords(fs) + "; its last words are in containerd.log"}
}

// timesWords say how often the same was found.
func timesWords(fs fact.Facts) string {
	if fs[fact.Count] == "" {
		return ""
	}
	return " " + fs[fact.Count] + " times"
}
