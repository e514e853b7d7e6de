package judge

import (
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// subscribed: without a fault each client that subscribes to events is told once of all
// that its filter selects, and of nothing else, whoever reads none; nor does that keep
// anybody from publishing.
func subscribed(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Subscribed == nil || !h.Case.Faultless() || len(h.Deaths) > 0 {
		return nil, nil
	}
	add := func(what string, fs oracle.Facts, n int) {
		fs[oracle.FactWhat] = what
		if n > 1 {
			fs[oracle.FactCount] = strconv.Itoa(n)
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: fs})
	}
	for _, p := range h.Subscribed.Published {
		if p.Err != nil {
			fs := p.Err.Facts(oracle.Unpublished)
			fs[oracle.FactApart] = p.Took.Round(time.Millisecond).String()
			add(oracle.Unpublished, fs, 1)
		}
	}
	for _, s := range h.Subscribed.Clients {
		if s.Err != nil {
			add(oracle.HeardNoMore, oracle.Facts{oracle.FactMessage: s.Filter, oracle.FactError: s.Err.Text}, 1)
			continue // it cannot be told what comes after that
		}
		missed, others, twice := compareHeard(h, s)
		for _, is := range []struct {
			what   string
			key    oracle.Key
			events []string
		}{{oracle.NotHeard, oracle.FactTrue, missed}, {oracle.Overheard, oracle.FactReported, others},
			{oracle.HeardTwice, oracle.FactReported, twice}} {
			if len(is.events) > 0 {
				fs := oracle.Facts{oracle.FactMessage: s.Filter}
				fs[is.key] = is.events[0]
				add(is.what, fs, len(is.events))
			}
		}
	}
	return uniqueCauses(found), nil
}

// compareHeard says what a subscription was not told, what it was told and has not asked
// for, and what it was told twice.
func compareHeard(h *harness.History, s harness.Subscription) (missed, others, twice []string) {
	times := map[harness.HeardThat]int{}
	for _, is := range s.Heard {
		is.Sent = is.Sent.UTC()
		if !s.Selects(is.Namespace, is.Topic) {
			others = append(others, is.Topic+" of "+is.Namespace)
		}
		if times[is]++; times[is] > 1 {
			twice = append(twice, is.Topic+" of "+is.Namespace)
		}
	}
	for _, p := range h.Subscribed.Published {
		due := p.Err == nil && (s.Since.IsZero() || p.At.After(s.Since))
		if due && s.Selects(p.Namespace, p.Topic) && !s.HeardOf(p.Name) {
			missed = append(missed, p.Topic+" of "+p.Namespace)
		}
	}
	for _, e := range h.Events {
		that := harness.HeardThat{Namespace: e.Namespace, Topic: e.Topic, Sent: e.Sent.UTC()}
		if s.Selects(e.Namespace, e.Topic) && dueTo(s, e.Sent, e.Seen) && times[that] == 0 {
			missed = append(missed, e.Topic+" of "+e.Namespace)
		}
	}
	for _, e := range h.Records {
		that := harness.HeardThat{Namespace: e.Namespace, Topic: e.Topic, Sent: e.Sent.UTC()}
		if s.Selects(e.Namespace, e.Topic) && dueTo(s, e.Sent, e.Seen) && times[that] == 0 {
			missed = append(missed, e.Topic+" of "+e.Namespace)
		}
	}
	slices.Sort(missed)
	return missed, others, twice
}

// dueTo reports whether an event that another has seen came to containerd when the
// subscription was surely there: it was sent after that was told one, and had come before
// the last ones were published.
func dueTo(s harness.Subscription, sent, seen time.Time) bool {
	return !s.Since.IsZero() && sent.After(s.Since) && seen.Before(s.Ending)
}
