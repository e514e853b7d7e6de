package progress

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

func TestText(t *testing.T) {
	began := time.Unix(0, 0)
	for name, tt := range map[string]struct {
		s     state
		after time.Duration
		want  string
	}{
		"rate and time left": {
			state{what: "sweep", unit: "cases", done: 120, total: 300, step: "all held"}, time.Minute,
			"sweep: 120 of 300 cases in 1m0s, 2.0 a second, 1m30s left: all held",
		},
		"slow": {
			state{what: "matrix", unit: "cells", done: 12, total: 84, step: "1 differs"}, 3 * time.Minute,
			"matrix: 12 of 84 cells in 3m0s, 4.0 a minute, 18m0s left: 1 differs",
		},
		"slower": {
			state{what: "x", unit: "clusters", done: 1, total: 3}, 10 * time.Minute,
			"x: 1 of 3 clusters in 10m0s, 6.0 an hour, 20m0s left",
		},
		"one long case": {
			state{what: "shim-sigkill", unit: "cases", total: 1}, 65 * time.Second,
			"shim-sigkill: 0 of 1 cases in 1m5s",
		},
		"nothing is counted": {state{what: "building v2.4.2"}, 65 * time.Second, "building v2.4.2 for 1m5s"},
		"nobody knows how many": {
			state{what: "planning pairs", unit: "traces", done: 30, step: "after a first fault"}, 10 * time.Second,
			"planning pairs: 30 traces in 10s, 3.0 a second: after a first fault",
		},
		"until a time, before the first": {
			state{what: "random plans", unit: "plans", until: began.Add(30 * time.Minute)}, time.Minute,
			"random plans: 0 plans in 1m0s, 29m0s left",
		},
		"until a time, which comes first": {
			state{what: "search", unit: "cases", done: 10, total: 1000, until: began.Add(10 * time.Minute)}, time.Minute,
			"search: 10 of 1000 cases in 1m0s, 10.0 a minute, 9m0s left",
		},
		"until a time, which comes last": {
			state{what: "search", unit: "cases", done: 10, total: 20, until: began.Add(10 * time.Minute)}, time.Minute,
			"search: 10 of 20 cases in 1m0s, 10.0 a minute, 1m0s left",
		},
		"the time is over, and what was begun is ended": {
			state{what: "random plans", unit: "plans", done: 60, until: began.Add(time.Minute)}, 2 * time.Minute,
			"random plans: 60 plans in 2m0s, 30.0 a minute, 0s left",
		},
		"more than was thought": {
			state{what: "bisect", unit: "revisions", done: 4, total: 3}, 4 * time.Minute,
			"bisect: 4 of 3 revisions in 4m0s, 1.0 a minute, 0s left",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.s.began = began
			must.Equal(t, tt.s.text(began.Add(tt.after)), tt.want)
		})
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		text string
		room int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 4, "too…"},
		{"größer", 4, "grö…"},
		{"none", 0, "…"},
		{"none", -5, "…"},
	} {
		must.Equal(t, clip(tt.text, tt.room), tt.want, tt.text, "in", tt.room)
	}
}
