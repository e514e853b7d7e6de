package plan

import (
	"context"
	"fmt"
	"os"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
)

// again is how often what may have come by chance is run once more.
const again = 4

// lostByChance reports whether a run without a fault shows nothing but a race of its
// release that a busy machine loses by itself, and holds each time that it is run again.
// It is told: it has happened.
func lostByChance(ctx context.Context, v harness.Verdict, run func() harness.Verdict) bool {
	if v.Outcome != harness.Violated {
		return false
	}
	id := catalogue.ByChance(catalogue.Excuses(), v.Version, v.Violations())
	if id == "" {
		return false
	}
	for range again {
		if next := run(); next.Outcome != harness.Held {
			return ctx.Err() != nil // the caller tells of what was ended
		}
	}
	fmt.Fprintf(progress.Above(ctx, os.Stderr), "shimquake: %s: %s, known of %s, which a busy machine shows by itself; "+
		"run again without a fault, it held %d of %d times\n", v.Case.Name, id, v.Version, again, again)
	return true
}
