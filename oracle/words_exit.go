package oracle

import (
	"fmt"
	"strconv"
)

// exitReasons say what was reported, what is true, and what the two stand for.
func (f Finding) exitReasons() []string {
	fs := f.Facts
	truth := fmt.Sprintf("the payload exited with %s (%s)", fs[FactTrue], fs[FactSource])
	switch {
	case fs[FactStatus] == Unreported && fs[FactBy] == string(ByNobody):
		return append([]string{"containerd is up, and no client could learn it", truth}, whoWasDead(fs)...)
	case fs[FactStatus] == Unreported:
		return []string{"it was never reported, and nothing was broken", truth}
	case fs[FactStatus] == WrongPID:
		return []string{
			fmt.Sprintf("%s said that its pid was %s, and it was %s", fs[FactBy], fs[FactReported], fs[FactTrue]),
		}
	case fs[FactStatus] == OtherTime:
		return []string{fmt.Sprintf("%s said that it ended at %s", fs[FactBy], fs[FactAt]),
			fmt.Sprintf("%s had said %s, and it ended once", fs[FactSource], fs[FactFirst])}
	case fs[FactStatus] == WrongTime:
		return []string{fmt.Sprintf("%s said that it ended at %s", fs[FactBy], fs[FactAt]), endedWords(fs)}
	}
	return append([]string{
		fmt.Sprintf("%s said %s", fs[FactBy], fs[FactReported]),
		truth,
		statusWords(fs) + trueWords(fs),
	}, whoWasDead(fs)...)
}

// whoWasDead says who could not tell of it.
func whoWasDead(fs Facts) (words []string) {
	if fs[FactContainerd] == Down {
		words = append(words, "containerd was down, or died at the time")
	}
	if fs[FactShim] == Dead {
		words = append(words, "its shim was killed by then")
	}
	return words
}

// statusWords say what a wrong status stands for.
func statusWords(fs Facts) string {
	reported := fs[FactReported]
	n, _ := strconv.Atoi(reported)
	switch fs[FactStatus] {
	case MadeUp0:
		return "0 means success"
	case MadeUp255:
		return "255 is containerd's word for a status that it could not learn"
	case Wrong:
		if n > 255 {
			return reported + " is no exit status at all"
		}
		return reported + " is merely wrong"
	}
	words := fmt.Sprintf("%s means %s, ", reported, signalName(n-signalBase))
	if by := fs[FactSentBy]; by != "" {
		return words + "which " + by + " sent, but it did not end the process"
	}
	return words + "which nobody sent"
}

// trueWords name the signal that the true status stands for, if it does.
func trueWords(fs Facts) string {
	n, _ := strconv.Atoi(fs[FactTrue])
	if n <= signalBase || n >= 255 {
		return ""
	}
	return fmt.Sprintf("; %d means %s", n, signalName(n-signalBase))
}

// pastTense is what the client knew when an event was due.
var pastTense = map[string]string{
	TopicCreate:  "created",
	TopicStart:   "started",
	TopicExit:    "exited",
	TopicDelete:  "deleted",
	TopicPaused:  "paused",
	TopicResumed: "resumed",
	TopicOOM:     "OOM-killed",
	// Of an exec.
	TopicExecAdded: "added",
	TopicExecStart: "started",
	// Of the record of a container.
	TopicContainerCreate: "made",
	TopicContainerDelete: "removed",
}

// atWhen is "at 12:00:00 ", or nothing: what many cases have in common has no time.
func atWhen(fs Facts) string {
	if fs[FactAt] == "" {
		return ""
	}
	return "at " + fs[FactAt] + " "
}

func (f Finding) eventReasons() []string {
	fs := f.Facts
	switch fs[FactEvent] {
	case Missing:
		if f.Class == ClassCRIEvent {
			return []string{
				"CRI never sent it", "the client knew " + atWhen(fs) + "what it tells, and containerd was up",
			}
		}
		if fs[FactUse] == Second {
			return []string{"never arrived", "the shim of the id's second use was killed while its container ran"}
		}
		return append([]string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s, and the subscription stood all the time",
				atWhen(fs), pastTense[fs[FactTopic]]),
		}, whoWasDead(fs)...)
	case NotSentAgain:
		return []string{
			"never arrived",
			fmt.Sprintf("the client knew %sthat it was %s", atWhen(fs), pastTense[fs[FactTopic]]),
			"its shim could not send it at first, lived on and was heard, and has not sent it again",
		}
	case Late:
		if fs[FactAfter] == AfterInitExit {
			return []string{"arrived after the exit of the container's init process"}
		}
		return []string{"arrived after " + fs[FactAfter]}
	case NoPID:
		why := []string{fmt.Sprintf("has pid %d", int32(f.Subject.PID))}
		if fs[FactCreate] == NotAsked {
			why = append(why, "no shim was asked to create it")
		}
		return why
	case Unasked:
		return []string{"is of an exec that no client has asked for"}
	case OfRefused:
		return []string{"is of a command that does not exist, which cannot begin"}
	case Untrue:
		return []string{"tells of an OOM kill, and nothing was killed for want of memory in the container by then"}
	case NoTime:
		return []string{"has no time of exit"}
	case StampedLate:
		return []string{fmt.Sprintf("has the time %s, and its shim had it ready, and could not send it, at %s",
			fs[FactAt], fs[FactNotAfter])}
	case WrongPID:
		whose := "container"
		if fs[FactOf] == AnExec {
			whose = AnExec
		}
		return []string{fmt.Sprintf("has pid %s, and the %s's is %s", fs[FactReported], whose, fs[FactTrue])}
	case WrongNamespace:
		return []string{"came in the namespace " + f.Subject.Namespace + ", where nobody waits for it"}
	case WrongTime:
		if f.Class == ClassCRIEvent {
			return []string{"says that it came about at " + fs[FactAt],
				fmt.Sprintf("that was not before %s and not after %s", fs[FactNotBefore], fs[FactNotAfter])}
		}
		return []string{"says that it ended at " + fs[FactAt], endedWords(fs)}
	case NoField:
		if fs[FactField] == FieldSibling {
			return []string{"says nothing of another container of its pod"}
		}
		return []string{fmt.Sprintf("comes without the %s of its pod or container", fs[FactField])}
	case OtherField:
		return []string{
			fmt.Sprintf("says %s %s, and ContainerStatus says %s", fs[FactField], fs[FactReported], fs[FactTrue]),
		}
	}
	if fs[FactApart] == "" {
		return []string{"arrived twice"}
	}
	why := []string{fmt.Sprintf("arrived twice, %s apart", fs[FactApart])}
	switch fs[FactRepeat] {
	case OtherStatus:
		why = append(why, fmt.Sprintf("the status was %s, then %s", fs[FactFirst], fs[FactReported]))
	case KnownToBeTold:
		why = append(why, "its shim had told it, and had answered containerd that the task is deleted")
	}
	return why
}

// endedWords say between which times a process ended.
func endedWords(fs Facts) string {
	return fmt.Sprintf("it ended not before %s and not after %s", fs[FactNotBefore], fs[FactNotAfter])
}

// endReasons say how a container was to end, and how it did.
func (f Finding) endReasons() []string {
	fs := f.Facts
	if fs[FactStatus] == NeverBegan {
		return []string{"its start succeeded, and its payload never ran", "nobody was to kill it"}
	}
	switch fs[FactStatus] {
	case KilledEarly:
		return []string{
			fmt.Sprintf("it was to be given %s to end, and was sent another signal, or had ended, after %s",
				fs[FactBound], fs[FactApart]),
		}
	case Unended:
		return []string{
			fmt.Sprintf("it was to end with %s by a signal, and had not ended %s after that was sent, when it was killed",
				fs[FactWant], fs[FactBound]),
		}
	case SaidEarly:
		return []string{
			fmt.Sprintf("it was to be given %s to end, and was said to have ended after %s", fs[FactBound], fs[FactApart]),
		}
	}
	why := []string{
		fmt.Sprintf("it was to end with %s, and ended with %s (%s)", fs[FactWant], fs[FactTrue], fs[FactSource]),
		"neither the client nor a fault has killed it",
	}
	if two := twoShimsWords(fs); two != "" {
		why = append(why, two)
	}
	return why
}
