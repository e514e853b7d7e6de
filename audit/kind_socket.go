package audit

// SocketKind is a shim's socket without a listener.
const SocketKind Kind = "socket"

var listenerKind = kind{
	name: SocketKind,
	find: (*comparison).sockets,
	do: func(_ Suspect) string {
		return "harmless; remove it when no shim is starting"
	},
}

// sockets returns the shims' sockets without a listener. They are harmless, but they show
// that a shim was killed or was not cleaned up.
func (c *comparison) sockets() []Suspect {
	var out []Suspect
	for _, socket := range c.Sockets {
		if socket.Listening || c.inMotion(socket.Of) {
			continue
		}
		s := c.suspect(SocketKind, socket.Of)
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

// inMotion reports whether the shim of a container still runs, or is being cleaned up. On
// a busy machine, its socket then has no listener for some seconds before its removal.
func (c *comparison) inMotion(of Key) bool {
	return of != Key{} && (c.helped[of] || c.shimOf[of] != nil)
}
