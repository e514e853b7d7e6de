package client

import (
	"os"
	"strings"

	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/harness"
)

// ShimLog is where a shim itself writes the outputs of a task or of an exec.
type ShimLog struct {
	To     harness.Log
	Path   string // of the file, or what the logger's files begin with
	Logger string // its program
}

// earlier is what is in a file before.
const earlier = "a line of an earlier life\n"

// Create makes it.
func (l *ShimLog) Create(id string) (cio.IO, error) {
	if l.To == harness.LogBinary {
		return cio.BinaryIO(l.Logger, map[string]string{"log": l.Path})(id)
	}
	if err := os.WriteFile(l.Path, []byte(earlier), 0o644); err != nil {
		return nil, err
	}
	return cio.LogFile(l.Path)(id)
}

// Outputs are what was written, by a time at which what is logged is deleted.
func (l *ShimLog) Outputs() harness.Outputs {
	if l.To == harness.LogBinary {
		as, err := os.ReadFile(l.Path + ".done")
		all := ReadLines(textOf(l.Path+".out"), textOf(l.Path+".err"))
		all.LoggerRuns, all.LoggedAs = err != nil, string(as)
		return all
	}
	text, kept := strings.CutPrefix(textOf(l.Path), earlier)
	var stdout, stderr strings.Builder
	for line := range strings.Lines(text) {
		if _, _, ok := parseLine(line, ofStderr); ok {
			stderr.WriteString(line)
		} else {
			stdout.WriteString(line)
		}
	}
	all := ReadLines(stdout.String(), stderr.String())
	all.Overwritten = !kept
	return all
}

// textOf is what is in a file; "" where there is none.
func textOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "" // what is missing is the judge's business
	}
	return string(text)
}
