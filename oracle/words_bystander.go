package oracle

import (
	"fmt"
	"strings"
)

// Values of FactWhat, of a bystander.
const (
	OthersStart  = "others-start"
	OthersCall   = "others-call"
	OthersEnd    = "others-end"
	OthersStatus = "others-status"
	OthersEvent  = "others-event"
	OthersOutput = "others-output"
	OthersAnswer = "others-answer"
)

// othersName names a bystander.
func othersName(f Finding) string {
	return strings.TrimSpace(f.Facts[FactObject] + " " + f.Subject.ID)
}

var bystanderWhats = []what{
	{OthersStart, "", says("it could not be started: %s", FactError)},
	{OthersCall, "", othersCall},
	{OthersEnd, "", othersEnd},
	{OthersStatus, "", othersStatus},
	{OthersEvent, "", othersEvent},
	{OthersOutput, "", othersStream},
	{OthersAnswer, "", othersAnswer},
}

func othersAnswer(fs Facts) []string {
	return []string{fmt.Sprintf("%s said of it: %s", fs[FactBy], fs[FactReported]), "it is " + fs[FactTrue]}
}

func othersStatus(fs Facts) []string {
	return []string{fmt.Sprintf("%s said %s", fs[FactBy], fs[FactReported]), "its payload exited with " + fs[FactTrue]}
}

func othersCall(fs Facts) []string {
	why := []string{fmt.Sprintf("%s about it failed: %s", fs[FactCall], fs[FactError])}
	if fs[FactCode] == "DeadlineExceeded" {
		why = []string{fmt.Sprintf("%s about it was not answered within %s", fs[FactCall], fs[FactBound])}
	}
	if fs[FactCount] != "" {
		why = append(why, fs[FactCount]+" calls in all")
	}
	return append(why, "no fault was done to it")
}

func othersEnd(fs Facts) []string {
	if fs[FactReported] == "" {
		return []string{
			"it was to end with " + fs[FactTrue] + " when it was asked to", "it was killed, and no fault was done to it"}
	}
	when := "it ended with " + fs[FactReported]
	if fs[FactAt] != "" {
		when = fmt.Sprintf("it ended by itself with %s, %s before it was asked to", fs[FactReported], fs[FactAt])
	}
	return []string{when, "it was to end with " + fs[FactTrue]}
}

func othersEvent(fs Facts) []string {
	switch fs[FactEvent] {
	case Missing:
		return []string{fs[FactTopic] + " was never sent, and it should have been, once"}
	case Repeated:
		return []string{fs[FactTopic] + " was sent " + fs[FactCount] + " times"}
	case OtherPID:
		return []string{
			fmt.Sprintf("%s has pid %s, and its own is %s", fs[FactTopic], fs[FactReported], fs[FactTaskPID]),
		}
	}
	return []string{
		fmt.Sprintf("%s says %s, and its payload exited with %s", fs[FactTopic], fs[FactReported], fs[FactTrue]),
	}
}

// outputWords are of one of the two streams of a container or of an exec.
func outputWords(fs Facts) []string {
	return append([]string{"what was read of its " + fs[FactStream]}, othersOutput(fs)...)
}

// inputWords are of what a payload has read of its standard input.
func inputWords(fs Facts) []string {
	switch fs[FactOutput] {
	case Repeated:
		return []string{fs[FactCount] + " lines were read twice, or out of order"}
	case Foreign:
		return []string{fs[FactCount] + " lines were read that nobody has written"}
	}
	return []string{fmt.Sprintf("%s lines that were written to it were not read, the first %s", fs[FactCount],
		fs[FactFirst])}
}

// othersStream are of a bystander's output; one of its standard error says so.
func othersStream(fs Facts) []string {
	if fs[FactStream] != "" {
		return outputWords(fs)
	}
	return othersOutput(fs)
}

func othersOutput(fs Facts) []string {
	switch fs[FactOutput] {
	case Repeated:
		return []string{fs[FactCount] + " lines of its output came twice, or out of order"}
	case Late:
		return []string{fmt.Sprintf("%s lines of its log were not there when CRI said that it has exited, the first %s",
			fs[FactCount], fs[FactFirst])}
	case Unrotated:
		return []string{fs[FactCount] + " lines were written after its log was rotated, and are in an older log"}
	case Overwritten:
		return []string{"what was in the file of its output before is not there any more"}
	case LoggerRuns:
		return []string{"it was deleted, and the logger of its output has not come to its end"}
	case AnotherLog:
		return []string{fmt.Sprintf("the logger of its output was told that it is that of %q", fs[FactReported])}
	case Misdated:
		return []string{fs[FactCount] + " lines of its log have a time at which they were not written"}
	case LostEmpty:
		return []string{fs[FactCount] + " empty lines of its output were lost"}
	case Foreign:
		return []string{fs[FactCount] + " lines of its output are not what it wrote"}
	}
	return []string{fmt.Sprintf("%s lines of its output were lost, the first %s", fs[FactCount], fs[FactFirst])}
}
