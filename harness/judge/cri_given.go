package judge

import (
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// criGiven: CRI says of a container what its client has asked for, and of its image
// always the same; and its list has the time at which the container was made that it says
// when it is asked for that one. A fault may have broken what it knows that from.
func criGiven(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
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
				found = append(found, about(oracle.AContainer, i.ID, oracle.FieldImageRef, oracle.Changed,
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
			found = append(found, given(i, *s.Given, want, oracle.Listing)...)
			if !created.IsZero() && !s.Created.Equal(created) {
				f := about(oracle.AContainer, i.ID, oracle.FieldCreated, oracle.Other, finely(s.Created), finely(created))
				f.Facts[oracle.FactWhat] = oracle.Listing
				found = append(found, f)
			}
		}
	}
	return uniqueCauses(found), nil
}

// given compares what CRI says with what was asked for.
func given(i harness.Instance, is, want oracle.CRIGiven, in string) (found []oracle.Finding) {
	if is.StopSignal == "" {
		want.StopSignal = "" // not every release tells it
	}
	for _, f := range []struct{ field, is, want string }{
		{oracle.FieldAnnotations, is.Annotation, want.Annotation}, {oracle.FieldImage, is.Image, want.Image},
		{oracle.FieldLogPath, is.LogPath, want.LogPath}, {oracle.FieldMounts, is.Mounts, want.Mounts},
		{oracle.FieldStopSignal, is.StopSignal, want.StopSignal},
	} {
		if f.is != f.want {
			x := about(oracle.AContainer, i.ID, f.field, oracle.Other, f.is, f.want)
			x.Facts[oracle.FactWhat] = in
			found = append(found, x)
		}
	}
	return found
}
