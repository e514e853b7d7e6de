package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// HTMLFile is the name of the page in a report's folder.
const HTMLFile = "report.html"

// Write writes the files of a report into a folder: report.html, results.jsonl, junit.xml
// and summary.md.
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

// Writer writes a report case by case.
type Writer struct {
	dir     string
	files   *foreign.Dir // in dir
	data    Data
	html    *page
	results results
	file    *os.File
	junit   junit
	summary summary
	in      map[string][]Cluster // by the ids of cases
}

// Begin begins a report. It ignores Cases and Without of the data: the caller adds these
// with Add and Without.
func Begin(dir string, d Data) (*Writer, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	files, err := foreign.MakeDir(dir, 0o755)
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	h := &page{data: d, without: map[string]Timeline{}, counts: map[harness.Outcome]int{}}
	w := &Writer{dir: dir, files: files, data: d, html: h, in: map[string][]Cluster{}}
	for _, c := range d.Clusters {
		for _, id := range c.Cases {
			w.in[id] = append(w.in[id], c)
		}
	}
	if w.file, err = onlyWriter(files); err != nil {
		return nil, errors.Join(fmt.Errorf("write a report: %w", err), files.Close())
	}
	if w.results, err = newResults(w.file, d); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// errInUse is the error if another process writes a report to the folder.
var errInUse = errors.New(
	"another shimquake is writing a report to this folder: wait until it ends, or use another folder (--out)")

// onlyWriter opens an empty results.jsonl, and locks it against other writers.
func onlyWriter(files *foreign.Dir) (*os.File, error) {
	f, err := files.OpenFile(ResultsFile, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = foreign.Lock(f)
	if errors.Is(err, foreign.ErrInUse) {
		err = fmt.Errorf("%s: %w", files.Name(), errInUse)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Without adds a run without a fault, under the name that the cases have in Case.Without.
func (w *Writer) Without(name string, v harness.Verdict) {
	w.html.without[name] = NewTimeline(v, logOf(v))
}

// Add adds a case.
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
	c.Verdict.Evidence = w.relative(c.Verdict.Evidence)
	w.junit.add(c, known)
	w.summary.add(c)
	return errors.Join(w.results.add(c, ids), w.html.add(c, t))
}

// relative returns a folder's path relative to the report's folder, so that the link
// still works after both were moved together.
func (w *Writer) relative(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return dir
	}
	rel, err := filepath.Rel(w.dir, abs)
	if err == nil && (isBelow(w.dir, abs) || w.data.Evidence != "" && isBelow(w.data.Evidence, abs)) {
		return rel
	}
	return abs // links start in the report's folder
}

// isBelow reports whether an absolute path is the folder dir, or is below it.
func isBelow(dir, abs string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, abs)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// End writes the clusters and the other files, and closes the report.
func (w *Writer) End() error {
	n := w.html.counts
	err := w.results.end(w.data, n)
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{HTMLFile, w.html.write},
		{JUnitFile, func(to io.Writer) error { return w.junit.write(to, w.data) }},
		{SummaryFile, func(to io.Writer) error { return w.summary.write(to, w.data, n) }},
	} {
		if werr := w.files.Replace(f.name, 0o644, f.write); werr != nil {
			err = errors.Join(err, fmt.Errorf("write a report: %w", werr))
		}
	}
	return errors.Join(err, w.close())
}

func (w *Writer) close() error { return errors.Join(w.file.Close(), w.files.Close()) }

// stamp returns a time in the form that the files have.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
