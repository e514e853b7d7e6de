package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfImages(t *testing.T) {
	// told changes an answer of CRI's about an image: the list's, that by its name and that
	// by its id.
	told := func(n int, change func(*harness.CRIImage)) func(*harness.History) {
		return func(h *harness.History) {
			for _, by := range []string{"", "payload:v1", "sha256:1"} {
				h.CRI.Images = append(h.CRI.Images, harness.CRIImage{
					Name: "payload:v1", Asked: by, ID: "sha256:1", Tags: []string{"payload:v1", "payload:v2"}, Size: 1})
			}
			change(&h.CRI.Images[n])
		}
	}
	gone := func(k *harness.CRIImage) { *k = harness.CRIImage{Name: k.Name, Asked: k.Asked} }
	removed := func(k *harness.CRIImage) { k.Gone = true }
	const found = "status cri-status object=image "
	judgedPod(t, map[string]row{
		"the same each time": {told(0, func(*harness.CRIImage) {}), ""},
		"not in the list":    {told(0, gone), found + "what=listing field=id is=other"},
		"not by its name":    {told(1, gone), found + "field=id is=other"},
		"not by its id":      {told(2, gone), found + "field=id is=other"},
		"another by its id":  {told(2, func(k *harness.CRIImage) { k.ID = "sha256:2" }), found + "field=id is=other"},
		"without its tag": {told(1, func(k *harness.CRIImage) { k.Tags = k.Tags[1:] }),
			found + "field=tags is=other"},
		"without a size": {told(1, func(k *harness.CRIImage) { k.Size = 0 }), found + "field=size is=other"},
		"an error": {told(2, func(k *harness.CRIImage) { k.Err = failed("Unknown", "no") }),
			found + "field=id is=not-set"},
		"listed when removed":    {told(0, removed), found + "what=listing field=id is=other"},
		"there when removed":     {told(1, removed), found + "field=id is=other"},
		"removed, and not there": {told(2, func(k *harness.CRIImage) { gone(k); removed(k) }), ""},
		"a fault may explain it": {also(told(0, gone), planned), ""},
	})
}
