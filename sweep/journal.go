package sweep

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// journalFile is the journal's name in a sweep's folder: JSON lines, a Head and then a Result for each case, in the order of their ends.
const journalFile = "journal.jsonl"

// Head is a journal's first record.
type Head struct {
	Plan  Plan  `json:"plan"`
	Shard Shard `json:"shard"`
	// Judge is the shimquake that judges; see [Judge]. CreateJournal sets it.
	Judge string `json:"judge"`
}

// Result is what came of one case.
type Result struct {
	// I is the case's index in the plan.
	I       int             `json:"case"`
	Outcome harness.Outcome `json:"verdict"`
	// Why says why the verdict is invalid: the fault did not fire.
	Why string `json:"why,omitempty"`
	// Miss says so of a fault that came to nothing, where it is known.
	Miss harness.Miss `json:"miss,omitempty"`
	// Tries is how often the case ran until its fault fired; only those that are more than 1 are noted.
	Tries int `json:"tries,omitempty"`
	// Found is what violates.
	Found []oracle.Finding `json:"found,omitempty"`
	// Evidence is the folder with the evidence, of the first few of a kind.
	Evidence string `json:"evidence,omitempty"`
	Millis   int64  `json:"ms"`
}

// Journal is a journal that is being written. Records survive SIGKILL: each is one write.
type Journal struct {
	file  *os.File
	whole int64 // how many bytes of it are whole records
}

// CreateJournal begins the journal of a sweep in dir. One that is there already is not overwritten: os.ErrExist.
func CreateJournal(dir string, h Head) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("begin the journal: %w", err)
	}
	name := filepath.Join(dir, journalFile)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, holdsOne(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("begin the journal: %w", err)
	}
	j := &Journal{file: f}
	if err := j.own(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if h.Judge, err = Judge(); err == nil {
		err = j.write(h)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// Unused says whether a sweep may begin in dir, before its traces are made: os.ErrExist where one has.
func Unused(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, journalFile)); err == nil {
		return holdsOne(dir)
	}
	return nil // CreateJournal tells of what else is wrong with it
}

func holdsOne(dir string) error {
	return fmt.Errorf("%s holds a sweep already: go on with it (--resume %s), or take another folder (--out): %w", dir, dir, os.ErrExist)
}

// ResumeJournal opens a journal to go on with it, and returns what it holds. A last line that a killed sweep has torn is cut off. Another shimquake may judge
// otherwise and is refused: ErrOtherJudge.
func ResumeJournal(dir string) (*Journal, Head, []Result, error) {
	name := filepath.Join(dir, journalFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, Head{}, nil, fmt.Errorf("resume: %w", err)
	}
	j := &Journal{file: f}
	fail := func(err error) (*Journal, Head, []Result, error) {
		return nil, Head{}, nil, errors.Join(err, f.Close())
	}
	if err := j.own(); err != nil {
		return fail(err)
	}
	h, all, whole, err := readJournal(f, name)
	if err != nil {
		return fail(err)
	}
	self, err := Judge()
	if err != nil {
		return fail(err)
	}
	if h.Judge != self {
		return fail(fmt.Errorf("%s: %w: it was begun by %s, this is %s; go on with that one, or begin again in another folder (--out)", name, ErrOtherJudge,
			cmp.Or(h.Judge, "one that did not say which it is"), self))
	}
	if err := f.Truncate(whole); err != nil {
		return fail(fmt.Errorf("cut the torn line off: %w", err))
	}
	j.whole = whole
	return j, h, all, nil
}

// own makes sure that nobody else writes to the journal, as long as this process lives.
func (j *Journal) own() error {
	if err := unix.Flock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%s is being written by another sweep: %w", j.file.Name(), err)
	}
	return nil
}

// Add appends a result.
func (j *Journal) Add(r Result) error { return j.write(r) }

func (j *Journal) write(record any) error {
	line, err := json.Marshal(record)
	if err == nil {
		if _, err = j.file.Write(append(line, '\n')); err != nil { // a full disk: what it took of the record must not stand before the next
			err = errors.Join(err, j.file.Truncate(j.whole))
		}
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.whole += int64(len(line)) + 1
	return nil
}

// Close ends the writing.
func (j *Journal) Close() error { return j.file.Close() }

// ReadJournal reads the journal of a sweep in dir, without its last line if that is torn.
func ReadJournal(dir string) (Head, []Result, error) {
	name := filepath.Join(dir, journalFile)
	f, err := os.Open(name)
	if err != nil {
		return Head{}, nil, fmt.Errorf("no sweep in this folder: %w", err)
	}
	h, all, _, err := readJournal(f, name)
	return h, all, errors.Join(err, f.Close())
}

// readJournal returns a journal's head, its results, and how many bytes of it are whole lines.
func readJournal(from io.Reader, name string) (h Head, all []Result, whole int64, err error) {
	r := bufio.NewReader(from)
	seen := map[int]bool{}
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // without its end of line the last record is torn
			if n == 1 {
				return h, nil, 0, fmt.Errorf("%s: it ends before its plan does: begin again in another folder", name)
			}
			return h, all, whole, nil
		}
		if err != nil {
			return h, nil, 0, fmt.Errorf("read %s: %w", name, err)
		}
		whole += int64(len(line))
		if n == 1 {
			if err := decode(line, &h); err != nil {
				return h, nil, 0, fmt.Errorf("%s:1: no journal of a sweep: %w", name, err)
			}
			if err := h.Plan.check(name + ":1"); err != nil {
				return h, nil, 0, err
			}
			if _, err := ParseShard(h.Shard.String()); err != nil {
				return h, nil, 0, fmt.Errorf("%s:1: %w", name, err)
			}
			continue
		}
		var res Result
		if err := decode(line, &res); err != nil {
			return h, nil, 0, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if !slices.Contains([]harness.Outcome{harness.Held, harness.Violated, harness.Invalid}, res.Outcome) {
			return h, nil, 0, fmt.Errorf("%s:%d: %q is no verdict", name, n, res.Outcome)
		}
		if res.I < 0 || res.I >= len(h.Plan.Specs) || !h.Shard.Has(res.I) || seen[res.I] {
			return h, nil, 0, fmt.Errorf("%s:%d: case %d is not of this shard (%s of %d cases), or is there twice", name, n, res.I, h.Shard, len(h.Plan.Specs))
		}
		seen[res.I] = true
		all = append(all, res)
	}
}

func decode(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
