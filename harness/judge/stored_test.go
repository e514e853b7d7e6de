package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfStores(t *testing.T) {
	says := func(of, is, want string) func(*harness.History) {
		return also(plain, func(h *harness.History) {
			h.Stored = []harness.Stored{
				{Key: "a", Of: harness.StoredContent, Is: "sha256:1", Want: "sha256:1"}, {Key: "b", Of: of, Is: is, Want: want},
			}
		})
	}
	kept := says(harness.StoredSnapshot, "OK", "NotFound")
	judged(t, map[string]row{
		"all is as it was made": {says(harness.StoredParent, "a", "a"), ""},
		"damaged content is taken": {says(harness.StoredCommit, "OK", "FailedPrecondition"),
			"liveness containerd what=store-as call=commit"},
		"what was removed is refused": {says(harness.StoredRemoval, "FailedPrecondition", "OK"),
			"liveness containerd what=store-as call=removal"},
		"a label that was removed is there": {says(harness.StoredLabels, "map[a:1 b:2]", "map[b:2]"),
			"liveness containerd what=store-as call=labels"},
		"what nobody keeps is kept": {kept, "liveness containerd what=store-as call=snapshot"},
		"where a fault is planned":  {also(kept, planned), ""},
	})
}
