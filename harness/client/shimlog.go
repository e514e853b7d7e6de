package client

import (
	"strings"

	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// ShimLog is a file or logger to which the shim itself writes the outputs of a task or of
// an exec.
type ShimLog struct {
	To     harness.LogTarget
	Dir    *foreign.Dir
	Name   string // of the file, or the prefix of the logger's files
	Logger string // its program
}

// earlier is the content of a log file before the shim opens it.
const earlier = "a line of an earlier life\n"

// Create creates the file, or names the logger to the shim.
func (l *ShimLog) Create(id string) (cio.IO, error) {
	if l.To == harness.LogBinary {
		return cio.BinaryIO(l.Logger, map[string]string{"log": l.Dir.Path(l.Name)})(id)
	}
	if err := l.Dir.Write(l.Name, []byte(earlier), 0o644); err != nil {
		return nil, err
	}
	return cio.LogFile(l.Dir.Path(l.Name))(id)
}

// Outputs returns the output in the file, or in the logger's files. The logged process
// must have been deleted.
func (l *ShimLog) Outputs() harness.Outputs {
	if l.To == harness.LogBinary {
		as, err := l.Dir.Read(l.Name+".done", MaxOutput)
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

// MaxOutput is the size limit of a file that a payload or a logger writes, in bytes.
// They write some KiB.
const MaxOutput = 64 << 20

// textOf returns the content of the file with a suffix, or "" if there is none.
func (l *ShimLog) textOf(suffix string) string {
	text, err := l.Dir.Read(l.Name+suffix, MaxOutput)
	if err != nil {
		return "" // the judge reports missing output
	}
	return string(text)
}
