package compare

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// added returns the ADD calls without a later DEL.
func added(calls []inventory.NetworkCall) []inventory.NetworkCall {
	var open []inventory.NetworkCall
	for _, c := range calls {
		switch c.Command {
		case inventory.CNIDel:
			open = slices.DeleteFunc(open, c.Same)
		case inventory.CNIAdd:
			open = append(open, c)
		}
	}
	return open
}

// networks returns findings about ADD calls that no DEL undid.
func (d diff) networks() (out []finding.Finding) {
	itself := func(c inventory.NetworkCall) inventory.NetworkCall { return c }
	for _, c := range fresh(added(d.before.Networks), added(d.after.Networks), itself) {
		f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassNetwork,
			Subject: finding.Subject{ID: c.Container, Path: mountedAt(c.Netns)}}
		f.Facts = d.task("", c.Container)
		f.Facts[fact.Network], f.Facts[fact.Netns] = c.Network, fact.Gone
		if slices.ContainsFunc(d.after.Mounts, func(m inventory.Mount) bool { return m.Point == mountedAt(c.Netns) }) {
			f.Facts[fact.Netns] = fact.There
		}
		out = append(out, f)
	}
	return out
}

// mountedAt returns the path of a network namespace in the mount table, because /var/run
// is a link to /run.
func mountedAt(netns string) string {
	if rest, ok := strings.CutPrefix(netns, "/var/run/"); ok {
		return "/run/" + rest
	}
	return netns
}

// podOf returns the pod of a file, or "". The file is a network namespace, or a result of
// ADD that libcni stores as NETWORK-CONTAINER-INTERFACE.
func (d diff) podOf(file string) string {
	for _, c := range d.after.Networks {
		if file == mountedAt(c.Netns) || path.Base(file) == c.Network+"-"+c.Container+"-"+c.Interface {
			return c.Container
		}
	}
	return ""
}
