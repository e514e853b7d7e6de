package foreign

import (
	"errors"
	"io"
	"os"
	"strings"
)

// OpenTyped opens a file that the operator named, for reading. Links are followed,
// because the operator means their targets, and so are hard links. All else is as in
// [Dir.Open].
//
// A pipe that the operator's shell has opened for this process has no limit, as standard
// input has none: <(zcat FILE) is /dev/fd/63.
func OpenTyped(path string, most int64) (io.ReadCloser, error) {
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if path == "/dev/stdin" || strings.HasPrefix(path, dir) {
			return os.Open(path)
		}
	}
	h, err := handleAt(path, 0)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.read(most)
}

// ReadTyped returns the content of a file that the operator named. More than most bytes
// are a [LimitError].
func ReadTyped(path string, most int64) ([]byte, error) {
	f, err := OpenTyped(path, most)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most { // of a pipe
		text, err = nil, &LimitError{Name: path, Most: most, Unit: Bytes}
	}
	return text, errors.Join(err, f.Close())
}
