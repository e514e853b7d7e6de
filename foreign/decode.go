package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Values is the unit of a JSON text. Each value may take a hundred times its bytes when
// it is decoded.
const Values Unit = "values"

// Reader reads at most so many bytes of a stream that has no size: standard input, or the
// content of a compressed file. More bytes are a [LimitError].
type Reader struct {
	from       io.Reader
	name       string
	most, left int64
}

// NewReader returns a Reader of at most so many bytes. Its errors call the stream by the
// name.
func NewReader(name string, from io.Reader, most int64) *Reader {
	return &Reader{from: from, name: name, most: most, left: most}
}

// ResetLimit grants the limit anew, for the next of several texts in the stream.
func (r *Reader) ResetLimit() { r.left = r.most }

// Read reads the next bytes.
func (r *Reader) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left+1 { // one byte more shows that it is too long
		p = p[:r.left+1]
	}
	n, err := r.from.Read(p)
	if int64(n) > r.left {
		n, err = int(r.left), &LimitError{Name: r.name, Most: r.most, Unit: Bytes}
	}
	r.left -= int64(n)
	return n, err
}

// ReadLine reads a line with its line end, or up to io.EOF. A longer line is a
// [LimitError].
func ReadLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, &LimitError{Name: "the line", Most: int64(most), Unit: Bytes}
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// CheckJSON returns a [LimitError] if a JSON text has more than most values in its lists
// and objects. It is called before the text is decoded, and counts commas, also those in
// strings.
func CheckJSON(name string, text []byte, most int) error {
	if bytes.Count(text, []byte(",")) >= most {
		return &LimitError{Name: name, Most: int64(most), Unit: Values}
	}
	return nil
}
