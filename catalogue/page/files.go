package page

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
)

// Matrix is the page that `shimquake matrix --markdown` writes after a real run. [Files]
// does not return it, because the catalogue has no results of runs.
const Matrix = Dir + "/matrix.md"

// Files returns the texts of all generated pages, and of README with its table of bugs.
// Their keys are paths below root, the folder of the checkout.
func Files(root string) (map[string]string, error) {
	bugs := catalogue.BySeverity()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{Dir + "/README.md": Index(bugs)}
	if out["README.md"], err = Readme(string(readme), bugs); err != nil {
		return nil, err
	}
	for _, b := range bugs {
		out[Dir+"/"+b.ID+".md"] = Markdown(b)
	}
	return out, nil
}

// Stale returns the pages that differ from [Files], and the files in [Dir] of no bug.
func Stale(root string) (stale []string, err error) {
	want, err := Files(root)
	if err != nil {
		return nil, err
	}
	for name, text := range want {
		if have, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(have) != text {
			stale = append(stale, name)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, Dir, "*"))
	for _, name := range there {
		rel, _ := filepath.Rel(root, name)
		if _, ok := want[rel]; !ok && rel != Matrix {
			stale = append(stale, rel)
		}
	}
	slices.Sort(stale)
	return stale, err
}

// Write writes all stale pages, and removes the files in [Dir] of no bug.
func Write(root string) error {
	want, err := Files(root)
	if err != nil {
		return err
	}
	stale, err := Stale(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o755); err != nil {
		return err
	}
	for _, name := range stale {
		text, ok := want[name]
		if !ok {
			err = os.Remove(filepath.Join(root, name))
		} else {
			err = os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
