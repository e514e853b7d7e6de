package wording

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

var bystanderWhats = []phrase{
	{fact.OthersCall, "", othersCall},
	{fact.OthersEnd, "", othersEnd},
	{fact.OthersStatus, "", says("%s reported %s; its payload exited with %s", fact.By, fact.Reported, fact.True)},
	{fact.OthersEvent, "", by(fact.Event, othersEvents)},
	{fact.OthersOutput, "", outputWords},
	{fact.OthersAnswer, "", says("%s reported for it: %s; it is %s", fact.By, fact.Reported, fact.True)},
}

func othersCall(f finding.Finding) string {
	fs, times := f.Facts, ""
	why := says("%s for it failed: %s", fact.Call, fact.Error)
	if fs[fact.Code] == "DeadlineExceeded" {
		why = says("%s for it got no response within %s", fact.Call, fact.Bound)
	}
	if fs[fact.Count] != "" {
		times = fs[fact.Count] + " calls in all"
	}
	return join(why(f), times, "no fault targets it")
}

func othersEnd(f finding.Finding) string {
	why := says("it ended with %s; it should have ended with %s", fact.Reported, fact.True)
	switch {
	case f.Facts[fact.Reported] == "":
		why = says("it should have ended with %s on request; it was killed, but no fault targets it", fact.True)
	case f.Facts[fact.At] != "":
		why = says("it ended by itself with %s, %s before the request; it should have ended with %s", fact.Reported,
			fact.At, fact.True)
	}
	return why(f)
}

var othersEvents = []phrase{
	{fact.Missing, "", says("%s was never sent; one was due", fact.Topic)},
	{fact.Repeated, "", says("%s was sent %s times", fact.Topic, fact.Count)},
	{fact.OtherPID, "", says("%s has pid %s, but its own is %s", fact.Topic, fact.Reported, fact.TaskPID)},
	{anyValue, "", says("%s has %s, but its payload exited with %s", fact.Topic, fact.Reported, fact.True)},
}

// inputs has the errors in the standard input that a payload read.
var inputs = []phrase{
	{fact.Repeated, "", says("%s lines were read twice, or out of order", fact.Count)},
	{fact.Foreign, "", says("%s lines were read that the client has not written", fact.Count)},
	{anyValue, "", says("%s lines of its input were not read, the first %s", fact.Count, fact.First)},
}

// outputWords describe the error in an output. They name the stream if it is one of two.
func outputWords(f finding.Finding) string {
	stream := ""
	if f.Facts[fact.Stream] != "" {
		stream = "the output of its " + f.Facts[fact.Stream]
	}
	return join(stream, words(outputs, f, fact.Output))
}

var outputs = []phrase{
	{fact.Repeated, "", says("%s lines of its output came twice, or out of order", fact.Count)},
	{fact.Late, "", says("%s lines of its log were missing when CRI reported its exit, the first %s", fact.Count,
		fact.First)},
	{fact.Unrotated, "", says("%s lines from after the rotation of its log are in an older log", fact.Count)},
	{fact.Overwritten, "", says("the earlier content of its output file is lost")},
	{fact.LoggerRuns, "", says("it was deleted, but the logger of its output still runs")},
	{fact.AnotherLog, "", says("the logger of its output got the id %q", fact.Reported)},
	{fact.Misdated, "", says("%s lines of its log have a wrong time", fact.Count)},
	{fact.Foreign, "", says("%s lines of its output are not its own", fact.Count)},
	{anyValue, "", says("%s lines of its output were lost, the first %s", fact.Count, fact.First)},
}
