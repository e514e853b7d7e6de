package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// HTMLFile is the name of the page in a report's folder.
const HTMLFile = "report.html"

// Write writes report.html into a folder.
func Write(dir string, d Data) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	h := NewHTML(d)
	for c, err := range d.Cases {
		if err == nil {
			err = h.Add(c)
		}
		if err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, HTMLFile))
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	_, err = h.WriteTo(f)
	return errors.Join(err, f.Close())
}
