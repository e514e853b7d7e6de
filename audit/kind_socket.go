package audit

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// listenerKind is a shim's socket without a listener.
var listenerKind = kind{
	class: finding.ClassSocket,
	find:  (*comparison).sockets,
	do: func(_ Suspect) string {
		return "harmless; remove it when no shim is starting"
	},
}

// sockets returns the shims' sockets without a listener. They are harmless, but they show
// that a shim was killed or was not cleaned up.
func (c *comparison) sockets() []Suspect {
	var out []Suspect
	for _, socket := range c.Sockets {
		// On a busy machine, the socket of a shim that exits, or that is being cleaned up, has
		// no listener for some seconds before its removal.
		inMotion := socket.Of != Key{} && (c.helped[socket.Of] || c.shimOf[socket.Of] != nil)
		if socket.Listening || inMotion {
			continue
		}
		fs := fact.Facts{fact.Socket: fact.Silent}
		if c.named[socketKey(socket.Path)] {
			fs[fact.Bundle] = fact.Named
		} else if len(c.Bundles) == 0 {
			fs[fact.Bundle] = fact.NoneLeft
		}
		s := c.suspect(finding.ClassSocket, socket.Of, fs)
		s.Path, s.Changed, s.Sure, s.Missing = socket.Path, socket.Changed, Certain, []string{"listener"}
		out = append(out, s)
	}
	return out
}
