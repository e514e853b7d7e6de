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

// MostHistories is how long a file of histories may be, in bytes. Each history is read by
// itself; that of a case has some 10 KiB there.
const MostHistories = 64 << 30

// HistoriesFile is the name of a file of histories: JSON lines, each a Kept and
// compressed by itself. gzip and zcat take it for one file.
const HistoriesFile = "histories.jsonl.gz"

// ErrNoHistory says that no history is kept where one is looked for.
var ErrNoHistory = errors.New("no history is there")

// Part is a part of a file, in bytes.
type Part struct {
	At  int64 `json:"at"`
	Len int64 `json:"len"`
}

// End is where what comes after it begins.
func (p Part) End() int64 { return p.At + p.Len }

// Histories is a file of histories to which more are added, also by several goroutines.
type Histories struct {
	mu   sync.Mutex
	file *os.File
	end  int64
}

// OpenHistories opens a file of histories for more, and makes it where there is none.
// Who goes on with a file cuts it first.
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

// Cut cuts off what stands behind the last history that a journal names: a killed program
// may have torn it, and no more could be read of the whole file than up to there.
func (h *Histories) Cut(end int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end > h.end {
		return nil // it is cut off already: whoever looks for what is missing says so
	}
	if err := h.file.Truncate(end); err != nil {
		return fmt.Errorf("cut what is torn off the histories: %w", err)
	}
	h.end = end
	return nil
}

// Add writes a packed history, and says where it stands.
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

// Keep writes the history of a verdict, and says where it stands.
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

// Name is the file's.
func (h *Histories) Name() string { return h.file.Name() }

// Close closes the file.
func (h *Histories) Close() error { return h.file.Close() }

// Pack compresses a history. Speed counts: it is a hundredth of what the case took.
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

// MostHistory is how long a history may be, in bytes: a file that says it is longer is no
// history.
const MostHistory = 64 << 20

// Unpack reads one history of a file of histories; name is its name in errors.
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
