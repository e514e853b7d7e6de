package client

import (
	"strings"

	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// ShimLog is where a shim itself writes the outputs of a task or of an exec.
type ShimLog struct {
	To     harness.Log
	Dir    *foreign.Dir
	Name   string // of the file, or what the names of the logger's files begin with
	Logger string // its program
}

// earlier is what is in a file before.
const earlier = "a line of an earlier life\n"

// Create makes it.
func (l *ShimLog) Create(id string) (cio.IO, error) {
	if l.To == harness.LogBinary {
		return cio.BinaryIO(l.Logger, map[string]string{"log": l.Dir.Path(l.Name)})(id)
	}
	if err := l.Dir.Write(l.Name, []byte(earlier), 0o644); err != nil {
		return nil, err
	}
	return cio.LogFile(l.Dir.Path(l.Name))(id)
}

// Outputs are what was written, by a time at which what is logged is deleted.
func (l *ShimLog) Outputs() harness.Outputs {
	if l.To == harness.LogBinary {
		as, err := l.Dir.Read(l.Name+".done", mostOutput)
		all := ReadLines(l.textOf(".out"), l.textOf(".err"))
		all.LoggerRuns, all.LoggedAs = err != nil, string(as)
		return all
	}
	text, kept := strings.CutPrefix(l.textOf(""), earlier)
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

// mostOutput is how long a file may be to which a process of a world writes, in bytes. A
// payload writes some KiB.
const mostOutput = 64 << 20

// textOf returns the content of a file with a suffix; "" where there is none.
func (l *ShimLog) textOf(suffix string) string {
	text, err := l.Dir.Read(l.Name+suffix, mostOutput)
	if err != nil {
		return "" // what is missing is the judge's business
	}
	return string(text)
}
