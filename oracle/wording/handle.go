package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// handleWords returns the name of a handle of a containerd or shim process: "goroutine in
// core/x.f of containerd".
func handleWords(f finding.Finding) string {
	s, of := f.Subject, f.Facts[fact.Handle]
	holder := f.Facts[fact.Program]
	if s.ID != "" {
		holder = fmt.Sprintf("shim process %d (%s/%s)", s.PID, s.Namespace, s.ID)
	}
	switch f.Facts[fact.Kind] {
	case fact.AGoroutine:
		return fmt.Sprintf("goroutine in %s of %s", of, holder)
	case fact.AWatch:
		return fmt.Sprintf("%s watch of %s", of, holder)
	case fact.AConnection:
		return fmt.Sprintf("connection (%s) of %s", of, holder)
	}
	return fmt.Sprintf("descriptor of %s in %s", of, holder)
}

func handleReasons(fs fact.Facts) []string {
	why := []string{fmt.Sprintf("%s more than the limit of %s", fs[fact.Count], fs[fact.Most])}
	if fs[fact.Stack] != "" {
		why = append(why, "the stack of one: "+fs[fact.Stack])
	}
	return why
}
