package exit

import "github.com/shimquake/shimquake/oracle/event"

// OfEvents returns the exit statuses in events.
func OfEvents(events []event.Task) []Observation {
	by := map[string]Observer{event.TopicExit: ByTaskExit, event.TopicDelete: ByTaskDelete}
	var out []Observation
	for _, e := range events {
		if by[e.Topic] != "" {
			out = append(out, Observation{
				Container: e.Container, Exec: e.Exec, Observer: by[e.Topic], Status: e.Status, At: e.Exited, PID: e.PID,
			})
		}
	}
	return out
}
