package journal

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// historiesName is the name of the file of histories in a sweep's folder: JSON lines,
// each a harness.Kept and compressed by itself. gzip and zcat take it for one file.
const historiesName = "histories.jsonl.gz"

// ErrNoHistories is the error for a journal of another build whose cases cannot be judged
// again.
var ErrNoHistories = errors.New("it was judged by another shimquake, and its histories are not there")

// pack compresses a history. Speed counts: it is a hundredth of what the case took.
func pack(k harness.Kept) ([]byte, error) {
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

// openHistories opens the file of histories for more. What a killed sweep has begun to
// write there, no result names.
func (j *Journal) openHistories(dir string) (err error) {
	j.histories, err = os.OpenFile(filepath.Join(dir, historiesName), os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		j.end, err = j.histories.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return fmt.Errorf("keep histories: %w", err)
	}
	return nil
}

// keep writes the history of a result, before the result names it.
func (j *Journal) keep(r *Result) error {
	if r.packed == nil {
		return nil
	}
	if _, err := j.histories.WriteAt(r.packed, j.end); err != nil {
		return fmt.Errorf("keep a history: %w", err)
	}
	r.History = Part{At: j.end, Len: int64(len(r.packed))}
	j.end += r.History.Len
	r.packed = nil
	return nil
}

// EachHistory calls visit with the history of each result of a sweep in dir, in the order
// of the journal.
func EachHistory(dir string, visit func(Result, harness.Kept) error) error {
	name := filepath.Join(dir, fileName)
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("no sweep in this folder: %w", err)
	}
	_, all, _, err := read(bytes.NewReader(text), name)
	if err != nil {
		return err
	}
	return eachHistory(dir, all, visit)
}

func eachHistory(dir string, all []Result, visit func(Result, harness.Kept) error) error {
	name := filepath.Join(dir, historiesName)
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w (%w)", dir, ErrNoHistories, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	for _, r := range all {
		k, err := unpack(f, fmt.Sprintf("%s, case %d", name, r.I), r.History)
		if err == nil {
			err = visit(r, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostUnpacked is how long a history may be, in bytes: a file that says it is longer is
// no history.
const mostUnpacked = 64 << 20

func unpack(f io.ReaderAt, name string, at Part) (k harness.Kept, err error) {
	if at.Len <= 0 || at.At < 0 {
		return k, fmt.Errorf("%s: %w", name, ErrNoHistories)
	}
	r, err := gzip.NewReader(io.NewSectionReader(f, at.At, at.Len))
	if err != nil {
		return k, fmt.Errorf("%s: no history is there: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostUnpacked))
	if err != nil {
		return k, fmt.Errorf("%s: the history is cut off: %w", name, err)
	}
	return harness.DecodeKept(name, text)
}

// judgedHere are the results as this build judges them: those of another build are judged
// again.
func judgedHere(dir string, h Head, all []Result) ([]Result, error) {
	self, err := BuildID()
	if err != nil || h.Build == self || len(all) == 0 {
		return all, err
	}
	again := make([]Result, 0, len(all))
	err = eachHistory(dir, all, func(was Result, k harness.Kept) error {
		r, err := ResultOf(was.I, judge.Judge(k.History))
		r.Tries, r.Evidence, r.History = was.Tries, was.Evidence, was.History
		again = append(again, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s was run by %s: %w; report it with that one, or begin again in another folder (--out)",
			dir, h.Build, err)
	}
	return again, nil
}
