package compare

import (
	"path"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
)

func (d diff) fifos() (out []finding.Finding) {
	for _, p := range fresh(d.before.FIFOs, d.after.FIFOs, func(p string) string { return p }) {
		out = append(out, finding.Finding{Invariant: finding.Leak, Class: finding.ClassFIFO,
			Subject: finding.Subject{ID: fifoOwner(p), Path: p}})
	}
	return out
}

// fifoOwner returns the container id in a pipe's name, such as ID-stdout (pkg/cio of
// containerd).
func fifoOwner(name string) string {
	id, stream, ok := cutLast(path.Base(name), "-")
	if !ok || !strings.HasPrefix(stream, "std") {
		return ""
	}
	return id
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
