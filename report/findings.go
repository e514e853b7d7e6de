package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/foreign"
)

// Finding is a cluster of a results.jsonl that somebody must look at: new, known in more
// cases than are known, or gone.
type Finding struct {
	// Key names it from one night to the next.
	Key   string
	State State
	Title string
	Says  []string
	Cases int
	// Version is the containerd of its simplest case, Replay the command that runs that one
	// wherever it is typed. Both are "" of what has no case.
	Version, Replay string
	// Evidence of the first of its cases that has some, relative to the file.
	Evidence string
}

// ErrCutOff is the error for a results.jsonl without its last line: who wrote it was
// killed, and what it lacks is not known.
var ErrCutOff = errors.New("it was cut off: whatever wrote it has not come to its end")

// mostResults is how long a results.jsonl may be, in bytes. A case has some KiB.
const mostResults = 4 << 30

// Findings reads the findings of a results.jsonl.
func Findings(file string) ([]Finding, error) {
	f, err := foreign.Open(file, mostResults)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	all, err := findings(f)
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, err)
	}
	return all, errors.Join(err, f.Close())
}

// The most that a line of results may have: one of a cluster names all its cases.
const (
	mostLine   = 64 << 20 // bytes
	mostValues = 1_000_000
)

func findings(from io.Reader) ([]Finding, error) {
	r := bufio.NewReader(from)
	cases := map[string]resultsCase{}
	var all []Finding
	for n := 1; ; n++ {
		line, err := foreign.ReadLine(r, mostLine)
		if errors.Is(err, io.EOF) {
			return nil, ErrCutOff
		}
		if err != nil {
			return nil, err
		}
		if err := foreign.CheckJSON("the line", line, mostValues); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		kind, err := kindOf(line, n)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch kind {
		case "case":
			var c resultsCase
			err = json.Unmarshal(line, &c)
			cases[c.ID] = resultsCase{Version: c.Version, Replay: c.Replay, Evidence: c.Evidence} // there may be thousands
		case "cluster":
			var c resultsCluster
			if err = json.Unmarshal(line, &c); err == nil && c.matters() {
				all = append(all, c.finding(cases))
			}
		case "end":
			return all, onlyOne(r)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// kindOf is the type of a line; the first must be a head that this program understands.
func kindOf(line []byte, n int) (string, error) {
	var l struct {
		Type, Shimquake string
		Format          int
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return "", fmt.Errorf("no results of shimquake: %w", err)
	}
	switch {
	case n == 1 && (l.Type != "head" || l.Shimquake != "results"):
		return "", errors.New("no results of shimquake: the first line is no head")
	case n == 1 && l.Format != ResultsFormat:
		return "", fmt.Errorf("its format is %d, and this shimquake reads %d", l.Format, ResultsFormat)
	}
	return l.Type, nil
}

// onlyOne refuses what stands behind the end.
func onlyOne(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, 1))
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		err = errors.New("something stands behind its end")
	}
	return err
}

func (c resultsCluster) matters() bool { return c.State == New || c.State == More || c.State == Gone }

func (c resultsCluster) finding(cases map[string]resultsCase) Finding {
	f := Finding{Key: c.Key, State: c.State, Title: c.Title, Says: c.Says, Cases: len(c.Cases)}
	for n, id := range c.Cases {
		if n == 0 {
			f.Version, f.Replay = cases[id].Version, cases[id].Replay
		}
		if e := cases[id].Evidence; e != "" {
			f.Evidence = e
			break
		}
	}
	if f.Replay == "" {
		f.Replay = c.Replay
	}
	return f
}
