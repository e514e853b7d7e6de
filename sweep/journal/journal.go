// Package journal keeps the results of runs. A journal is a file of JSON lines. The first
// one is a Head. Then follows a Result for each case and for each further run, in the
// order in which they ended. The runs may be on several containerds. Other lines
// add cases to the plan. A killed sweep continues its journal. The journals of a plan's
// shards can be merged.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/lines"
	"github.com/shimquake/shimquake/sweep/plan"
)

// fileName is the journal's name in a sweep's folder.
const fileName = "journal.jsonl"

// Head is a journal's first record.
type Head struct {
	Plan  plan.Plan  `json:"plan"`
	Shard plan.Shard `json:"shard"`
	// Functions are the functions with probes, sorted, if the sweep records which ones each
	// case reaches.
	Functions []string `json:"functions,omitempty"`
	// Other is the containerd with which the plan's is compared; nil: a sweep.
	Other *Other `json:"other,omitempty"`
	// Random is set if the faults of the cases were drawn. A fault that is not reached is
	// then normal.
	Random bool `json:"random,omitempty"`
	// Matrix is set if the cases belong to the catalogue's bugs, and each result is on a
	// release.
	Matrix bool `json:"matrix,omitempty"`
	// Build identifies the shimquake that ran the sweep: see [BuildID]. Create sets it.
	Build string `json:"build"`
}

// Other is the second containerd of a comparison.
type Other struct {
	// Containerd is its name, as the user wrote it, and Subject the digest of its binaries.
	Containerd string `json:"containerd"`
	Subject    string `json:"subject"`
	// Cases are the cases that run on it, sorted. The plan's first Shared cases run on its
	// own containerd, too. Sampled is how many cases were drawn with Seed.
	Cases   []int  `json:"cases"`
	Shared  int    `json:"shared"`
	Sampled int    `json:"sampled"`
	Seed    uint64 `json:"seed"`
	// Functions with probes differ, and so do Unwoven functions without.
	Functions []string `json:"functions,omitempty"`
	Unwoven   []string `json:"unwoven,omitempty"`
}

// Mark returns the Met of a run that reached these functions.
func (h *Head) Mark(reached []string) []byte {
	if len(h.Functions) == 0 {
		return nil
	}
	met := make([]byte, (len(h.Functions)+7)/8)
	for _, name := range reached {
		if i, ok := slices.BinarySearch(h.Functions, name); ok {
			met[i/8] |= 1 << (i % 8)
		}
	}
	return met
}

// Reached reports whether the run of a result reached a function.
func (h Head) Reached(r Result, function string) bool {
	i, ok := slices.BinarySearch(h.Functions, function)
	return ok && i/8 < len(r.Met) && r.Met[i/8]&(1<<(i%8)) != 0
}

// CheckSweep returns an error if the journal in dir is not one of a sweep.
func (h Head) CheckSweep(dir string) error {
	if h.Matrix {
		return fmt.Errorf("%s has a matrix, and no sweep: name it alone, in shimquake matrix or shimquake report", dir)
	}
	if h.Other != nil {
		return fmt.Errorf("%s has a comparison, and no sweep: its report is shimquake compare merge %s", dir, dir)
	}
	return nil
}

// Planned returns the number of the shard's cases that run on the plan's containerd, or
// on the other one of a comparison.
func (h Head) Planned() (n int) {
	if h.Other == nil {
		return h.Shard.Count(len(h.Plan.Specs))
	}
	for _, i := range h.Other.Cases {
		if h.Shard.Has(i) {
			n++
		}
	}
	return n
}

// Done returns how many of them have a result.
func (h Head) Done(results []Result) int {
	if h.Other == nil {
		return len(Own(results))
	}
	done := map[int]bool{}
	for _, r := range results {
		done[r.I] = done[r.I] || r.On == h.Other.Containerd
	}
	maps.DeleteFunc(done, func(_ int, is bool) bool { return !is })
	return len(done)
}

// Journal is an open journal. Records survive a SIGKILL, because each is one write.
type Journal struct {
	file      *lines.File
	histories *harness.Histories
	mu        sync.Mutex // of both
}

// Create begins the journal of a sweep in dir. If dir has a journal, Create returns
// os.ErrExist.
func Create(dir string, h Head) (*Journal, error) {
	if err := h.Shard.Check(h.Plan); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("begin the journal: %w", err)
	}
	name := filepath.Join(dir, fileName)
	f, err := lines.Open(name, os.O_CREATE|os.O_EXCL)
	if errors.Is(err, os.ErrExist) {
		return nil, inUse(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("begin the journal: %w", err)
	}
	j := &Journal{file: f}
	if err = j.openHistories(dir, nil); err == nil {
		h.Build, err = BuildID()
	}
	if err == nil {
		err = j.write(h)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Has reports whether a sweep has begun in dir.
func Has(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, fileName))
	return err == nil
}

// CheckUnused returns os.ErrExist if a sweep has begun in dir. A new sweep calls it
// before its traces, because they take minutes.
func CheckUnused(dir string) error {
	if Has(dir) {
		return inUse(dir)
	}
	return nil // Create reports other errors
}

func inUse(dir string) error {
	return fmt.Errorf("%s has a sweep already: continue it (--resume %s), or choose another folder (--out): %w",
		dir, dir, os.ErrExist)
}

// Add appends a result with its history, and sets the place of the history in it.
// Several goroutines may call it.
func (j *Journal) Add(r *Result) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.keep(r); err != nil {
		return err
	}
	return j.write(*r)
}

// AddCase appends a case to the plan, as Add does.
func (j *Journal) AddCase(s plan.Spec) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(added{Spec: &s})
}

// added is the record of a case that the plan did not have when the sweep began.
type added struct {
	Spec *plan.Spec `json:"spec,omitempty"`
}

func (j *Journal) write(record any) error {
	if err := j.file.Add(record); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close closes the files.
func (j *Journal) Close() error {
	err := j.file.Close()
	if j.histories != nil {
		err = errors.Join(err, j.histories.Close())
	}
	return err
}

// Read reads the journal of a sweep in dir. It ignores an incomplete last line. If
// another build made the journal, Read judges the histories again by this build's rules.
func Read(dir string) (Head, []Result, error) {
	h, all, err := readFile(dir)
	if err == nil {
		all, err = judgedHere(dir, h, all)
	}
	return h, all, err
}

// maxJournal is the largest size of a journal, in bytes. A result takes some 500 bytes.
const maxJournal = 1 << 30

// readFile reads the journal in dir, and judges nothing again.
func readFile(dir string) (Head, []Result, error) {
	name := filepath.Join(dir, fileName)
	f, err := foreign.Open(name, maxJournal)
	if err != nil {
		return Head{}, nil, fmt.Errorf("no sweep in this folder: %w", err)
	}
	h, all, _, err := read(f, name)
	return h, all, errors.Join(err, f.Close())
}

// read returns a journal's head, its results, and the length of its complete lines in
// bytes.
func read(from io.Reader, name string) (h Head, all []Result, whole int64, err error) {
	r := reading{name: name, seen: map[int]bool{}}
	if whole, err = lines.Each(name, from, r.line); err == nil {
		err = r.end()
	}
	if err != nil {
		return r.head, nil, 0, err
	}
	return r.head, r.all, whole, nil
}

// reading is the state of reading a journal.
type reading struct {
	name string
	n    int
	head Head
	all  []Result
	seen map[int]bool
	// grown is set if the plan has cases that were added.
	grown bool
}

// line parses the n-th line.
func (r *reading) line(n int, line []byte) error {
	if r.n = n; n == 1 {
		return r.head.read(line, r.name+":1")
	}
	var record struct {
		added
		Result
	}
	err := decode(line, &record)
	res := record.Result
	switch {
	case err != nil:
	case record.Spec != nil:
		r.head.Plan.Specs, r.grown = append(r.head.Plan.Specs, *record.Spec), true
		return nil
	default:
		err = r.head.check(res, r.seen)
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w", r.name, n, err)
	}
	r.seen[res.I] = r.seen[res.I] || res.On == ""
	r.all = append(r.all, res)
	return nil
}

// end checks the plan with its added cases, and that the journal has a complete record.
func (r *reading) end() error {
	if r.n == 0 {
		return fmt.Errorf("%s: its plan is incomplete, because the sweep was killed: "+
			"run the sweep again in another folder (--out)", r.name)
	}
	if !r.grown {
		return nil
	}
	r.head.Plan = r.head.Plan.WithDigest()
	return r.head.Plan.Check(r.name)
}

// read parses the first line.
func (h *Head) read(line []byte, place string) error {
	var raw struct{ Plan json.RawMessage }
	if err := json.Unmarshal(line, &raw); err != nil || raw.Plan == nil {
		return fmt.Errorf("%s: this is no journal of a sweep", place)
	}
	if err := plan.CheckFormat(place, raw.Plan); err != nil {
		return err
	}
	if err := decode(line, h); err != nil {
		return fmt.Errorf("%s: this is no journal of a sweep: %w", place, err)
	}
	if _, err := plan.ParseShard(h.Shard.String()); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	if err := h.Plan.Check(place); err != nil {
		return err
	}
	if err := h.Shard.Check(h.Plan); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

// check returns an error if a result cannot follow the earlier ones.
func (h Head) check(res Result, seen map[int]bool) error {
	if !slices.Contains([]harness.Outcome{harness.Held, harness.Violated, harness.Invalid}, res.Outcome) {
		return fmt.Errorf("%q is no verdict", res.Outcome)
	}
	if res.I < 0 || res.I >= len(h.Plan.Specs) || !h.Shard.Has(res.I) || res.On == "" && seen[res.I] {
		return fmt.Errorf("case %d does not belong to this shard (%s of %d cases), or is repeated",
			res.I, h.Shard, len(h.Plan.Specs))
	}
	return nil
}

func decode(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
