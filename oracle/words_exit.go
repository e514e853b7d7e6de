package oracle

import (
	"fmt"
	"strconv"
)

// exitReasons say what was told, what is true, and what the two stand for.
func (f Finding) exitReasons() []string {
	fs := f.Facts
	return []string{
		fmt.Sprintf("%s said %s", fs[FactBy], fs[FactTold]),
		fmt.Sprintf("the payload exited with %s (%s)", fs[FactTrue], fs[FactSource]),
		statusWords(fs) + trueWords(fs),
	}
}

// statusWords say what a wrong status stands for.
func statusWords(fs Facts) string {
	told := fs[FactTold]
	n, _ := strconv.Atoi(told)
	switch fs[FactStatus] {
	case MadeUp0:
		return "0 means success"
	case MadeUp255:
		return "255 is containerd's word for a status that it could not learn"
	case Wrong:
		if n > 255 {
			return told + " is no exit status at all"
		}
		return told + " is merely wrong"
	}
	words := fmt.Sprintf("%s means %s, ", told, signalName(n-signalBase))
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
	topicCreate: "created",
	topicStart:  "started",
	topicExit:   "exited",
	topicDelete: "deleted",
}

func (f Finding) eventReasons() []string {
	fs := f.Facts
	switch fs[FactEvent] {
	case Missing:
		if f.Class == ClassCRIEvent {
			return []string{
				"CRI never sent it", fmt.Sprintf("the client knew at %s what it tells, and containerd was up", fs[FactAt]),
			}
		}
		return []string{
			"never arrived",
			fmt.Sprintf("the client knew at %s that it was %s, and the subscription stood all the time",
				fs[FactAt], pastTense[fs[FactTopic]]),
		}
	case Late:
		if fs[FactAfter] == AfterInitExit {
			return []string{"arrived after the exit of the container's init process"}
		}
		return []string{"arrived after " + fs[FactAfter]}
	case NoPID:
		return []string{fmt.Sprintf("has pid %d", int32(f.Subject.PID))}
	case NoTime:
		return []string{"has no time of exit"}
	case OtherField:
		return []string{fmt.Sprintf("says %s %s, and ContainerStatus says %s", fs[FactField], fs[FactTold], fs[FactTrue])}
	}
	if fs[FactApart] == "" {
		return []string{"arrived twice"}
	}
	why := []string{fmt.Sprintf("arrived twice, %s apart", fs[FactApart])}
	if fs[FactRepeat] == OtherStatus {
		why = append(why, fmt.Sprintf("the status was %s, then %s", fs[FactFirst], fs[FactTold]))
	}
	return why
}
