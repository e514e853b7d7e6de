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

func handleReasons(f finding.Finding) string {
	stack := ""
	if f.Facts[fact.Stack] != "" {
		stack = "the stack of one: " + f.Facts[fact.Stack]
	}
	return join(says("%s more than the limit of %s", fact.Count, fact.Most)(f), stack)
}
