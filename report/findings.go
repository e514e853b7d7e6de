package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/foreign"
)

// Finding is a cluster of a results.jsonl that needs attention: its state is new, more or
// gone.
type Finding struct {
	// Key identifies the cluster in the reports of several nights.
	Key   string
	State State
	Title string
	Says  []string
	Cases int
	// Version is the version of containerd in the cluster's simplest case. Replay is the
	// command that runs this case in any folder. Both are "" if the cluster has no case.
	Version, Replay string
	// Evidence is the evidence folder of the first case that has one, relative to the
	// file.
	Evidence string
}

// ErrCutOff is the error for a results.jsonl without its last line. Its writer was
// killed, so the file may lack findings.
var ErrCutOff = errors.New("the file is cut off: the program that wrote it did not finish")

// maxResults limits the size of a results.jsonl, in bytes. A case takes a few KiB.
const maxResults = 4 << 30

// Findings reads the findings of a results.jsonl.
func Findings(file string) ([]Finding, error) {
	f, err := foreign.Open(file, maxResults)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	all, err := findings(f)
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, err)
	}
	return all, errors.Join(err, f.Close())
}

// The limits of a line of results. The lines of clusters are the longest, because they
// name all their cases.
const (
	maxLine   = 64 << 20 // bytes
	maxValues = 1_000_000
)

func findings(from io.Reader) ([]Finding, error) {
	r := bufio.NewReader(from)
	cases := map[string]resultsCase{}
	var all []Finding
	for n := 1; ; n++ {
		line, err := foreign.ReadLine(r, maxLine)
		if errors.Is(err, io.EOF) {
			return nil, ErrCutOff
		}
		if err == nil {
			err = foreign.CheckJSON("the line", line, maxValues)
		}
		kind := ""
		if err == nil {
			kind, err = kindOf(line, n)
		}
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

// kindOf returns the type of a line. The first line must be a head with the format of
// this build.
func kindOf(line []byte, n int) (string, error) {
	var l struct {
		Type, Shimquake string
		Format          int
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return "", fmt.Errorf("not a file of results: %w", err)
	}
	switch {
	case n == 1 && (l.Type != "head" || l.Shimquake != "results"):
		return "", errors.New("not a file of results: the first line is not the head of a results.jsonl")
	case n == 1 && l.Format != ResultsFormat:
		return "", fmt.Errorf("the file has format %d, but this shimquake reads format %d: "+
			"write the report again with this shimquake", l.Format, ResultsFormat)
	}
	return l.Type, nil
}

// onlyOne returns an error if the file has content after its last record.
func onlyOne(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, 1))
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		err = errors.New("there is content after the last record (type \"end\")")
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
	f.Replay = cmp.Or(f.Replay, c.Replay)
	return f
}
