package judge

import (
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// askedForEvents is how long it may take containerd to take up who asks for container
// events, which it does not answer. It takes a millisecond, and in a second it has
// answered many calls that were made later, or else nothing has happened in it.
const askedForEvents = time.Second

// secondUntold returns an event that a second client of GetContainerEvents was not told,
// as the example of all, in a case without a fault. It is due from when the second client
// is known to be subscribed.
func secondUntold(h *harness.History) []finding.Finding {
	if h.CRI.Second == nil || !h.Case.Faultless() || len(h.Deaths) > 0 {
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

// Untold reports whether who has asked for events since then must still be told one of
// those that another was told: the runner waits for that.
func Untold(told, another []criview.Event, since time.Time) bool {
	return len(missedBy(told, another, since)) > 0
}

// missedBy are the events that one was told and another was not, who has asked for them
// since then. They come in one order to all, so that one who was told an event is told
// all that come after it.
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

// sameEvent reports whether two were told of the same.
func sameEvent(a, b criview.Event) bool {
	return a.Type == b.Type && a.ID == b.ID && a.State == b.State && a.ExitCode == b.ExitCode && a.Bare == b.Bare &&
		a.Created.Equal(b.Created)
}
