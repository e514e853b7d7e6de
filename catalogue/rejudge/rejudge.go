// Package rejudge judges kept histories by the rules and the known residues of this
// build. Nothing else makes a verdict after a run.
package rejudge

import (
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// Kept returns the verdict on a kept history, which may be by another build.
func Kept(k harness.Kept) harness.Verdict { return judge.Judge(k.History, catalogue.Residues()) }
