package judge

import (
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criGiven: CRI says of a container what its client has asked for, and of its image
// always the same; and its list has the time at which the container was made that it says
// when it is asked for that one. A fault may have broken what it knows that from.
func criGiven(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		if i.Given == nil {
			continue
		}
		var ref string
		var created time.Time
		for _, s := range h.CRI.Statuses {
			if s.ID != i.ID || s.Given == nil {
				continue
			}
			found = append(found, given(i, *s.Given, *i.Given, "")...)
			if ref != "" && s.Given.ImageRef != ref {
				found = append(found, about(fact.AContainer, i.ID, fact.FieldImageRef, fact.Changed,
					s.Given.ImageRef, ref))
			}
			ref, created = s.Given.ImageRef, s.Created
		}
		for _, s := range h.CRI.States {
			if s.ID != i.ID || s.Given == nil {
				continue
			}
			want := *i.Given
			want.LogPath, want.Mounts = "", ""
			found = append(found, given(i, *s.Given, want, fact.Listing)...)
			if !created.IsZero() && !s.Created.Equal(created) {
				f := about(fact.AContainer, i.ID, fact.FieldCreated, fact.Other, finely(s.Created), finely(created))
				f.Facts[fact.What] = fact.Listing
				found = append(found, f)
			}
		}
	}
	return uniqueCauses(found), nil
}

// given compares what CRI says with what was asked for.
func given(i harness.Instance, is, want criview.Given, in string) (found []finding.Finding) {
	if is.StopSignal == "" {
		want.StopSignal = "" // not every release tells it
	}
	for _, f := range []struct{ field, is, want string }{
		{fact.FieldAnnotations, is.Annotation, want.Annotation}, {fact.FieldImage, is.Image, want.Image},
		{fact.FieldLogPath, is.LogPath, want.LogPath}, {fact.FieldMounts, is.Mounts, want.Mounts},
		{fact.FieldStopSignal, is.StopSignal, want.StopSignal},
	} {
		if f.is != f.want {
			x := about(fact.AContainer, i.ID, f.field, fact.Other, f.is, f.want)
			x.Facts[fact.What] = in
			found = append(found, x)
		}
	}
	return found
}
