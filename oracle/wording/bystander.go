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

var bystanderWhats = []what{
	{fact.OthersCall, "", othersCall},
	{fact.OthersEnd, "", othersEnd},
	{fact.OthersStatus, "", othersStatus},
	{fact.OthersEvent, "", othersEvent},
	{fact.OthersOutput, "", othersStream},
	{fact.OthersAnswer, "", othersAnswer},
}

func othersAnswer(fs fact.Facts) []string {
	return []string{fmt.Sprintf("%s said of it: %s", fs[fact.By], fs[fact.Reported]), "it is " + fs[fact.True]}
}

func othersStatus(fs fact.Facts) []string {
	return []string{fmt.Sprintf("%s said %s", fs[fact.By], fs[fact.Reported]), "its payload exited with " + fs[fact.True]}
}

func othersCall(fs fact.Facts) []string {
	why := []string{fmt.Sprintf("%s about it failed: %s", fs[fact.Call], fs[fact.Error])}
	if fs[fact.Code] == "DeadlineExceeded" {
		why = []string{fmt.Sprintf("%s about it was not answered within %s", fs[fact.Call], fs[fact.Bound])}
	}
	if fs[fact.Count] != "" {
		why = append(why, fs[fact.Count]+" calls in all")
	}
	return append(why, "no fault was done to it")
}

func othersEnd(fs fact.Facts) []string {
	if fs[fact.Reported] == "" {
		return []string{
			"it was to end with " + fs[fact.True] + " when it was asked to", "it was killed, and no fault was done to it"}
	}
	when := "it ended with " + fs[fact.Reported]
	if fs[fact.At] != "" {
		when = fmt.Sprintf("it ended by itself with %s, %s before it was asked to", fs[fact.Reported], fs[fact.At])
	}
	return []string{when, "it was to end with " + fs[fact.True]}
}

func othersEvent(fs fact.Facts) []string {
	switch fs[fact.Event] {
	case fact.Missing:
		return []string{fs[fact.Topic] + " was never sent, and it should have been, once"}
	case fact.Repeated:
		return []string{fs[fact.Topic] + " was sent " + fs[fact.Count] + " times"}
	case fact.OtherPID:
		return []string{
			fmt.Sprintf("%s has pid %s, and its own is %s", fs[fact.Topic], fs[fact.Reported], fs[fact.TaskPID]),
		}
	}
	return []string{
		fmt.Sprintf("%s says %s, and its payload exited with %s", fs[fact.Topic], fs[fact.Reported], fs[fact.True]),
	}
}

// outputWords are of one of the two streams of a container or of an exec.
func outputWords(fs fact.Facts) []string {
	return append([]string{"what was read of its " + fs[fact.Stream]}, othersOutput(fs)...)
}

// inputWords are of what a payload has read of its standard input.
func inputWords(fs fact.Facts) []string {
	switch fs[fact.Output] {
	case fact.Repeated:
		return []string{fs[fact.Count] + " lines were read twice, or out of order"}
	case fact.Foreign:
		return []string{fs[fact.Count] + " lines were read that nobody has written"}
	}
	return []string{fmt.Sprintf("%s lines that were written to it were not read, the first %s", fs[fact.Count],
		fs[fact.First])}
}

// othersStream are of a bystander's output; one of its standard error says so.
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
		return []string{fmt.Sprintf("%s lines of its log were not there when CRI said that it has exited, the first %s",
			fs[fact.Count], fs[fact.First])}
	case fact.Unrotated:
		return []string{fs[fact.Count] + " lines were written after its log was rotated, and are in an older log"}
	case fact.Overwritten:
		return []string{"what was in the file of its output before is not there any more"}
	case fact.LoggerRuns:
		return []string{"it was deleted, and the logger of its output has not come to its end"}
	case fact.AnotherLog:
		return []string{fmt.Sprintf("the logger of its output was told that it is that of %q", fs[fact.Reported])}
	case fact.Misdated:
		return []string{fs[fact.Count] + " lines of its log have a time at which they were not written"}
	case fact.Foreign:
		return []string{fs[fact.Count] + " lines of its output are not what it wrote"}
	}
	return []string{fmt.Sprintf("%s lines of its output were lost, the first %s", fs[fact.Count], fs[fact.First])}
}
