package judge

import (
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// askedForEvents is the longest time from a request for container events to the
// subscription. containerd sends no response to the request. The subscription takes a
// millisecond.
const askedForEvents = time.Second

// eventsOfOneClient returns the first event that only one of two clients of
// GetContainerEvents got, in a case without a fault. Events before the second client's
// subscription are not judged.
func eventsOfOneClient(h *run) []finding.Finding {
	if h.CRI.Second == nil || tolerated(h, criEventWhole, span{}) {
		return nil
	}
	second := h.CRI.Second
	if second.Err != nil {
		return []finding.Finding{criEvent("", "", fact.Facts{fact.Event: fact.Missing, fact.By: fact.AnotherClient,
			fact.Error: second.Err.Text})}
	}
	missed := slices.Concat(missedBy(h.CRI.Events, second.Events, second.Since),
		missedBy(second.Events, h.CRI.Events, second.Since))
	if len(missed) == 0 {
		return nil
	}
	return []finding.Finding{criEvent(missed[0].ID, missed[0].Type, fact.Facts{fact.Event: fact.Missing,
		fact.By: fact.AnotherClient, fact.Count: strconv.Itoa(len(missed))})}
}

// missedBy returns the events that one client got and another client did not get. The
// other client asked for events at since. All clients get the events in the same order,
// so a client that has got one event must get all later ones.
func missedBy(told, another []criview.Event, since time.Time) (missed []criview.Event) {
	there := false
	for _, e := range told {
		has := slices.ContainsFunc(another, func(o criview.Event) bool { return sameEvent(e, o) })
		if there = there || has || e.Seen.Sub(since) > askedForEvents; there && !has {
			missed = append(missed, e)
		}
	}
	return missed
}

// sameEvent reports whether two clients got the same event.
func sameEvent(a, b criview.Event) bool {
	return a.Type == b.Type && a.ID == b.ID && a.State == b.State && a.ExitCode == b.ExitCode &&
		a.NoSandboxStatus == b.NoSandboxStatus &&
		a.Created.Equal(b.Created)
}
