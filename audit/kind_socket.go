package audit

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// listenerKind is a shim's socket without a listener.
var listenerKind = kind{
	class: finding.ClassSocket,
	read:  (*viewing).sockets,
	find:  (*comparison).sockets,
	do:    always("harmless; remove it when no shim is starting"),
}

// sockets returns the shims' sockets without a listener. They are harmless, but they show
// that a shim was killed or was not cleaned up.
func (c *comparison) sockets() {
	for _, socket := range c.Sockets {
		// The socket of a shim that exits, or that is being cleaned up, has no listener before
		// its removal. On a busy machine this takes some seconds.
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
		s := c.suspect(socket.Of, fs)
		s.Path, s.Changed, s.Sure, s.Missing = socket.Path, socket.Changed, Certain, []string{"listener"}
	}
}
