package judge

import (
	"testing"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfUsers(t *testing.T) {
	as := func(asked, uid, gid int) func(*harness.History) {
		return func(h *harness.History) {
			i := &h.Instances[0]
			i.Spec.User, i.Payload.UID, i.Payload.GID = asked, uid, gid
		}
	}
	asImage := func(gid int) func(*harness.History) {
		return func(h *harness.History) {
			as(0, payload.ImageUID, gid)(h)
			h.Instances[0].Spec.ImageUser = true
		}
	}
	const wrong = "liveness container what=user reported="
	judged(t, map[string]row{
		"root":                         {as(0, 0, 0), ""},
		"who was asked for":            {as(1000, 1000, 1000), ""},
		"root after all":               {as(1000, 0, 0), wrong + "1000:1000 true=0:0"},
		"another group":                {as(1000, 1000, 0), wrong + "1000:1000 true=1000:0"},
		"nobody asked":                 {as(0, 1000, 1000), wrong + "0:0 true=1000:1000"},
		"who the image names":          {asImage(payload.ImageGID), ""},
		"the group is not the image's": {asImage(0), wrong + "1000:1001 true=1000:0"},
		"an exec's": {also(withExec, func(h *harness.History) {
			h.Instances[0].Execs[0].Payload.UID = 1
		}), wrong + "0:0 true=1:0 of=exec"},
	})
}
