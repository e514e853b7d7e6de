package read

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/oracle/fact"
)

// From reads a report: a text, or an archive that `shimquake audit` has written (a
// bundle).
func From(in io.Reader) (Report, error) {
	b := bufio.NewReader(in)
	head, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return Report{}, fmt.Errorf("read the report: %w", err)
	}
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		r, err := fromBundle(b)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the bundle is cut off: copy the whole file (%w)", err)
		}
		return r, err
	}
	text, err := io.ReadAll(io.LimitReader(b, MaxBytes+1<<20))
	if err != nil {
		return Report{}, fmt.Errorf("read the report: %w", err)
	}
	r := Text(string(text))
	rest, err := io.Copy(io.Discard, io.LimitReader(b, maxCut))
	r.Cut += int(rest)
	return r, err
}

// Limits on the input, in bytes, and on the JSON values of the report. The unread part
// of an endless text is counted up to maxCut.
const (
	maxCut      = 1 << 30 // also of a bundle behind its report
	maxOfBundle = 64 << 20
	maxOfReport = 16 << 20
	maxValues   = 200_000
)

// fromBundle reads the report.json of an audit's bundle, and checks that the bundle is
// whole. Its suspects have the same facts as the findings of a run.
func fromBundle(in io.Reader) (Report, error) {
	zip, err := gzip.NewReader(in)
	if err != nil {
		return Report{}, fmt.Errorf("read the bundle: %w", err)
	}
	files := tar.NewReader(foreign.NewReader("the bundle", zip, maxOfBundle))
	for {
		head, err := files.Next()
		if err != nil {
			return Report{}, fmt.Errorf("not a bundle of shimquake audit: it has no report.json: %w", err)
		}
		if path.Base(head.Name) != "report.json" {
			continue
		}
		text, err := io.ReadAll(foreign.NewReader("report.json", files, maxOfReport))
		if err == nil {
			err = foreign.CheckJSON("report.json", text, maxValues)
		}
		var a audit.Report
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil {
			return Report{}, fmt.Errorf("read the bundle's report.json: %w", err)
		}
		if _, err := io.Copy(io.Discard, foreign.NewReader("the bundle", zip, maxCut)); err != nil {
			return Report{}, fmt.Errorf("read the bundle to its end: %w", err)
		}
		return OfAudit(a), nil
	}
}

// OfAudit returns the report of an audit, with one line for each suspect.
func OfAudit(a audit.Report) Report {
	r := &reader{index: map[string]int{}, voted: map[Client]int{}}
	r.done = make([]bool, len(a.Suspects)+1)
	for i, s := range a.Suspects {
		l := line{n: i + 1, text: string(s.Kind) + " " + s.ID + " " + s.Path}
		r.all, r.at = append(r.all, l), i
		what := kindOf(s.Kind)
		if what == "" {
			r.rest(l)
			continue
		}
		if s.Facts[fact.Bundle] == fact.Hidden {
			what = HiddenBundle
		}
		r.understand()
		r.see(Observation{What: what, Facts: s.Facts, Namespace: s.Namespace, ID: s.ID, PID: s.PID}, l)
		if s.Version != "" {
			r.version(s.Version, l, byOutput)
		}
		r.ofNamespace(s.Namespace)
	}
	r.close()
	return r.Report
}
