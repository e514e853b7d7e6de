package inventory

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/shimquake/shimquake/oracle/scan"
)

// fifoDepth is how deep FIFOs are searched. CRI's FIFOs are at
// sandboxes/ID/io/NUMBER/NAME, 3 levels below a listed directory.
const fifoDepth = 6

// fifos lists the named pipes in the scene's directories of FIFOs and of CRI. The `log`
// pipe of a bundle is not among them, because it is part of the bundle.
func fifos(t *scan.Tree, s Scene) (out []string, err error) {
	dirs := slices.Clone(s.FIFODirs)
	for _, parent := range scan.CRIParents {
		dirs = append(dirs, path.Join(s.State, parent))
	}
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		entries, err := t.List(dir)
		if err != nil {
			return fmt.Errorf("list FIFOs: %w", err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.Type()&fs.ModeNamedPipe != 0:
				out = append(out, name)
			case e.IsDir() && depth < fifoDepth:
				if err := walk(name, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, dir := range dirs {
		if err := walk(dir, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}
