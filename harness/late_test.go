package harness

import (
	"testing"

	"github.com/shimquake/shimquake/oracle"
)

func TestLateLies(t *testing.T) {
	truths := []oracle.Truth{{Container: "c0", Status: 7}}
	ks := []*container{{id: "c0", pid: 50}, {id: "never"}}
	event := func(id string, pid int, status uint32) oracle.TaskEvent {
		return oracle.TaskEvent{Topic: "/tasks/exit", Container: id, PID: pid, Status: status}
	}
	for _, tc := range []struct {
		name string
		late []oracle.TaskEvent
		lies int
	}{
		{"none", nil, 0},
		{"the same again", []oracle.TaskEvent{event("c0", 50, 7)}, 0},
		{"a made-up one", []oracle.TaskEvent{event("c0", 50, 137)}, 1},
		{"the id's second life", []oracle.TaskEvent{event("c0", 61, 0)}, 0},
		{"one that never ran", []oracle.TaskEvent{event("never", 0, 255)}, 0},
	} {
		if lies, err := lateLies(truths, ks, tc.late); err != nil || len(lies) != tc.lies {
			t.Errorf("%s: %v, %v", tc.name, lies, err)
		}
	}
}
