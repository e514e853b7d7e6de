package plan

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
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
		if isTimed(p) != want {
			t.Errorf("%s: timed %v", point, isTimed(p))
		}
	}
}
