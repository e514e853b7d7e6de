package judge

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// criImages: CRI tells of the image of a container in its list, by its name and by its
// id: each time of the same, by its name, and of a size. Of one that it has removed it
// tells nothing.
func criImages(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	ids := map[string]string{}
	for _, is := range h.CRI.Images {
		add := func(field, wrong, reported, want string) {
			f := about(oracle.AnImage, is.Name, field, wrong, reported, want)
			if is.Asked == "" {
				f.Facts[oracle.FactWhat] = oracle.Listing
			}
			found = append(found, f)
		}
		first := ids[is.Name]
		switch {
		case is.Err != nil:
			add(oracle.FieldID, oracle.NotSet, is.Err.Said, "an answer")
			continue
		case is.Gone:
			if is.ID != "" {
				add(oracle.FieldID, oracle.Other, is.ID, "that it is not there")
			}
			continue
		case is.ID == "":
			add(oracle.FieldID, oracle.Other, "that it is not there", "there")
			continue
		case first != "" && is.ID != first:
			add(oracle.FieldID, oracle.Other, is.ID, first)
		}
		if ids[is.Name] = is.ID; !slices.Contains(is.Tags, is.Name) {
			add(oracle.FieldTags, oracle.Other, strings.Join(is.Tags, " "), is.Name)
		}
		if is.Size == 0 {
			add(oracle.FieldSize, oracle.Other, "0 bytes", "more")
		}
	}
	return uniqueCauses(found), nil
}
