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
	name = path.Base(name)
	at := strings.LastIndexByte(name, '-')
	if at < 0 || !strings.HasPrefix(name[at+1:], "std") {
		return ""
	}
	return name[:at]
}
