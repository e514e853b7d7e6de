package main

import (
	_ "embed" // the page
	"fmt"
	"io"
	"regexp"
	"slices"
	"text/template"

	"golang.org/x/perf/benchfmt"
)

//go:embed page.md
var pageText string

// figures are the measurements, by the name of a benchmark without the number of
// processors, and by unit. If a benchmark has several, the last one counts.
type figures struct {
	of      map[string]map[string]float64
	machine map[string]string
	missing []string
}

// processors matches the end of a benchmark's name.
var processors = regexp.MustCompile(`-[0-9]+$`)

// read parses the output of go test -bench.
func read(in io.Reader) (*figures, error) {
	f := &figures{of: map[string]map[string]float64{}, machine: map[string]string{}}
	r := benchfmt.NewReader(in, "the benchmarks")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			name := processors.ReplaceAllString(rec.Name.String(), "")
			if f.of[name] == nil {
				f.of[name] = map[string]float64{}
			}
			for _, v := range rec.Values {
				f.of[name][v.Unit] = v.Value
			}
			for _, c := range rec.Config {
				f.machine[c.Key] = string(c.Value)
			}
		case *benchfmt.SyntaxError:
			return nil, rec
		}
	}
	return f, r.Err()
}

// write writes the page. A missing figure is an error, because the page would look
// complete.
func (f *figures) write(out io.Writer) error {
	page, err := template.New("page").Funcs(template.FuncMap{
		"of": f.figure, "machine": f.about, "ns": func(s float64) float64 { return 1e9 * s },
	}).Parse(pageText)
	if err == nil {
		err = page.Execute(out, nil)
	}
	if err != nil {
		return err
	}
	if len(f.missing) > 0 {
		slices.Sort(f.missing)
		return fmt.Errorf("the results are incomplete, so run `make bench` again and wait for its end; missing: %v",
			slices.Compact(f.missing))
	}
	return nil
}

func (f *figures) figure(name, unit string) float64 {
	v, ok := f.of[name][unit]
	if !ok {
		f.missing = append(f.missing, name+" "+unit)
	}
	return v
}

func (f *figures) about(key string) string {
	v, ok := f.machine[key]
	if !ok {
		f.missing = append(f.missing, key)
	}
	return v
}
