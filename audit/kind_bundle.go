package audit

import (
	"fmt"
	"path"

	"github.com/shimquake/shimquake/oracle/scan"
)

// BundleKind is a bundle, or a work directory.
const BundleKind Kind = "bundle"

var directoryKind = kind{
	name: BundleKind,
	read: func(w *viewing) error {
		for _, dir := range w.dirs {
			err := scan.EachBundle(w.tree, dir.state, dir.root, func(b scan.Bundle) {
				changed, isThere := w.changed(b.Path, Key{b.Namespace, b.ID})
				if isThere && isName(b.Namespace) && isName(b.ID) {
					w.Bundles = append(w.Bundles, Bundle{b, changed})
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	},
	find: (*comparison).bundles,
	do: func(s Suspect) string {
		if s.has("task=not-asked") {
			return "start containerd, which removes bundles without a shim"
		}
		return fmt.Sprintf("if `ctr -n %s task ls` does not show it: umount %s where it is mounted, then remove the"+
			" directory", s.Namespace, path.Join(s.Path, "rootfs"))
	},
}

// bundles returns the bundles without a shim, the partly removed bundles, and the work
// directories without a bundle.
func (c *comparison) bundles() []Suspect {
	var out []Suspect
	for i := range c.Bundles {
		b := &c.Bundles[i]
		k := Key{b.Namespace, b.ID}
		_, task := c.Known.Tasks[k]
		shim := c.shimOf[k]
		if shim == nil && b.Address != "" {
			shim = c.byAddress[socketKey(b.Address)]
		}
		s := c.suspect(BundleKind, k)
		s.Path, s.Changed = b.Path, b.Changed
		at := "there"
		switch {
		case c.Blind && !b.Hidden:
			continue // an unread process may be its shim
		case b.Hidden:
			at, s.Sure = "hidden", Certain // containerd ignores a name that begins with a dot
			s.Missing = []string{"end of its removal"}
		case task || c.Known.Sandboxes[k] || shim != nil || c.helped[k]:
			continue
		case b.Work && c.bundleOf[k] != nil:
			continue // it is reported with its bundle
		case b.Work:
			at = "gone"
			s.Missing = []string{"bundle"}
		default:
			if n := c.taken.Sub(b.Changed); n < helperTime && !b.Changed.IsZero() {
				s.Sure = Likely // containerd may be about to start the shim
			}
			s.Missing = []string{"shim"}
			if c.Complete {
				s.Missing = []string{"task", "shim"}
			}
		}
		kind := ""
		if b.Work {
			kind = "work-directory"
		}
		if at == "there" {
			at = "" // the catalogue has no such fact for a plain bundle
		}
		s.Facts = facts("task", c.task(k), "bundle", at, "shim", none, "kind", kind)
		out = append(out, s)
	}
	return out
}
