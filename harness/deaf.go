package harness

import (
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

// deafWhileDown tells the log when nobody was subscribed: from a containerd's end until the next was subscribed to, which is before it counts as up. The
// log cannot always tell by itself: whether the broken stream or the end of the process is seen first is a race.
func deafWhileDown(events *oracle.EventLog, deaths []daemon.Death) {
	for _, d := range deaths {
		events.Deaf(d.At, d.At.Add(d.BackIn))
	}
}
