package wording

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// othersName names a bystander.
func othersName(f finding.Finding) string {
	return strings.TrimSpace(f.Facts[fact.Object] + " " + f.Subject.ID)
}

var bystanderWhats = []phrase{
	{fact.OthersCall, "", othersCall},
	{fact.OthersEnd, "", othersEnd},
	{fact.OthersStatus, "", othersStatus},
	{fact.OthersEvent, "", othersEvent},
	{fact.OthersOutput, "", othersStream},
	{fact.OthersAnswer, "", othersAnswer},
}

func othersAnswer(fs fact.Facts) []string {
	return []string{fmt.Sprintf("%s reported for it: %s", fs[fact.By], fs[fact.Reported]), "it is " + fs[fact.True]}
}

func othersStatus(fs fact.Facts) []string {
	return []string{
		fmt.Sprintf("%s reported %s", fs[fact.By], fs[fact.Reported]),
		"its payload exited with " + fs[fact.True],
	}
}

func othersCall(fs fact.Facts) []string {
	why := []string{fmt.Sprintf("%s for it failed: %s", fs[fact.Call], fs[fact.Error])}
	if fs[fact.Code] == "DeadlineExceeded" {
		why = []string{fmt.Sprintf("%s for it got no response within %s", fs[fact.Call], fs[fact.Bound])}
	}
	if fs[fact.Count] != "" {
		why = append(why, fs[fact.Count]+" calls in all")
	}
	return append(why, "no fault targets it")
}

func othersEnd(fs fact.Facts) []string {
	if fs[fact.Reported] == "" {
		return []string{
			"it should have ended with " + fs[fact.True] + " on request", "it was killed, but no fault targets it"}
	}
	when := "it ended with " + fs[fact.Reported]
	if fs[fact.At] != "" {
		when = fmt.Sprintf("it ended by itself with %s, %s before the request", fs[fact.Reported], fs[fact.At])
	}
	return []string{when, "it should have ended with " + fs[fact.True]}
}

func othersEvent(fs fact.Facts) []string {
	switch fs[fact.Event] {
	case fact.Missing:
		return []string{fs[fact.Topic] + " was never sent; one was due"}
	case fact.Repeated:
		return []string{fs[fact.Topic] + " was sent " + fs[fact.Count] + " times"}
	case fact.OtherPID:
		return []string{
			fmt.Sprintf("%s has pid %s, but its own is %s", fs[fact.Topic], fs[fact.Reported], fs[fact.TaskPID]),
		}
	}
	return []string{
		fmt.Sprintf("%s has %s, but its payload exited with %s", fs[fact.Topic], fs[fact.Reported], fs[fact.True]),
	}
}

// outputWords describe the error in one of the two streams of a container or of an exec.
func outputWords(fs fact.Facts) []string {
	if fs[fact.Stream] == "" { // it is about both streams
		return othersOutput(fs)
	}
	return append([]string{"the output of its " + fs[fact.Stream]}, othersOutput(fs)...)
}

// inputWords describe the error in the standard input that a payload read.
func inputWords(fs fact.Facts) []string {
	switch fs[fact.Output] {
	case fact.Repeated:
		return []string{fs[fact.Count] + " lines were read twice, or out of order"}
	case fact.Foreign:
		return []string{fs[fact.Count] + " lines were read that the client has not written"}
	}
	return []string{fmt.Sprintf("%s lines of its input were not read, the first %s", fs[fact.Count],
		fs[fact.First])}
}

// othersStream describes the error in a bystander's output. It names the stream only for
// standard error.
func othersStream(fs fact.Facts) []string {
	if fs[fact.Stream] != "" {
		return outputWords(fs)
	}
	return othersOutput(fs)
}

func othersOutput(fs fact.Facts) []string {
	switch fs[fact.Output] {
	case fact.Repeated:
		return []string{fs[fact.Count] + " lines of its output came twice, or out of order"}
	case fact.Late:
		return []string{fmt.Sprintf("%s lines of its log were missing when CRI reported its exit, the first %s",
			fs[fact.Count], fs[fact.First])}
	case fact.Unrotated:
		return []string{fs[fact.Count] + " lines from after the rotation of its log are in an older log"}
	case fact.Overwritten:
		return []string{"the earlier content of its output file is lost"}
	case fact.LoggerRuns:
		return []string{"it was deleted, but the logger of its output still runs"}
	case fact.AnotherLog:
		return []string{fmt.Sprintf("the logger of its output got the id %q", fs[fact.Reported])}
	case fact.Misdated:
		return []string{fs[fact.Count] + " lines of its log have a wrong time"}
	case fact.Foreign:
		return []string{fs[fact.Count] + " lines of its output are not its own"}
	}
	return []string{fmt.Sprintf("%s lines of its output were lost, the first %s", fs[fact.Count], fs[fact.First])}
}
