package compare

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

func (d diff) sockets() []finding.Finding {
	var out []finding.Finding
	for _, s := range fresh(d.before.Sockets, d.after.Sockets, func(s inventory.Socket) string { return s.Path }) {
		f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassSocket, Subject: finding.Subject{Path: s.Path},
			Facts: fact.Facts{fact.Socket: fact.Silent}}
		if s.Listening {
			f.Facts[fact.Socket] = fact.Listening
			if p, ok := d.socketHolder(s); ok {
				f.Facts[fact.Holder] = fact.ByShim
				f.Subject.PID, f.Subject.Namespace, f.Subject.ID = p.PID, p.Shim.Namespace, p.Shim.ID
			}
		}
		if b, ok := d.socketBundle(s); ok {
			f.Facts[fact.Bundle] = fact.Named
			f.Subject.Namespace, f.Subject.ID = b.Namespace, b.ID
		} else if len(d.after.Bundles) == 0 {
			f.Facts[fact.Bundle] = fact.NoneLeft
		}
		out = append(out, f)
	}
	return out
}

func (d diff) socketHolder(s inventory.Socket) (inventory.Process, bool) {
	return inventory.First(d.after.Processes, func(p inventory.Process) bool {
		return s.Inode != 0 && slices.Contains(p.SocketInodes, s.Inode)
	})
}

func (d diff) socketBundle(s inventory.Socket) (inventory.Bundle, bool) {
	name := strings.TrimPrefix(s.Path, "@")
	return inventory.First(d.after.Bundles, func(b inventory.Bundle) bool {
		return b.Path == s.Beside && s.Beside != "" || b.Address != "" && strings.HasSuffix(b.Address, name)
	})
}
