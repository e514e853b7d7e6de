package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
)

// Each row changes one of what CRI says of a container that was asked for so: twice when
// it is asked for that, and once in a list.
func TestCRIGiven(t *testing.T) {
	asked := criview.Given{Annotation: "1", Image: "payload:v1", LogPath: "/logs/c0.out", Mounts: "/in from /out",
		StopSignal: "SIGTERM"}
	const found = "status cri-status object=container "
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   string
	}{
		"as it was asked for": {func(*harness.History) {}, ""},
		"nobody knows":        {func(h *harness.History) { h.Instances[0].Given = nil }, ""},
		"an old history":      {func(h *harness.History) { h.CRI.Statuses[1].Given = nil }, ""},
		"no annotations": {gives(func(g *criview.Given) { g.Annotation = "" }),
			found + "field=annotations is=other"},
		"another image": {gives(func(g *criview.Given) { g.Image = "sha256:1" }), found + "field=image is=other"},
		"half of its log's path": {gives(func(g *criview.Given) { g.LogPath = "c0.out" }),
			found + "field=log-path is=other"},
		"no mounts": {gives(func(g *criview.Given) { g.Mounts = "" }), found + "field=mounts is=other"},
		"another stop signal": {gives(func(g *criview.Given) { g.StopSignal = "SIGUSR1" }),
			found + "field=stop-signal is=other"},
		"a release that does not tell it": {func(h *harness.History) {
			h.CRI.Statuses[0].Given.StopSignal, h.CRI.Statuses[1].Given.StopSignal = "", ""
		}, ""},
		"another image's digest": {gives(func(g *criview.Given) { g.ImageRef = "sha256:2" }),
			found + "field=image-ref is=changed"},
		"a list without annotations": {func(h *harness.History) { h.CRI.States[0].Given.Annotation = "" },
			found + "what=listing field=annotations is=other"},
		"a list with another time": {func(h *harness.History) { h.CRI.States[0].Created = at(29) },
			found + "what=listing field=created-at is=other"},
		"a list of a release that does not tell": {func(h *harness.History) { h.CRI.States[0].Given = nil }, ""},
		"a fault may have broken it": {func(h *harness.History) {
			gives(func(g *criview.Given) { g.Mounts = "" })(h)
			h.Case.Plan = clean().Case.Plan
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, first, second := asked, asked, asked
			first.ImageRef, second.ImageRef = "sha256:1", "sha256:1"
			h := pod()
			listed(fact.AContainer, "c0", criview.Exited)(&h)
			h.Instances[0].Given, h.CRI.Statuses[0].Given, h.CRI.Statuses[1].Given = &want, &first, &second
			h.CRI.States[0].Created = h.CRI.Statuses[1].Created
			h.CRI.States[0].Given = &criview.Given{Annotation: "1", Image: "payload:v1", ImageRef: "sha256:1"}
			tc.change(&h)
			if got := says(Judge(h, catalogued), tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, Judge(h, catalogued))
			}
		})
	}
}

// gives changes what the second of two answers says.
func gives(change func(*criview.Given)) func(*harness.History) {
	return func(h *harness.History) { change(h.CRI.Statuses[1].Given) }
}
