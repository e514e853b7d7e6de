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

// MostHistories limits the size of a file of histories, in bytes. Each history is read by
// itself, and has some 10 KiB there.
const MostHistories = 64 << 30

// HistoriesFile is the name of a file of histories: JSON lines, each a Kept and
// compressed by itself. gzip and zcat take it for one file.
const HistoriesFile = "histories.jsonl.gz"

// ErrNoHistory reports that a part of a file has no history.
var ErrNoHistory = errors.New("no history there")

// Part is a part of a file, in bytes.
type Part struct {
	At  int64 `json:"at"`
	Len int64 `json:"len"`
}

// End returns the offset after the part.
func (p Part) End() int64 { return p.At + p.Len }

// Histories is a file of histories to which goroutines add more.
type Histories struct {
	mu   sync.Mutex
	file *os.File
	end  int64
}

// OpenHistories opens a file of histories, or creates it, so that more can be added. A
// resumed sweep calls Cut first.
func OpenHistories(name string) (h *Histories, err error) {
	h = &Histories{}
	h.file, err = foreign.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		h.end, err = h.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("keep histories: %w", err)
	}
	return h, nil
}

// Cut truncates the file after the last history that a journal names. A killed program
// may have left a torn history there, and a reader of the whole file would stop at it.
func (h *Histories) Cut(end int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end > h.end {
		return nil // histories are missing; a reader of those reports it
	}
	if err := h.file.Truncate(end); err != nil {
		return fmt.Errorf("cut a torn history off: %w", err)
	}
	h.end = end
	return nil
}

// Add writes a packed history, and returns its place.
func (h *Histories) Add(packed []byte) (Part, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := Part{At: h.end, Len: int64(len(packed))}
	if _, err := h.file.WriteAt(packed, at.At); err != nil {
		return Part{}, fmt.Errorf("keep a history: %w", err)
	}
	h.end += at.Len
	return at, nil
}

// Keep writes the history of a verdict, and returns its place.
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

// Pack compresses a history. Speed matters: it takes a hundredth of the case's time.
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

// MostHistory limits the size of one history, in bytes.
const MostHistory = 64 << 20

// Unpack reads one history of a file of histories. Errors begin with name.
func Unpack(f io.ReaderAt, name string, at Part) (k Kept, err error) {
	if at.Len <= 0 || at.At < 0 {
		return k, fmt.Errorf("%s: %w", name, ErrNoHistory)
	}
	r, err := gzip.NewReader(io.NewSectionReader(f, at.At, at.Len))
	if err != nil {
		return k, fmt.Errorf("%s: %w: %w", name, ErrNoHistory, err)
	}
	text, err := io.ReadAll(foreign.NewReader("the history", r, MostHistory))
	if long := (*foreign.LimitError)(nil); errors.As(err, &long) {
		return k, &InputError{File: name, Err: err}
	}
	if err != nil {
		return k, fmt.Errorf("%s: the history is cut off: %w", name, err)
	}
	return DecodeKept(name, text)
}
