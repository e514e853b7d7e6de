package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// HTMLFile is the name of the page in a report's folder.
const HTMLFile = "report.html"

// Write writes a report into a folder: report.html, results.jsonl, junit.xml and
// summary.md.
func Write(dir string, d Data) error {
	w, err := Begin(dir, d)
	if err != nil {
		return err
	}
	for name, v := range d.Without {
		w.Without(name, v)
	}
	for c, err := range d.Cases {
		if err == nil {
			err = w.Add(c)
		}
		if err != nil {
			return errors.Join(err, w.close())
		}
	}
	return w.End()
}

// Writer writes a report of cases that come one after the other.
type Writer struct {
	dir     string
	data    Data
	html    *page
	results results
	file    *os.File
	junit   junit
	summary summary
	in      map[string][]Cluster // by the ids of cases
}

// Begin begins a report. Cases and Without of its data are not looked at.
func Begin(dir string, d Data) (*Writer, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	w := &Writer{dir: dir, data: d, html: newPage(d), in: map[string][]Cluster{}}
	for _, c := range d.Clusters {
		for _, id := range c.Cases {
			w.in[id] = append(w.in[id], c)
		}
	}
	if w.file, err = os.Create(filepath.Join(dir, ResultsFile)); err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	if w.results, err = newResults(w.file, d); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// Without adds a run without a fault, under the name that cases give it.
func (w *Writer) Without(name string, v harness.Verdict) {
	w.html.without[name] = NewTimeline(v, logOf(v))
}

// Add adds a case. Of one whose evidence lies in the report's folder the trace is written
// there.
func (w *Writer) Add(c Case) error {
	var ids, known []string
	for _, k := range w.in[c.ID] {
		ids = append(ids, k.ID)
		if k.State == Known {
			known = append(known, k.ID)
		}
	}
	if len(known) < len(ids) {
		known = nil
	}
	t := NewTimeline(c.Verdict, logOf(c.Verdict))
	if err := w.trace(c, t); err != nil {
		return err
	}
	c.Verdict.Evidence = w.relative(c.Verdict.Evidence)
	w.junit.add(c, known)
	w.summary.add(c)
	return errors.Join(w.results.add(c, ids), w.html.add(c, t))
}

// relative is a folder as seen from the report's own, so that both can be moved.
func (w *Writer) relative(dir string) string {
	if rel, ok := w.within(dir); ok {
		return rel
	}
	if abs, err := filepath.Abs(dir); err == nil && dir != "" { // a link from the report's folder, not from this one
		return abs
	}
	return dir
}

func (w *Writer) within(dir string) (string, bool) {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return dir, false
	}
	rel, err := filepath.Rel(w.dir, abs)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func (w *Writer) trace(c Case, t Timeline) error {
	if _, ours := w.within(c.Verdict.Evidence); !ours || len(t.Items) == 0 {
		return nil
	}
	return create(filepath.Join(c.Verdict.Evidence, TraceFile), func(to io.Writer) error {
		return WriteTrace(to, c.Verdict.Name, t)
	})
}

// End writes the rest.
func (w *Writer) End() error {
	n := w.html.counts
	err := errors.Join(w.results.end(w.data, n), w.close())
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{HTMLFile, w.html.write},
		{JUnitFile, func(to io.Writer) error { return w.junit.write(to, w.data) }},
		{SummaryFile, func(to io.Writer) error { return w.summary.write(to, w.data, n) }},
	} {
		err = errors.Join(err, create(filepath.Join(w.dir, f.name), f.write))
	}
	return err
}

func (w *Writer) close() error { return w.file.Close() }

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	b := bufio.NewWriter(f)
	return errors.Join(write(b), b.Flush(), f.Close())
}

// stamp is a time for other programs, and for the page.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// cloned is a timeline whose items may be marked.
func cloned(t Timeline) Timeline {
	t.Items = slices.Clone(t.Items)
	return t
}
