package audit

import (
	"testing"
	"time"
)

func TestASlowNodeSettlesLonger(t *testing.T) {
	for look, want := range map[time.Duration]time.Duration{
		20 * time.Millisecond:  3 * time.Second,
		800 * time.Millisecond: 4 * time.Second,
		time.Minute:            slowSettle,
	} {
		if got := (Options{}).withDefaults().settle(look); got != want {
			t.Errorf("a look takes %s: it settles for %s, want %s", look, got, want)
		}
	}
	if got := (Options{Settle: time.Minute}).settle(time.Second); got != time.Minute {
		t.Errorf("--settle 1m: %s", got)
	}
}
