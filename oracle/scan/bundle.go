package scan

import (
	"fmt"
	"path"
	"strings"
)

// BundleParents are the directories with a directory NAMESPACE/ID for each shim, below
// containerd's state and root directory. They belong to the runtime plugin of all
// releases, to the sandbox controller since 1.7, and to runtime v1 before 2.0.
var BundleParents = []string{
	"io.containerd.runtime.v2.task",
	"io.containerd.sandbox.controller.v1.shim",
	"io.containerd.runtime.v1.linux",
}

// CRIParents are the directories with a directory for each pod or container of CRI, below
// containerd's state and root directory.
var CRIParents = []string{
	"io.containerd.grpc.v1.cri/sandboxes",
	"io.containerd.grpc.v1.cri/containers",
}

// Bundle is a directory NAMESPACE/ID of a shim: the bundle in the state directory, or the
// work directory in the root directory.
type Bundle struct {
	Path      string `json:"path"` // inside the scene
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	// Work marks the work directory, in containerd's root directory.
	Work bool `json:"work,omitempty"`
	// Hidden marks a bundle with the name `.ID`. containerd renames a bundle so before it
	// removes it, and ended in between.
	Hidden bool `json:"hidden,omitempty"`
	// Address is the shim's address from the files `address` (1.x) or `bootstrap.json`
	// (2.x); it is "" before the shim started.
	Address string `json:"address,omitempty"`
}

// Dir is a directory of CRI for one pod or container.
type Dir struct {
	Path string `json:"path"`
	ID   string `json:"id"`
}

// RuncState is runc's state directory of one container.
type RuncState struct {
	Path      string `json:"path"`
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// EachBundle calls visit for the bundles and their work directories. It leaves out an
// empty directory of a containerd namespace, which containerd creates once and keeps.
func EachBundle(t *Tree, state, root string, visit func(Bundle)) error {
	for _, top := range []struct {
		dir  string
		work bool
	}{{state, false}, {root, true}} {
		for _, parent := range BundleParents {
			err := pairs(t, path.Join(top.dir, parent), func(dir, namespace, id string) {
				b := Bundle{Path: dir, Namespace: namespace, ID: strings.TrimPrefix(id, "."), Work: top.work}
				b.Hidden = b.ID != id
				if !b.Work {
					b.Address = bundleAddress(t, dir)
				}
				if t.budget.Cut() == nil { // else the address may be missing
					visit(b)
				}
			})
			if err != nil {
				return fmt.Errorf("list bundles: %w", err)
			}
		}
	}
	return nil
}

// bundleAddress takes the address out of bootstrap.json without decoding the file,
// because a partly written file is evidence, too.
func bundleAddress(t *Tree, dir string) string {
	if text := strings.TrimSpace(t.Read(path.Join(dir, "address"))); text != "" {
		return text
	}
	_, text, ok := strings.Cut(t.Read(path.Join(dir, "bootstrap.json")), `"address":`)
	if !ok {
		return ""
	}
	text, _ = strings.CutPrefix(strings.TrimSpace(text), `"`)
	text, _, _ = strings.Cut(text, `"`)
	return text
}

// EachRuncState calls visit for runc's state directories of containers.
func EachRuncState(t *Tree, root string, visit func(RuncState)) error {
	err := pairs(t, root, func(dir, namespace, id string) {
		visit(RuncState{Path: dir, Namespace: namespace, ID: id})
	})
	if err != nil {
		return fmt.Errorf("list runc's state: %w", err)
	}
	return nil
}

// CRIDirs lists CRI's directories of pods and containers.
func CRIDirs(t *Tree, state, root string) ([]Dir, error) {
	var out []Dir
	for _, top := range []string{state, root} {
		for _, parent := range CRIParents {
			dir := path.Join(top, parent)
			entries, err := t.List(dir)
			if err != nil {
				return nil, fmt.Errorf("list CRI's directories: %w", err)
			}
			for _, e := range entries {
				out = append(out, Dir{Path: path.Join(dir, e.Name()), ID: e.Name()})
			}
		}
	}
	return out, nil
}

// pairs calls visit for every directory entry dir/NAMESPACE/ID, within the limits of the
// tree's Budget.
func pairs(t *Tree, dir string, visit func(path, namespace, id string)) error {
	namespaces, err := t.List(dir)
	if err != nil {
		return err
	}
	for _, ns := range namespaces {
		if err := t.budget.take(dir); err != nil {
			return err
		}
		if !ns.IsDir() {
			continue
		}
		of := path.Join(dir, ns.Name())
		ids, err := t.List(of)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.budget.take(of); err != nil {
				return err
			}
			visit(path.Join(of, id.Name()), ns.Name(), id.Name())
		}
	}
	return t.budget.Cut()
}
