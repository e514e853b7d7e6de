package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Values of FactWhat where something did not succeed.
const (
	Removal   = "removal"
	IDReuse   = "id-reuse"
	NameFree  = "name-free"  // that of a container, or of a pod, that there is
	GoneFails = "gone-fails" // a call about what is gone already
	Boot      = "boot"
	Listing   = "listing"
	WrongList = "wrong-list" // by a filter
	// Collection is that of garbage.
	Collection = "collection"
	Stats      = "stats" // CRI's, of containers
	Answer     = "answer"
	ARestart   = "restart"
	Shutdown   = "shutdown"
	Death      = "death"
	ALog       = "log"
	AFatalLog  = "log-fatal"
	ExecKept   = "exec-kept"  // an exec that was deleted
	ExecTaken  = "exec-taken" // the id of one that was deleted
	// Of an exec by CRI: it is refused, it has run longer than it was given and nobody says
	// so, it lives on after that, or it was not given as long; and it lives on although its
	// client has gone.
	ExecFailed   = "exec-failed"
	ExecUntimed  = "exec-untimed"
	ExecLives    = "exec-lives"
	ExecHangs    = "exec-hangs" // it has written more than ExecSync keeps, as in ExecKeeps
	ExecKeeps    = "exec-keeps"
	ExecEarly    = "exec-early"
	ExecOrphaned = "exec-orphaned"
	// Of a client that attaches: it cannot, or what it is attached to has ended and its
	// stream has not.
	AttachFailed = "attach-failed"
	AttachOpen   = "attach-open"
	// Output is that of a container or of an exec.
	WrongOutput = "output"
	// Of a standard input: what was read of it, that it did not end when it was closed, that
	// it ended before, and that it ended although nobody closes it.
	WrongInput = "input"
	InputOpen  = "input-open"
	InputEnded = "input-ended"
	InputShut  = "input-shut"
	// Of ListPids: what it leaves out, what is not there, and that it does not answer.
	PIDsLeftOut = "pids-left-out"
	PIDsForeign = "pids-foreign"
	PIDsUntold  = "pids-untold"
	PIDsOfExecs = "pids-of-execs" // which exec's a process is
	// WindowSize is the size of a terminal's window.
	WindowSize = "window-size"
	// Of a task that was created, or started: what containerd calls it, the pid that comes
	// with that, and that the call was answered without one.
	StateAs  = "state-as"
	StatePID = "state-pid"
	NoPIDYet = "pid-untold"
	// How a shim, or the init of a container, stands with the kernel: the process group of a
	// shim is containerd's, and its oom_score_adj, or the init's, is another than it should.
	ShimGroup    = "shim-group"
	ShimOOMScore = "shim-oom-score"
	InitOOMScore = "oom-score"
	// ShimEnded is a shim that nobody has killed, and that has not ended well.
	ShimEnded = "shim-ended"
	// What Metrics, and the page of them, say of its memory limit.
	MeterAs     = "meter-as"
	MeterPageAs = "meter-page-as"
	// Of a second client of CRI's container events: it is not told of one, and its stream
	// ends by itself.
	NotHeard    = "not-heard"
	HeardNoMore = "subscription-ended"
	// What containerd calls a task that was paused, or resumed, and a payload that goes on,
	// or does not.
	PausedAs      = "paused-as"
	PausedRuns    = "paused-runs"
	ResumedAs     = "resumed-as"
	ResumedStands = "resumed-stands"
	ExecBurnt     = "exec-burnt" // the id of an exec that was refused while it was paused
	ASlowCall     = "slow-call"
	AHeldUpCall   = "held-up-call" // by one about another container
	// Of several who wait for an end, one that nobody answers.
	WaitUnanswered = "wait-unanswered"
	// Of a command that does not exist: it has begun; and one that waits for the end of an
	// exec whose start was refused, and whom nobody answers.
	AbsentBegun       = "absent-begun"
	DoneTwice         = "done-twice" // what was done already succeeds once more
	RefusedUnanswered = "refused-unanswered"
	AskedUnanswered   = "asked-unanswered" // its state, while a call about it was held
	// Of a SIGKILL for what has ended: what was answered, and that it came to another.
	LateKillAs      = "late-kill-as"
	KillHitsAnother = "kill-hits-another"
	Baseline        = "baseline" // a call that failed before anything was broken
)

// what is a value of FactWhat with its words.
type what struct {
	value   string
	subject string // empty: the bystander's name
	why     func(Facts) []string
}

// livenessWhats are those of Liveness, and bystanderWhats those of Others.
var livenessWhats = []what{
	{Removal, "removal", says("the client could not remove the %s: %s", FactObject, FactError)},
	{NameFree, "containerd",
		says("since its restart it would make another %s of the name of one that there is", FactObject)},
	{GoneFails, "containerd", says("%s of what is gone already must succeed, and failed: %s", FactCall, FactError)},
	{IDReuse, "ID reuse", says("the id could not be used again: %s", FactError)},
	{Boot, "containerd", says("%s", FactError)},
	{WrongList, "containerd", says("its list of the containers by %s %s", FactCall, FactReported)},
	{Listing, "containerd", says("it cannot tell what it has: %s", FactError)},
	{Collection, "containerd", says("it was asked to collect its garbage, of which there is some: %s", FactError)},
	{Stats, "containerd", says("CRI cannot tell what containers use (%s): %s", FactCall, FactError)},
	{Answer, "containerd", says("it did not answer Version within %s (%s): %s", FactBound, FactApart, FactError)},
	{ARestart, "restart of containerd", says("it does not answer within %s: %s", FactBound, FactError)},
	{Shutdown, "shim", says("it was sent SIGTERM, as at the shutdown of a node, and had not ended %s later", FactBound)},
	{ShimGroup, "shim", says("it is in process group %s, which is containerd's: a signal to that would end it, too",
		FactReported)},
	{ShimOOMScore, "shim", says("its oom_score_adj is %s, and with that of the containerd above it should be %s",
		FactReported, FactTrue)},
	{InitOOMScore, "task", says("the oom_score_adj of its init is %s, and %s was asked for", FactReported, FactTrue)},
	{ShimEnded, "shim", says("it ended by itself with %s, and no fault asked it to", FactExit)},
	{Death, "containerd", deathWords},
	{ALog, "containerd's log", says("it says %s times %q; with what the client has called it may do so %s times",
		FactCount, FactMessage, FactMost)},
	{AFatalLog, "containerd's log", says("it says %s times %q, after which it cannot go on, and no fault was planned",
		FactCount, FactMessage)},
	{ExecKept, "containerd", says("it answers for the exec that was deleted: its status is %s", FactTask)},
	{ExecTaken, "containerd", says("it refuses an exec of the id of one that was deleted: %s", FactError)},
	{ExecOrphaned, "exec", says("its client went away, and it lives on: its heart has beaten %s times since",
		FactCount)},
	{AttachFailed, "attach", says("a client that attaches failed, and no fault explains that: %s", FactError)},
	{AttachOpen, "attach", says("its container has ended, and the stream of who attached has not %s later", FactBound)},
	{ExecFailed, "exec", says("CRI's call failed, and no fault explains that: %s", FactError)},
	{ExecUntimed, "exec", says("it was given %s and does not end by itself, and ExecSync says that it has ended with %s",
		FactBound, FactReported)},
	{ExecEarly, "exec", says("it was given %s, and ExecSync said after %s that its time is over", FactBound, FactApart)},
	{ExecHangs, "exec", says("it has written more than ExecSync keeps, and there was no answer within %s", FactBound)},
	{ExecKeeps, "exec", says("it has written more than ExecSync keeps, and the answer has %s bytes of its %s, not %s",
		FactCount, FactStream, FactTrue)},
	{ExecLives, "exec", says("ExecSync said that its time is over, and it lives on: its heart has beaten %s times since",
		FactCount)},
	{WrongOutput, "output", outputWords},
	{WrongInput, "input", inputWords},
	{InputOpen, "input", says("it was closed, and its payload did not see the end of its input within %s", FactBound)},
	{InputEnded, "input", says("its payload saw the end of its input %s before it was closed", FactApart)},
	{InputShut, "input", says("its payload saw the end of its input, which is to be open until the container's end: " +
		"a client that was attached has gone")},
	{PIDsLeftOut, "task", says("ListPids leaves out %s, which run in its cgroup: the answer is %q", FactTrue,
		FactReported)},
	{PIDsForeign, "task", says("ListPids tells of %s, and in its cgroup run %q", FactReported, FactTrue)},
	{PIDsUntold, "task", says("ListPids of it failed, and no fault was planned: %s", FactError)},
	{PIDsOfExecs, "task", says("ListPids calls process %s one of exec %q, and it is one of %q", FactTaskPID, FactReported,
		FactTrue)},
	{WindowSize, "task", says("ResizePty has given its window %s rows and columns, and its payload has found %s",
		FactReported, FactTrue)},
	{StateAs, "task", says("its %s has succeeded, and containerd calls it %s", FactCall, FactTask)},
	{StatePID, "task", says("its %s was answered with the pid %s, and its state tells %s", FactCall, FactTrue,
		FactReported)},
	{MeterAs, "task", says("its memory limit is %s, and Metrics tell: %s", FactTrue, FactReported)},
	{MeterPageAs, "task",
		says("its memory limit is %s, and the page of containerd's metrics has: %s", FactTrue, FactReported)},
	{NoPIDYet, "task", says("its %s has succeeded, and was answered without a pid", FactCall)},
	{NotHeard, "containerd", says("one of two clients of %s is not told of %s", FactMessage, FactTrue)},
	{HeardNoMore, "containerd", says("the stream of a second client of %s has ended by itself: %s", FactMessage,
		FactError)},
	{PausedAs, "task", says("it was paused, and containerd calls it %s", FactTask)},
	{PausedRuns, "task", says("it was paused, and its payload went on: its heart has beaten %s times", FactCount)},
	{ResumedAs, "task", says("it was resumed, and containerd calls it %s", FactTask)},
	{ResumedStands, "task", says("it was resumed, and its payload did not go on within %s", FactBound)},
	{ExecBurnt, "task", says("it was resumed, and an exec is refused of the id of one that was refused before: %s",
		FactError)},
	{ASlowCall, "workload", says("%s took %s before anything was broken; the quickest of its case grant it %s",
		FactCall, FactApart, FactBound)},
	{AHeldUpCall, "workload", says("%s took %s, as long as one about a container that ignores SIGTERM; so did the others",
		FactCall, FactApart)},
	{WaitUnanswered, "task", says("one of several clients that wait for its end was not answered within %s of it, and "+
		"no call was held", FactBound)},
	{DoneTwice, "task", says("its %s has succeeded, and had before", FactCall)},
	{AskedUnanswered, "task", says("its state was asked for while %s was held, and not told: after %s the answer was %s",
		FactCall, FactApart, FactError)},
	{LateKillAs, "task", says("it was sent SIGKILL when it had ended, and the answer is %s, not NotFound", FactCode)},
	{KillHitsAnother, "task",
		says("it was sent SIGKILL when it had ended, and that has killed another process, which had its pid by then")},
	{AbsentBegun, "task", says("%s of a command that does not exist has succeeded", FactCall)},
	{RefusedUnanswered, "exec", says("its start was refused and it was deleted, and who has waited for its end from "+
		"before was not answered within %s", FactBound)},
	{Baseline, "workload", baselineWords},
}

// says fills the facts into a sentence.
func says(format string, keys ...Key) func(Facts) []string {
	return func(fs Facts) []string {
		args := make([]any, len(keys))
		for i, k := range keys {
			args[i] = fs[k]
		}
		return []string{fmt.Sprintf(format, args...)}
	}
}

// whatOf is the row of a finding's FactWhat, and its facts with errors in one line.
func whatOf(rows []what, fs Facts) (what, Facts) {
	fs[FactError] = strings.ReplaceAll(strings.TrimSpace(fs[FactError]), "\n", "; ")
	i := slices.IndexFunc(rows, func(w what) bool { return w.value == fs[FactWhat] })
	if i < 0 {
		return what{why: says("%s", FactError)}, fs
	}
	return rows[i], fs
}

func reasons(rows []what, fs Facts) []string {
	w, fs := whatOf(rows, fs)
	return w.why(fs)
}

func baselineWords(fs Facts) []string {
	return []string{fmt.Sprintf("%s failed%s before anything was broken, and not so on the default release: %s",
		fs[FactCall], timesWords(fs), fs[FactError])}
}

func deathWords(fs Facts) []string {
	if fs[FactStatus] == Killed {
		return []string{"it was asked to stop, had not ended " + fs[FactApart] + " later, and was killed" + timesWords(fs)}
	}
	how := "it ended by itself with %s, and no fault asked it to"
	if fs[FactAsked] == Yes {
		how = "it was asked to stop, and ended with %s " + fs[FactApart] + " later"
	}
	how = fmt.Sprintf(how, fs[FactExit])
	return []string{how + timesWords(fs) + "; its last words are in containerd.log"}
}

// timesWords say how often the same was found.
func timesWords(fs Facts) string {
	if fs[FactCount] == "" {
		return ""
	}
	return " " + fs[FactCount] + " times"
}
