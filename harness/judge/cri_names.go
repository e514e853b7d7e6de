package judge

import (
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// stillReserved is a part of the error of CRI's registrar about a reserved name
// (internal/registrar of v2.4.2). The error has no code.
const stillReserved = "is reserved for"

// noImage is a part of the error about a missing image. CRI looks for the image after it
// has reserved the name, so this error shows that the name was free.
const noImage = "failed to resolve image"

// criNames: after a fault, the name of a removed pod, or of a container that could not be
// created, is free again without a restart. containerd reserves names in its memory only.
// A restarted containerd reserves the names of existing containers again, so that each
// name stays unique.
func criNames(h *run) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, n := range h.CRI.Names {
		if n.Object == fact.APod && h.Removal != nil && !n.Taken {
			continue // rule alive reports the failed removal
		}
		wrong, what := stillReserved, fact.IDReuse
		if n.Taken {
			wrong, what = noImage, fact.NameFree
		}
		if n.Err != nil && strings.Contains(n.Err.Said, wrong) && (!n.Taken || !tolerated(h, reportWritten, until(n.At))) {
			fs := n.Err.Facts(what)
			fs[fact.Object] = n.Object
			found = append(found, unalive(finding.ClassContainer, fs))
		}
	}
	return found, nil
}
