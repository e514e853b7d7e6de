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
func exitReasons(f finding.Finding) []string {
	fs := f.Facts
	truth := fmt.Sprintf("the payload exited with %s (%s)", fs[fact.True], fs[fact.Source])
	switch {
	case fs[fact.Status] == fact.Unreported && fs[fact.By] == string(exit.ByNobody):
		return append([]string{"containerd is up, but no client could get it", truth}, deadReporters(fs)...)
	case fs[fact.Status] == fact.Unreported:
		return []string{"the exit was never reported, although there was no fault", truth}
	case fs[fact.Status] == fact.WrongPID:
		return []string{
			fmt.Sprintf("%s reported its pid as %s, but it was %s", fs[fact.By], fs[fact.Reported], fs[fact.True]),
		}
	case fs[fact.Status] == fact.OtherTime:
		return []string{fmt.Sprintf("%s reported its end at %s", fs[fact.By], fs[fact.At]),
			fmt.Sprintf("%s had reported %s, but it ended only once", fs[fact.Source], fs[fact.First])}
	case fs[fact.Status] == fact.WrongTime:
		return []string{fmt.Sprintf("%s reported its end at %s", fs[fact.By], fs[fact.At]), endedWords(fs)}
	}
	return append([]string{
		fmt.Sprintf("%s reported %s", fs[fact.By], fs[fact.Reported]),
		truth,
		statusWords(fs) + trueWords(fs),
	}, deadReporters(fs)...)
}

// deadReporters name the processes that should have reported the exit, and had ended.
func deadReporters(fs fact.Facts) (words []string) {
	if fs[fact.Containerd] == fact.Down {
		words = append(words, "containerd was down, or ended at that time")
	}
	if fs[fact.Shim] == fact.Dead {
		words = append(words, "its shim had been killed by then")
	}
	return words
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

// atWhen returns "at 12:00:00 ", or "" in a summary of many cases, which has no time.
func atWhen(fs fact.Facts) string {
	if fs[fact.At] == "" {
		return ""
	}
	return "at " + fs[fact.At] + " "
}

// secondClientWords describe a container event that one of two clients of CRI did not
// get.
func secondClientWords(fs fact.Facts) []string {
	if fs[fact.Error] != "" {
		return []string{"the second client of GetContainerEvents gets no more events", fs[fact.Error]}
	}
	return []string{"one of two clients of GetContainerEvents did not get it", "such events: " + fs[fact.Count]}
}

func eventReasons(f finding.Finding) []string {
	fs := f.Facts
	switch fs[fact.Event] {
	case fact.Missing:
		if fs[fact.By] == fact.AnotherClient {
			return secondClientWords(fs)
		}
		if f.Class == finding.ClassCRIEvent {
			return []string{
				"CRI never sent it", "the client knew of the change " + atWhen(fs) + "and containerd was up",
			}
		}
		if fs[fact.Use] == fact.Second {
			return []string{"never arrived", "the shim of the id's second use was killed while its container ran"}
		}
		return append([]string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s, and the subscription had no gap",
				atWhen(fs), pastTense[fs[fact.Topic]]),
		}, deadReporters(fs)...)
	case fact.NotSentAgain:
		return []string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s", atWhen(fs), pastTense[fs[fact.Topic]]),
			"its shim could not send it at first, kept running with a connection, and did not send it again",
		}
	case fact.Late:
		if fs[fact.After] == fact.AfterInitExit {
			return []string{"arrived after the exit of the container's init process"}
		}
		return []string{"arrived after " + fs[fact.After]}
	case fact.NoPID:
		why := []string{fmt.Sprintf("has pid %d", int32(f.Subject.PID))}
		if fs[fact.Create] == fact.NotAsked {
			why = append(why, "no shim was asked to create it")
		}
		return why
	case fact.Unasked:
		return []string{"belongs to an exec that no client has asked for"}
	case fact.OfRefused:
		return []string{"belongs to a command that does not exist and cannot begin"}
	case fact.Untrue:
		return []string{"reports an OOM kill, but no process of the container had been OOM-killed by then"}
	case fact.NoTime:
		return []string{"has no exit time"}
	case fact.StampedLate:
		return []string{fmt.Sprintf("has the time %s, but its shim had tried to send it at %s",
			fs[fact.At], fs[fact.NotAfter])}
	case fact.WrongPID:
		whose := "container"
		if fs[fact.Of] == fact.AnExec {
			whose = fact.AnExec
		}
		return []string{fmt.Sprintf("has pid %s, but the pid of the %s is %s", fs[fact.Reported], whose, fs[fact.True])}
	case fact.WrongNamespace:
		return []string{"came in the namespace " + f.Subject.Namespace + ", where no client waits for it"}
	case fact.WrongTime:
		if f.Class == finding.ClassCRIEvent {
			return []string{"has the time " + fs[fact.At],
				fmt.Sprintf("its cause was not before %s and not after %s", fs[fact.NotBefore], fs[fact.NotAfter])}
		}
		return []string{"has the exit time " + fs[fact.At], endedWords(fs)}
	case fact.NoField:
		if fs[fact.Field] == fact.FieldSibling {
			return []string{"does not have another container of its pod"}
		}
		return []string{fmt.Sprintf("lacks the %s of its pod or container", fs[fact.Field])}
	case fact.OtherField:
		return []string{
			fmt.Sprintf("has %s %s, but ContainerStatus has %s", fs[fact.Field], fs[fact.Reported], fs[fact.True]),
		}
	}
	if fs[fact.Apart] == "" {
		return []string{"arrived twice"}
	}
	why := []string{fmt.Sprintf("arrived twice, %s apart", fs[fact.Apart])}
	switch fs[fact.Repeat] {
	case fact.OtherStatus:
		why = append(why, fmt.Sprintf("the status was %s, then %s", fs[fact.First], fs[fact.Reported]))
	case fact.AlreadyReported:
		why = append(why, "its shim had reported it before, and had told containerd that the task is deleted")
	}
	return why
}

// endedWords return the possible times of an end.
func endedWords(fs fact.Facts) string {
	return fmt.Sprintf("it ended not before %s and not after %s", fs[fact.NotBefore], fs[fact.NotAfter])
}

// endReasons return the planned end of a container, and the real one.
func endReasons(f finding.Finding) []string {
	fs := f.Facts
	if fs[fact.Status] == fact.NeverBegan {
		return []string{"its start succeeded, but its payload never ran", "it was not to be killed"}
	}
	switch fs[fact.Status] {
	case fact.KilledEarly:
		return []string{
			fmt.Sprintf("its grace period was %s, but it got another signal or had ended after %s",
				fs[fact.Bound], fs[fact.Apart]),
		}
	case fact.NotEnded:
		return []string{
			fmt.Sprintf("a signal should have ended it with %s, but it still ran %s later and was killed",
				fs[fact.Want], fs[fact.Bound]),
		}
	case fact.SaidEarly:
		return []string{
			fmt.Sprintf("its grace period was %s, but it was reported to have ended after %s", fs[fact.Bound], fs[fact.Apart]),
		}
	}
	why := []string{
		fmt.Sprintf("it should have ended with %s, but ended with %s (%s)", fs[fact.Want], fs[fact.True], fs[fact.Source]),
		"neither the client nor a fault has killed it",
	}
	if two := twoShimsWords(fs); two != "" {
		why = append(why, two)
	}
	return why
}
