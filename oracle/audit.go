package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// auditPause is the time between the two looks of an audit: longer than a healthy start
// or removal is half done.
const auditPause = 2 * time.Second

// Audit looks for leaks on a live node: the same inventory, judged without one of before.
// It reads files and asks containerd questions; it sends no signal, connects to no shim
// and changes nothing. What is found is looked at again after two seconds, and only what
// is still the same is reported: a task that is just being made or removed is no leak.
//
// Shims in other PID namespaces are not judged: they are of a containerd within a
// container, which is not asked. Without Scene.Client only what the files alone prove is
// reported.
func Audit(ctx context.Context, s Scene) (Inventory, []Finding, error) {
	s.Own = func(int) bool { return false }
	first, err := Take(ctx, s)
	if err != nil {
		return first, nil, fmt.Errorf("audit: %w", err)
	}
	suspects := suspicious(first)
	if len(suspects) == 0 {
		return first, nil, nil
	}
	if err := wait(ctx, auditPause); err != nil {
		return first, nil, fmt.Errorf("audit: %w", err)
	}
	second, err := Take(ctx, s)
	if err != nil {
		return second, nil, fmt.Errorf("audit: %w", err)
	}
	found := slices.DeleteFunc(suspicious(second), func(f Finding) bool {
		return !slices.ContainsFunc(suspects, func(s Finding) bool {
			return s.Class == f.Class && s.Subject == f.Subject
		})
	})
	return second, markSockets(ctx, s, found), nil
}

// markSockets marks socket files with the residue of a killed shim: on a live node nobody
// knows who was killed, and a file that nobody listens on harms nobody.
func markSockets(ctx context.Context, s Scene, found []Finding) []Finding {
	if s.Client == nil {
		return found
	}
	v, err := s.Client.Version(ctx)
	if err != nil {
		return found
	}
	return Mark(found, Circumstances{Release: v.Version, Happened: slices.Repeat([]string{ShimKilled}, len(found))})
}

// suspicious judges an inventory by itself: what exists without what it belongs to.
func suspicious(inv Inventory) []Finding {
	var out []Finding
	for _, f := range Leaks(Inventory{}, inv) {
		if belongsNowhere(inv, f) {
			out = append(out, f)
		}
	}
	forgotten, _ := Forgotten(inv) // without containerd there is none to tell
	return append(out, forgotten...)
}

// belongsNowhere reports whether the thing of a finding is without its owner.
func belongsNowhere(inv Inventory, f Finding) bool {
	switch f.Class {
	case ClassShim:
		p, _ := inv.process(f.Subject.PID)
		return p.Shim != nil && !p.Foreign && !serves(inv, p)
	case ClassBundle:
		if f.Facts[FactKind] == AWorkDir {
			_, ok := inv.bundle(f.Subject.Namespace, f.Subject.ID)
			return !ok
		}
		b, _ := inv.bundle(f.Subject.Namespace, f.Subject.ID)
		return b.Hidden || !served(inv, b)
	case ClassMount:
		if f.Subject.ID == "" {
			return false // not of a bundle or a pod
		}
		_, known := inv.knows("", f.Subject.ID)
		return !known && !slices.ContainsFunc(inv.CRIDirs, func(d Dir) bool { return d.ID == f.Subject.ID })
	case ClassSocket:
		return f.Facts[FactSocket] == Silent
	case ClassRuncState:
		_, bundle := inv.bundle(f.Subject.Namespace, f.Subject.ID)
		return !bundle && !inv.hasTask(f.Subject.Namespace, f.Subject.ID)
	default: // containers, snapshots, leases and the like may well be there without a task
		return false
	}
}

func (inv Inventory) hasTask(ns, id string) bool {
	if inv.Daemon == nil {
		return false
	}
	_, ok := inv.Daemon.task(ns, id)
	return ok
}

// serves reports whether a shim has a task, its own or one of its group: a bundle with a
// task names its socket.
func serves(inv Inventory, shim Process) bool {
	ns, id := shim.Shim.Namespace, shim.Shim.ID
	if inv.Daemon == nil { // a bundle is the best proof that there is
		_, ok := inv.bundle(ns, id)
		return ok
	}
	sandbox := slices.Contains(inv.Daemon.Sandboxes, Ref{ns, id})
	if inv.hasTask(ns, id) || sandbox {
		return true
	}
	return slices.ContainsFunc(inv.Bundles, func(b Bundle) bool {
		return inv.hasTask(b.Namespace, b.ID) && slices.ContainsFunc(inv.Sockets, func(s Socket) bool {
			return slices.Contains(shim.SocketInodes, s.Inode) && s.Inode != 0 &&
				b.Address != "" && strings.HasSuffix(b.Address, strings.TrimPrefix(s.Path, "@"))
		})
	})
}

// served reports whether a bundle has a shim: one of its id, or a group's that listens on
// the bundle's address.
func served(inv Inventory, b Bundle) bool {
	if _, ok := inv.shim(b.Namespace, b.ID); ok {
		return true
	}
	return slices.ContainsFunc(inv.Sockets, func(s Socket) bool {
		return s.Listening && b.Address != "" && strings.HasSuffix(b.Address, strings.TrimPrefix(s.Path, "@"))
	})
}
