package audit

import (
	"fmt"
	"path"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// directoryKind is a bundle, or a work directory.
var directoryKind = kind{
	class: finding.ClassBundle,
	read: func(w *viewing) error {
		for _, dir := range w.dirs {
			err := scan.EachBundle(w.tree, dir.state, dir.root, func(b scan.Bundle) {
				changed, isThere := w.changed(b.Path, Key{b.Namespace, b.ID})
				if isThere && scan.IsName(b.Namespace) && scan.IsName(b.ID) {
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
		if s.Facts[fact.Task] == fact.NotAsked {
			return "start containerd, which removes bundles without a shim"
		}
		return fmt.Sprintf("if `ctr -n %s task ls` does not show it: umount %s where it is mounted, then remove the"+
			" directory", s.Namespace, path.Join(s.Path, "rootfs"))
	},
}

// bundles returns the bundles without a shim, the partly removed bundles, and the work
// directories without a bundle.
func (c *comparison) bundles() {
	for _, b := range c.Bundles {
		k := Key{b.Namespace, b.ID}
		isServed := c.Blind || // an unread process may be its shim
			c.shimOf[k] != nil || c.helped[k] || b.Address != "" && c.byAddress[socketKey(b.Address)] != nil
		isOfBundle := b.Work && c.bundleOf[k] != nil // it is reported with its bundle
		if !b.Hidden && (isServed || isOfBundle || c.has(k)) {
			continue
		}
		fs := fact.Facts{fact.Task: c.task(k), fact.Shim: fact.None}
		switch {
		case b.Hidden:
			fs[fact.Bundle] = fact.Hidden
		case b.Work:
			fs[fact.Bundle], fs[fact.Kind] = fact.Gone, fact.AWorkDir
		}
		s := c.suspect(k, fs)
		s.Path, s.Changed = b.Path, b.Changed
		if b.Hidden { // containerd ignores a name that begins with a dot
			s.Sure, s.Missing = Certain, []string{"end of its removal"}
		} else if !b.Work && !b.Changed.IsZero() && c.taken.Sub(b.Changed) < helperTime {
			s.Sure = Likely // containerd may be about to start the shim
		}
	}
}
