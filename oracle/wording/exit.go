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

// exitReasons say what was reported, what is true, and what the two stand for.
func exitReasons(f finding.Finding) []string {
	fs := f.Facts
	truth := fmt.Sprintf("the payload exited with %s (%s)", fs[fact.True], fs[fact.Source])
	switch {
	case fs[fact.Status] == fact.Unreported && fs[fact.By] == string(exit.ByNobody):
		return append([]string{"containerd is up, and no client could learn it", truth}, whoWasDead(fs)...)
	case fs[fact.Status] == fact.Unreported:
		return []string{"it was never reported, and nothing was broken", truth}
	case fs[fact.Status] == fact.WrongPID:
		return []string{
			fmt.Sprintf("%s said that its pid was %s, and it was %s", fs[fact.By], fs[fact.Reported], fs[fact.True]),
		}
	case fs[fact.Status] == fact.OtherTime:
		return []string{fmt.Sprintf("%s said that it ended at %s", fs[fact.By], fs[fact.At]),
			fmt.Sprintf("%s had said %s, and it ended once", fs[fact.Source], fs[fact.First])}
	case fs[fact.Status] == fact.WrongTime:
		return []string{fmt.Sprintf("%s said that it ended at %s", fs[fact.By], fs[fact.At]), endedWords(fs)}
	}
	return append([]string{
		fmt.Sprintf("%s said %s", fs[fact.By], fs[fact.Reported]),
		truth,
		statusWords(fs) + trueWords(fs),
	}, whoWasDead(fs)...)
}

// whoWasDead says who could not tell of it.
func whoWasDead(fs fact.Facts) (words []string) {
	if fs[fact.Containerd] == fact.Down {
		words = append(words, "containerd was down, or died at the time")
	}
	if fs[fact.Shim] == fact.Dead {
		words = append(words, "its shim was killed by then")
	}
	return words
}

// statusWords say what a wrong status stands for.
func statusWords(fs fact.Facts) string {
	reported := fs[fact.Reported]
	n, _ := strconv.Atoi(reported)
	switch fs[fact.Status] {
	case fact.MadeUp0:
		return "0 means success"
	case fact.MadeUp255:
		return "255 is containerd's word for a status that it could not learn"
	case fact.Wrong:
		if n > 255 {
			return reported + " is no exit status at all"
		}
		return reported + " is merely wrong"
	}
	words := fmt.Sprintf("%s means %s, ", reported, signalName(n-exit.SignalBase))
	if by := fs[fact.SentBy]; by != "" {
		return words + "which " + by + " sent, but it did not end the process"
	}
	return words + "which nobody sent"
}

// trueWords name the signal that the true status stands for, if it does.
func trueWords(fs fact.Facts) string {
	n, _ := strconv.Atoi(fs[fact.True])
	if n <= exit.SignalBase || n >= 255 {
		return ""
	}
	return fmt.Sprintf("; %d means %s", n, signalName(n-exit.SignalBase))
}

// pastTense is what the client knew when an event was due.
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

// atWhen is "at 12:00:00 ", or nothing: what many cases have in common has no time.
func atWhen(fs fact.Facts) string {
	if fs[fact.At] == "" {
		return ""
	}
	return "at " + fs[fact.At] + " "
}

// secondClientWords are of a container event that one of two clients of CRI was not told.
func secondClientWords(fs fact.Facts) []string {
	if fs[fact.Error] != "" {
		return []string{"the second client of GetContainerEvents is told no more", fs[fact.Error]}
	}
	return []string{"one of two clients of GetContainerEvents was not told it", "such events: " + fs[fact.Count]}
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
				"CRI never sent it", "the client knew " + atWhen(fs) + "what it tells, and containerd was up",
			}
		}
		if fs[fact.Use] == fact.Second {
			return []string{"never arrived", "the shim of the id's second use was killed while its container ran"}
		}
		return append([]string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s, and the subscription stood all the time",
				atWhen(fs), pastTense[fs[fact.Topic]]),
		}, whoWasDead(fs)...)
	case fact.NotSentAgain:
		return []string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s", atWhen(fs), pastTense[fs[fact.Topic]]),
			"its shim could not send it at first, lived on and was heard, and has not sent it again",
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
		return []string{"is of an exec that no client has asked for"}
	case fact.OfRefused:
		return []string{"is of a command that does not exist, which cannot begin"}
	case fact.Untrue:
		return []string{"tells of an OOM kill, and nothing was killed for want of memory in the container by then"}
	case fact.NoTime:
		return []string{"has no time of exit"}
	case fact.StampedLate:
		return []string{fmt.Sprintf("has the time %s, and its shim had it ready, and could not send it, at %s",
			fs[fact.At], fs[fact.NotAfter])}
	case fact.WrongPID:
		whose := "container"
		if fs[fact.Of] == fact.AnExec {
			whose = fact.AnExec
		}
		return []string{fmt.Sprintf("has pid %s, and the %s's is %s", fs[fact.Reported], whose, fs[fact.True])}
	case fact.WrongNamespace:
		return []string{"came in the namespace " + f.Subject.Namespace + ", where nobody waits for it"}
	case fact.WrongTime:
		if f.Class == finding.ClassCRIEvent {
			return []string{"says that it came about at " + fs[fact.At],
				fmt.Sprintf("that was not before %s and not after %s", fs[fact.NotBefore], fs[fact.NotAfter])}
		}
		return []string{"says that it ended at " + fs[fact.At], endedWords(fs)}
	case fact.NoField:
		if fs[fact.Field] == fact.FieldSibling {
			return []string{"says nothing of another container of its pod"}
		}
		return []string{fmt.Sprintf("comes without the %s of its pod or container", fs[fact.Field])}
	case fact.OtherField:
		return []string{
			fmt.Sprintf("says %s %s, and ContainerStatus says %s", fs[fact.Field], fs[fact.Reported], fs[fact.True]),
		}
	}
	if fs[fact.Apart] == "" {
		return []string{"arrived twice"}
	}
	why := []string{fmt.Sprintf("arrived twice, %s apart", fs[fact.Apart])}
	switch fs[fact.Repeat] {
	case fact.OtherStatus:
		why = append(why, fmt.Sprintf("the status was %s, then %s", fs[fact.First], fs[fact.Reported]))
	case fact.KnownToBeTold:
		why = append(why, "its shim had told it, and had answered containerd that the task is deleted")
	}
	return why
}

// endedWords say between which times a process ended.
func endedWords(fs fact.Facts) string {
	return fmt.Sprintf("it ended not before %s and not after %s", fs[fact.NotBefore], fs[fact.NotAfter])
}

// endReasons say how a container was to end, and how it did.
func endReasons(f finding.Finding) []string {
	fs := f.Facts
	if fs[fact.Status] == fact.NeverBegan {
		return []string{"its start succeeded, and its payload never ran", "nobody was to kill it"}
	}
	switch fs[fact.Status] {
	case fact.KilledEarly:
		return []string{
			fmt.Sprintf("it was to be given %s to end, and was sent another signal, or had ended, after %s",
				fs[fact.Bound], fs[fact.Apart]),
		}
	case fact.Unended:
		return []string{
			fmt.Sprintf("it was to end with %s by a signal, and had not ended %s after that was sent, when it was killed",
				fs[fact.Want], fs[fact.Bound]),
		}
	case fact.SaidEarly:
		return []string{
			fmt.Sprintf("it was to be given %s to end, and was said to have ended after %s", fs[fact.Bound], fs[fact.Apart]),
		}
	}
	why := []string{
		fmt.Sprintf("it was to end with %s, and ended with %s (%s)", fs[fact.Want], fs[fact.True], fs[fact.Source]),
		"neither the client nor a fault has killed it",
	}
	if two := twoShimsWords(fs); two != "" {
		why = append(why, two)
	}
	return why
}
