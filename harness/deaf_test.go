package harness

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

func TestWhatNobodyCouldHearIsNotMissing(t *testing.T) {
	begun := time.Now()
	exited := begun.Add(time.Second)
	for name, tc := range map[string]struct {
		deaths []daemon.Death
		want   int
	}{
		"containerd lived":                 {nil, 1},
		"it died before the container":     {[]daemon.Death{{At: begun.Add(-time.Second), BackIn: 100 * time.Millisecond}}, 1},
		"it died while the container ran":  {[]daemon.Death{{At: begun.Add(900 * time.Millisecond), BackIn: 200 * time.Millisecond}}, 0},
		"it died again while it booted":    {[]daemon.Death{{At: begun.Add(950 * time.Millisecond)}}, 0},
		"it died long after the last word": {[]daemon.Death{{At: exited.Add(time.Minute), BackIn: time.Second}}, 1},
	} {
		var events oracle.EventLog
		deafWhileDown(&events, tc.deaths)
		if found := events.Check([]oracle.Life{{Container: "c0", Begun: begun, Exited: exited}}); len(found) != tc.want {
			t.Errorf("%s: %v, want %d", name, found, tc.want)
		}
	}
}
