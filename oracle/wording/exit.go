package wording

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func signalName(signal int) string {
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}

// exitReasons return the reported status, the real one, and their meanings.
func exitReasons(f finding.Finding) string {
	fs := f.Facts
	truth := fmt.Sprintf("the payload exited with %s (%s)", fs[fact.True], fs[fact.Source])
	switch {
	case fs[fact.Status] == fact.Unreported && fs[fact.By] == string(exit.ByNobody):
		return join("containerd is up, but no client could get it", truth, deadReporters(fs))
	case fs[fact.Status] == fact.Unreported:
		return join("the exit was never reported, although there was no fault", truth)
	case fs[fact.Status] == fact.WrongPID:
		return fmt.Sprintf("%s reported its pid as %s, but it was %s", fs[fact.By], fs[fact.Reported], fs[fact.True])
	case fs[fact.Status] == fact.OtherTime:
		return says("%s reported its end at %s; %s had reported %s, but it ended only once", fact.By, fact.At, fact.Source,
			fact.First)(f)
	case fs[fact.Status] == fact.WrongTime:
		return join(fmt.Sprintf("%s reported its end at %s", fs[fact.By], fs[fact.At]), endedWords(f))
	}
	return join(fmt.Sprintf("%s reported %s", fs[fact.By], fs[fact.Reported]), truth, statusWords(fs)+trueWords(fs),
		deadReporters(fs))
}

// deadReporters name the processes that should have reported the exit, and had ended.
func deadReporters(fs fact.Facts) string {
	daemon, shim := "", ""
	if fs[fact.Containerd] == fact.Down {
		daemon = "containerd was down, or ended at that time"
	}
	if fs[fact.Shim] == fact.Dead {
		shim = "its shim had been killed by then"
	}
	return join(daemon, shim)
}

// statusWords explain a wrong status.
func statusWords(fs fact.Facts) string {
	reported := fs[fact.Reported]
	n, _ := strconv.Atoi(reported)
	switch fs[fact.Status] {
	case fact.MadeUp0:
		return "0 means success"
	case fact.MadeUp255:
		return "255 means that containerd does not know the status"
	case fact.Wrong:
		if n > 255 {
			return reported + " is no exit status"
		}
		return reported + " is wrong"
	}
	words := fmt.Sprintf("%s means %s, ", reported, signalName(n-exit.SignalBase))
	if by := fs[fact.SentBy]; by != "" {
		return words + "which " + by + " sent, but it did not end the process"
	}
	return words + "which was never sent"
}

// trueWords name the signal in the real status, if it has one.
func trueWords(fs fact.Facts) string {
	n, _ := strconv.Atoi(fs[fact.True])
	if n <= exit.SignalBase || n >= 255 {
		return ""
	}
	return fmt.Sprintf("; %d means %s", n, signalName(n-exit.SignalBase))
}

// pastTense has what the client knew about the container when an event was due.
var pastTense = map[string]string{
	event.TopicCreate:  "created",
	event.TopicStart:   "started",
	event.TopicExit:    "exited",
	event.TopicDelete:  "deleted",
	event.TopicPaused:  "paused",
	event.TopicResumed: "resumed",
	event.TopicOOM:     "OOM-killed",
	// Of an exec.
	event.TopicExecAdded: "added",
	event.TopicExecStart: "started",
}

// knownWords return what the client knew about the container when an event was due. A
// summary of many cases has no time.
func knownWords(f finding.Finding) string {
	at := ""
	if f.Facts[fact.At] != "" {
		at = "at " + f.Facts[fact.At] + " "
	}
	if f.Class == finding.ClassCRIEvent {
		return "the client knew of the change " + at
	}
	return fmt.Sprintf("the client knew %sthat it was %s", at, pastTense[f.Facts[fact.Topic]])
}

func missingWords(f finding.Finding) string {
	fs := f.Facts
	switch {
	case fs[fact.By] == fact.AnotherClient && fs[fact.Error] != "":
		return join("the second client of GetContainerEvents gets no more events", fs[fact.Error])
	case fs[fact.By] == fact.AnotherClient:
		return "one of two clients of GetContainerEvents did not get it; such events: " + fs[fact.Count]
	case f.Class == finding.ClassCRIEvent:
		return join("CRI never sent it", knownWords(f)+"and containerd was up")
	case fs[fact.Use] == fact.Second:
		return "never arrived; the shim of the id's second use was killed while its container ran"
	}
	return join("never arrived", knownWords(f)+", and the subscription had no gap", deadReporters(fs))
}

// events has a row for each value of Event.
var events = []phrase{
	{fact.Missing, "", missingWords},
	{fact.NotSentAgain, "", func(f finding.Finding) string {
		return join("never arrived", knownWords(f),
			"its shim could not send it at first, kept running with a connection, and did not send it again")
	}},
	{fact.Late, "", by(fact.After, []phrase{
		{fact.AfterInitExit, "", says("arrived after the exit of the container's init process")},
		{anyValue, "", says("arrived after %s", fact.After)},
	})},
	{fact.NoPID, "", noPIDWords},
	{fact.Unasked, "", says("belongs to an exec that no client has asked for")},
	{fact.OfRefused, "", says("belongs to a command that does not exist and cannot begin")},
	{fact.Untrue, "", says("reports an OOM kill, but no process of the container had been OOM-killed by then")},
	{fact.NoTime, "", says("has no exit time")},
	{fact.StampedLate, "", says("has the time %s, but its shim had tried to send it at %s", fact.At, fact.NotAfter)},
	{fact.WrongPID, "", wrongPIDWords},
	{fact.WrongNamespace, "", func(f finding.Finding) string {
		return "came in the namespace " + f.Subject.Namespace + ", where no client waits for it"
	}},
	{fact.WrongTime, "", wrongTimeWords},
	{fact.NoField, "", by(fact.Field, []phrase{
		{fact.FieldSibling, "", says("does not have another container of its pod")},
		{anyValue, "", says("lacks the %s of its pod or container", fact.Field)},
	})},
	{fact.OtherField, "", says("has %s %s, but ContainerStatus has %s", fact.Field, fact.Reported, fact.True)},
	{anyValue, "", repeatedWords},
}

func noPIDWords(f finding.Finding) string {
	asked := ""
	if f.Facts[fact.Create] == fact.NotAsked {
		asked = "no shim was asked to create it"
	}
	return join(fmt.Sprintf("has pid %d", int32(f.Subject.PID)), asked)
}

func wrongPIDWords(f finding.Finding) string {
	whose := "container"
	if f.Facts[fact.Of] == fact.AnExec {
		whose = fact.AnExec
	}
	return fmt.Sprintf("has pid %s, but the pid of the %s is %s", f.Facts[fact.Reported], whose, f.Facts[fact.True])
}

func wrongTimeWords(f finding.Finding) string {
	if f.Class == finding.ClassCRIEvent {
		return says("has the time %s; its cause was not before %s and not after %s", fact.At, fact.NotBefore,
			fact.NotAfter)(f)
	}
	return join("has the exit time "+f.Facts[fact.At], endedWords(f))
}

func repeatedWords(f finding.Finding) string {
	if f.Facts[fact.Apart] == "" {
		return "arrived twice"
	}
	return join(says("arrived twice, %s apart", fact.Apart)(f), words(repeats, f, fact.Repeat))
}

var repeats = []phrase{
	{fact.OtherStatus, "", says("the status was %s, then %s", fact.First, fact.Reported)},
	{fact.AlreadyReported, "", says("its shim had reported it before, and had told containerd that the task is deleted")},
}

// endedWords return the possible times of an end.
var endedWords = says("it ended not before %s and not after %s", fact.NotBefore, fact.NotAfter)

// ends has the planned end of a container, and the real one.
var ends = []phrase{
	{fact.NeverBegan, "", says("its start succeeded, but its payload never ran; it was not to be killed")},
	{fact.KilledEarly, "", says("its grace period was %s, but it got another signal or had ended after %s", fact.Bound,
		fact.Apart)},
	{fact.NotEnded, "", says("a signal should have ended it with %s, but it still ran %s later and was killed", fact.Want,
		fact.Bound)},
	{fact.SaidEarly, "", says("its grace period was %s, but it was reported to have ended after %s", fact.Bound,
		fact.Apart)},
	{anyValue, "", func(f finding.Finding) string {
		return join(says("it should have ended with %s, but ended with %s (%s)", fact.Want, fact.True, fact.Source)(f),
			"neither the client nor a fault has killed it", words(served, f, fact.Served))
	}},
}
