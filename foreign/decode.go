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

// CountEntries returns how many entries the lists of a valid JSON text have, by the key
// of the list. It decodes nothing.
func CountEntries(text []byte) map[string]int {
	counts := map[string]int{}
	var in [][]byte // the keys of the lists around a position; empty for an object
	var word []byte
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			begin := i + 1
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			word = text[begin:i]
		case '{':
			word = nil
			in = append(in, word)
		case '[':
			if text[i+1] != ']' {
				counts[string(word)]++
			}
			in = append(in, word)
		case ']', '}':
			in = in[:len(in)-1]
		case ',':
			if list := in[len(in)-1]; len(list) > 0 {
				counts[string(list)]++
			}
		}
	}
	return counts
}
