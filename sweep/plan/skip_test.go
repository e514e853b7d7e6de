package plan

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
)

func TestSkipped(t *testing.T) {
	for point, want := range map[string]struct{ timed, idle bool }{
		"stmt:shim:runc-task.service.Stats:if-err-nil":                                    {true, true},
		"rpc:containerd:Task.Stats:entry":                                                 {timed: true},
		"stmt:containerd:cri-events.EventMonitor.Start:ids-em.backOff.getExpiredIDs":      {timed: true},
		"stmt:containerd:cri-events.EventMonitor.Start:select":                            {},
		"stmt:containerd:runtime.binary.Start:if-err-nil#2":                               {idle: true},
		"stmt:containerd:runtime.binary.Start:return-nil-err":                             {idle: true},
		"stmt:containerd:runtime.binary.Start:ns-_-namespaces.Namespace-ctx":              {},
		"stmt:containerd:runtime.binary.Start:log.G-ctx-.WithError-err-.Error-copy-shi":   {},
		"stmt:containerd:runtime.TaskManager.Create:return-nil-fmt.Errorf-failed-to-star": {idle: true},
		"stmt:containerd:cri.criService.StopPodSandbox:return-c.stop-sandbox":             {idle: true},
		"rpc:shim:Task.Delete:entry":                                                      {},
	} {
		p := failpoints.MustPoint(point)
		if isTimed(p) != want.timed || idle(p) != want.idle {
			t.Errorf("%s: timed %v, idle %v", point, isTimed(p), idle(p))
		}
	}
}
