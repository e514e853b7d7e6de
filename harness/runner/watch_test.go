package runner

import (
	"strings"
	"testing"
	"time"
)

func TestClocks(t *testing.T) {
	last := reading{boot: 100 * time.Second, wall: 5000 * time.Second}
	for _, tc := range []struct {
		name       string
		boot, wall time.Duration // since last
		want       string        // "": the run counts
	}{
		{"the next tick", clockTick, clockTick, ""},
		{"a busy machine", time.Second, time.Second, ""},
		{"SIGSTOP", 12 * time.Second, 12 * time.Second, "stood still for 11.8s"},
		{"just too long", clockTick + stillLimit, clockTick + stillLimit, "stood still for 2s"},
		{"set forward", clockTick, clockTick + time.Hour, "set by 1h0m0s"},
		{"set back", clockTick, clockTick - time.Minute, "set by -1m0s"},
		{"slewed", clockTick, clockTick + 10*time.Millisecond, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := reading{last.boot + tc.boot, last.wall + tc.wall}.since(last)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWatchMachineIsQuiet(t *testing.T) {
	stop := watchMachine(func(err error) { t.Error(err) })
	stop()
	stop()
}
