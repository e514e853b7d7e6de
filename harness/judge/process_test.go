package judge

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
)

// After a failed start containerd kills the payload, before the client does.
func TestLivedUntilItsFirstKill(t *testing.T) {
	for name, tt := range map[string]struct {
		started time.Time
		until   int
	}{"started": {at(20), 50}, "its start failed": {time.Time{}, 20}} {
		h := clean()
		plain(&h)
		i := &h.Instances[0]
		i.Started, i.Payload.Exited = tt.started, false
		h.Signals = []harness.SentSignal{{Container: "c0", Signal: int(unix.SIGKILL), At: at(50)}}
		h.Calls = []harness.Call{{Who: "client", Verb: "kill", Of: "c0", At: at(50), Took: time.Millisecond}}
		if got, what := livedUntil(runOf(&h), *i); !got.Equal(at(tt.until)) {
			t.Errorf("%s: %v, %s; want %v", name, got, what, at(tt.until))
		}
	}
}

// A payload that is about to die of SIGSEGV may be killed before that, if the client sent
// SIGKILL and a report has that status.
func TestTruthOfASegfault(t *testing.T) {
	removed := func(h *harness.History) {
		h.Calls = append(h.Calls,
			harness.Call{Who: "client", Verb: "remove", Of: "c0", At: at(29), Took: at(40).Sub(at(29))})
	}
	saying := func(status uint32) func(*harness.History) {
		return func(h *harness.History) {
			for n := range h.Reported {
				h.Reported[n].Status = status
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*harness.History)
		want   uint32
	}{
		"it has died of it":              {saying(139), 139},
		"SIGKILL is said, and none came": {saying(137), 139},
		"it was killed before":           {also(removed, saying(137)), 137},
		"it was not":                     {also(removed, saying(139)), 139},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			i := &h.Instances[0]
			i.Spec, i.Payload.Status, i.PID = harness.Container{Segfault: harness.SegfaultCore}, 139, 0
			tt.change(&h)
			got, ran, err := initOf(runOf(&h), *i).truth()
			if got.Status != tt.want || !ran || err != nil {
				t.Errorf("%d, %v, %v; want %d", got.Status, ran, err, tt.want)
			}
		})
	}
}
