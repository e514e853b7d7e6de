package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfSubscriptions(t *testing.T) {
	// Both of two clients are there from 6 to 45: one is told all, and one of twin's alone.
	subscribers := func(change func(s *harness.Subscribed)) func(*harness.History) {
		return also(plain, func(h *harness.History) {
			that := func(ns, topic string, ms int, name string) harness.HeardThat {
				return harness.HeardThat{Namespace: ns, Topic: topic, Sent: at(ms), Name: name}
			}
			first, last := that("twin", "/a", 5, "1"), that("twin", "/a", 45, "2")
			all := harness.Subscription{Since: at(6), Ending: at(45), Heard: []harness.HeardThat{first}}
			for _, e := range h.Events {
				all.Heard = append(all.Heard, that(e.Namespace, e.Topic, int(e.Sent.Sub(at(0)).Milliseconds()), ""))
			}
			all.Heard = append(all.Heard, last)
			twins := harness.Subscription{Filter: "namespace==twin", Namespace: "twin", Since: at(6), Ending: at(45),
				Heard: []harness.HeardThat{first, last}}
			h.Subscribed = &harness.Subscribed{
				Clients: []harness.Subscription{all, twins},
				Published: []harness.Published{{Namespace: "twin", Topic: "/a", Name: "1", At: at(5)},
					{Namespace: "twin", Topic: "/a", Name: "2", At: at(45)}},
			}
			change(h.Subscribed)
		})
	}
	alsoHears := func(n int, that harness.HeardThat) func(s *harness.Subscribed) {
		return func(s *harness.Subscribed) { s.Clients[n].Heard = append(s.Clients[n].Heard, that) }
	}
	other := harness.HeardThat{Namespace: "shimquake", Topic: "/tasks/exit", Sent: at(31)}
	const missed = "liveness containerd what=not-heard"
	judged(t, map[string]row{
		"each is told its own": {subscribers(func(*harness.Subscribed) {}), ""},
		"told of nothing": {subscribers(func(s *harness.Subscribed) {
			s.Clients[1].Since, s.Clients[1].Heard = time.Time{}, nil
		}), missed + " message=namespace==twin"},
		"not told of what was published": {subscribers(func(s *harness.Subscribed) {
			s.Clients[1].Heard = s.Clients[1].Heard[:1]
		}), missed},
		"not told of what has happened": {subscribers(func(s *harness.Subscribed) {
			s.Clients[0].Heard = append(s.Clients[0].Heard[:3:3], s.Clients[0].Heard[4:]...)
		}), missed},
		"too late for it": {subscribers(func(s *harness.Subscribed) {
			s.Clients[0].Since = at(35)
			s.Clients[0].Heard = s.Clients[0].Heard[4:]
		}), ""},
		"told of another's": {subscribers(alsoHears(1, other)),
			"liveness containerd what=overheard message=namespace==twin"},
		"told twice": {subscribers(alsoHears(0, other)), "liveness containerd what=heard-twice"},
		"it has ended": {subscribers(func(s *harness.Subscribed) {
			s.Clients[0].Err, s.Clients[0].Heard = failed("Unknown", "x"), nil
		}), "liveness containerd what=subscription-ended"},
		"nobody can publish": {subscribers(func(s *harness.Subscribed) {
			s.Published[1].Err = failed("DeadlineExceeded", "x")
			s.Clients[0].Heard, s.Clients[1].Heard = s.Clients[0].Heard[:5], s.Clients[1].Heard[:1]
		}), "liveness containerd what=unpublished code=DeadlineExceeded"},
		"where a fault is planned": {also(subscribers(alsoHears(1, other)), planned), ""},
		"where containerd has died": {also(subscribers(alsoHears(1, other)), func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(42), BackIn: time.Millisecond, Asked: true}}
		}), ""},
	})
}
