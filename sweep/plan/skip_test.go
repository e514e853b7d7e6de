package plan

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/must"
)

func TestSkipped(t *testing.T) {
	for point, want := range map[string]bool{
		"stmt:shim:runc-task.service.Stats:if-err-nil":                                  true,
		"rpc:containerd:Task.Stats:entry":                                               true,
		"stmt:containerd:cri-events.EventMonitor.Start:ids-em.backOff.getExpiredIDs":    true,
		"stmt:containerd:cri-events.EventMonitor.Start:select":                          false,
		"stmt:containerd:runtime.binary.Start:ns-_-namespaces.Namespace-ctx":            false,
		"stmt:containerd:runtime.binary.Start:log.G-ctx-.WithError-err-.Error-copy-shi": false,
		"rpc:shim:Task.Delete:entry":                                                    false,
	} {
		p := failpoints.MustPoint(point)
		must.Equal(t, isTimed(p), want, point, "timed")
	}
}

// A fault that changes nothing is not planned. Neither is one that has the same effect at
// the next statement, or that another fault already has.
func TestFaultsWithoutAnEffectOfTheirOwn(t *testing.T) {
	const (
		state   = "Task.State:entry"
		forward = "Events.Forward:entry"
		publish = "stmt:shim:shim.RemoteEventsPublisher.Publish:return-nil"
		mkdir   = "stmt:containerd:runtime.NewBundle:if-err-os.Mkdir-b.Path-0700-err-nil"
	)
	lost, cancel := []string{"error(" + errorText + ")", "loseResult"}, []string{"cancel"}
	unknown, reading := weave.Effect{}, weave.Effect{Inside: true, Reads: true}
	for name, tt := range map[string]struct {
		point  string
		moment term.Moment
		effect weave.Effect
		action string
		want   []string
	}{
		"the handler ignores its context":     {"rpc:shim:" + state, AtMethod, unknown, "cancel", nil},
		"the caller does not":                 {"rpc:containerd:" + state, AtMethod, unknown, "cancel", cancel},
		"containerd handles events":           {"rpc:containerd:" + forward, AtMethod, unknown, "cancel", nil},
		"the shim sends them":                 {"rpc:shim:" + forward, AtMethod, unknown, "cancel", cancel},
		"work of the shim":                    {publish, term.AtCancel, unknown, "cancel", nil},
		"a context that is not used":          {mkdir, term.AtCancel, weave.Effect{Blind: true}, "cancel", nil},
		"a context that is used":              {mkdir, term.AtCancel, weave.Effect{Inside: true}, "cancel", cancel},
		"a crash before a change of memory":   {mkdir, term.AtStatement, weave.Effect{Inside: true}, "crash", nil},
		"a crash before a change of a file":   {mkdir, term.AtStatement, unknown, "crash", []string{"crash"}},
		"a lost result of a call that reads":  {mkdir, term.AtCall, reading, "error", lost[:1]},
		"a lost result of a change of memory": {mkdir, term.AtCall, weave.Effect{Inside: true}, "error", lost},
	} {
		p := Hit{Point: failpoints.MustPoint(tt.point), Moment: tt.moment, Nth: 1, Path: "create", Effect: tt.effect}
		must.Equal(t, p.faults(tt.action), tt.want, name)
	}
}
