package audit

// Listener is a shim's socket on which nobody listens.
const Listener Kind = "socket"

var listenerKind = kind{
	name: Listener,
	find: (*comparison).sockets,
	do: func(_ Suspect) string {
		return "it harms nobody; rm it when no shim is about to start"
	},
}

// sockets are those on which nobody listens. They harm nobody, and tell of a shim that
// was killed or never cleaned up after.
func (c *comparison) sockets() []Suspect {
	var out []Suspect
	for _, socket := range c.Sockets {
		if socket.Listening || c.inMotion(socket.Of) {
			continue
		}
		s := c.suspect(Listener, socket.Of)
		s.Path, s.Changed, s.Sure = socket.Path, socket.Changed, Certain
		s.Missing = []string{"listener"}
		bundle := ""
		if _, ok := c.addressOf[socketKey(socket.Path)]; ok {
			bundle = "named"
		} else if len(c.Bundles) == 0 {
			bundle = "none-left"
		}
		s.Facts = facts("bundle", bundle, "socket", "silent")
		out = append(out, s)
	}
	return out
}

// inMotion reports whether the shim of a container is still there, or just cleaned up
// after: on a starved machine its socket is silent for seconds before it goes.
func (c *comparison) inMotion(of Key) bool {
	return of != Key{} && (c.helped[of] || c.shimOf[of] != nil)
}
