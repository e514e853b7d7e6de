package oracle

import "fmt"

// handleWords name what a process of containerd's holds: "goroutine in core/x.f of
// containerd".
func (f Finding) handleWords() string {
	s, of := f.Subject, f.Facts[FactHandle]
	holder := f.Facts[FactProgram]
	if s.ID != "" {
		holder = fmt.Sprintf("shim process %d (%s/%s)", s.PID, s.Namespace, s.ID)
	}
	switch f.Facts[FactKind] {
	case AGoroutine:
		return fmt.Sprintf("goroutine in %s of %s", of, holder)
	case AWatch:
		return fmt.Sprintf("%s watch of %s", of, holder)
	case AConnection:
		return fmt.Sprintf("connection (%s) of %s", of, holder)
	}
	return fmt.Sprintf("descriptor of %s in %s", of, holder)
}

func handleReasons(fs Facts) []string {
	why := []string{fmt.Sprintf("%s more than the %s that it may have", fs[FactCount], fs[FactMost])}
	if fs[FactStack] != "" {
		why = append(why, "one stands in "+fs[FactStack])
	}
	return why
}
