package harness

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/shimquake/shimquake/foreign"
)

// MaxHistories is the size limit of a file of histories, in bytes. A compressed history
// takes some 10 KiB, and is read without the others.
const MaxHistories = 64 << 30

// HistoriesFile is the name of a file of histories. Each line is the JSON form of a Kept,
// and a gzip member of its own. zcat therefore prints the whole file.
const HistoriesFile = "histories.jsonl.gz"

// ErrNoHistory is the error if there is no history at a place in a file.
var ErrNoHistory = errors.New("there is no history at this place")

// Part is a range of bytes in a file: its offset and length.
type Part struct {
	At  int64 `json:"at"`
	Len int64 `json:"len"`
}

// End returns the offset after the part.
func (p Part) End() int64 { return p.At + p.Len }

// Histories is a file of histories. Several goroutines may add histories to it.
type Histories struct {
	mu   sync.Mutex
	file *os.File
	end  int64
}

// OpenHistories opens a file of histories for adding, or creates it. A resumed sweep must
// call Cut before it adds one.
func OpenHistories(name string) (h *Histories, err error) {
	h = &Histories{}
	h.file, err = foreign.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		h.end, err = h.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("open the file of histories: %w", err)
	}
	return h, nil
}

// Cut truncates the file at end: the end of the last history that the sweep's journal
// names. Behind it, a killed program may have left an incomplete history, at which a
// reader of the whole file would stop.
func (h *Histories) Cut(end int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end > h.end {
		return &InputError{File: h.Name(), Err: fmt.Errorf("the histories are incomplete: the file has %d bytes, "+
			"but the journal names histories up to byte %d", h.end, end)}
	}
	if err := h.file.Truncate(end); err != nil {
		return fmt.Errorf("remove an incomplete history from the end of the file: %w", err)
	}
	h.end = end
	return nil
}

// Add appends a history that Pack returned, and returns its place.
func (h *Histories) Add(packed []byte) (Part, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := Part{At: h.end, Len: int64(len(packed))}
	if _, err := h.file.WriteAt(packed, at.At); err != nil {
		return Part{}, fmt.Errorf("write a history: %w", err)
	}
	h.end += at.Len
	return at, nil
}

// Keep appends the history of a verdict, and returns its place.
func (h *Histories) Keep(v Verdict) (Part, error) {
	if v.History == nil {
		return Part{}, nil
	}
	packed, err := Kept{Verdict: v, History: *v.History}.Pack()
	if err != nil {
		return Part{}, err
	}
	return h.Add(packed)
}

// Name returns the file's name.
func (h *Histories) Name() string { return h.file.Name() }

// Close closes the file.
func (h *Histories) Close() error { return h.file.Close() }

// Pack returns the compressed JSON form. It uses the fastest compression, which takes a
// hundredth of the time of a case.
func (k Kept) Pack() ([]byte, error) {
	text, err := k.Encode()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress a history: %w", err)
	}
	return b.Bytes(), nil
}

// MaxHistory is the size limit of one uncompressed history, in bytes.
const MaxHistory = 64 << 20

// Unpack reads the history at a place in a file of histories. Its errors begin with name.
func Unpack(f io.ReaderAt, name string, at Part) (k Kept, err error) {
	if at.Len <= 0 || at.At < 0 {
		return k, fmt.Errorf("%s: %w", name, ErrNoHistory)
	}
	r, err := gzip.NewReader(io.NewSectionReader(f, at.At, at.Len))
	if err != nil {
		return k, fmt.Errorf("%s: %w: %w", name, ErrNoHistory, err)
	}
	text, err := io.ReadAll(foreign.NewReader("the history", r, MaxHistory))
	if long := (*foreign.LimitError)(nil); errors.As(err, &long) {
		return k, &InputError{File: name, Err: err}
	}
	if err != nil {
		return k, fmt.Errorf("%s: the history is incomplete: %w", name, err)
	}
	return DecodeKept(name, text)
}
