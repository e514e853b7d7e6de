package report

import (
	"bufio"
	_ "embed" // the page
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

// IndexFile is the page that lists the reports in the folders of a folder.
const IndexFile = "index.html"

//go:embed web/index.html
var indexText string

var indexTemplate = template.Must(template.New("index").Funcs(template.FuncMap{"line": quote.Line}).Parse(indexText))

// Indexed is a report in the list: its folder, its title, and its counts. A report that
// is not complete has no counts, because they are in its last line.
type Indexed struct {
	Folder, Title, Made, Counts string
	Worst                       string // the worst outcome of a case
}

// maxReports limits the number of folders that WriteIndex reads.
const maxReports = 10_000

// NewFolder makes a new folder for a report in a folder, and returns its path. Its name
// has the time and a word. Two processes never get the same folder.
func NewFolder(in, word string, now time.Time) (string, error) {
	word = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-", r) {
			return r
		}
		return '-'
	}, strings.ToLower(word)), ".-")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the report: %w", err)
	}
	name := strings.TrimSuffix(now.Format("20060102-150405-")+word[:min(len(word), 60)], "-")
	for n := 1; ; n++ {
		dir := filepath.Join(in, name)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) || n == maxReports {
			return "", fmt.Errorf("make a folder for the report: %w", err)
		}
	}
}

// WriteIndex writes the page that lists the reports in the folders of a folder, the
// newest first. A lock makes concurrent writers wait for each other.
func WriteIndex(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("list the reports in %s: %w", dir, err)
		}
	}()
	files, err := foreign.OpenDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	all, err := indexed(files)
	if err != nil {
		return err
	}
	return files.Replace(IndexFile, 0o644, func(to io.Writer) error { return indexTemplate.Execute(to, all) })
}

func indexed(files *foreign.Dir) (all []Indexed, _ error) {
	entries, err := files.List(".", maxReports)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		f, err := files.Open(filepath.Join(e.Name(), ResultsFile), maxResults)
		if err != nil {
			continue // the folder has no report
		}
		r, ok := readIndexed(f)
		if err := f.Close(); err != nil {
			return nil, err
		}
		if r.Folder = e.Name(); ok {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Indexed) int { return strings.Compare(b.Made+b.Folder, a.Made+a.Folder) })
	return all, nil
}

// readIndexed reads the first and the last line of a results.jsonl.
func readIndexed(from io.Reader) (r Indexed, ok bool) {
	lines := bufio.NewReader(from)
	for {
		line, err := foreign.ReadLine(lines, maxLine)
		if err != nil {
			return r, ok
		}
		var l struct {
			resultsEnd
			Title, Made string
		}
		if json.Unmarshal(line, &l) != nil {
			return r, ok
		}
		switch l.Type {
		case "head":
			r.Title, r.Made, ok = l.Title, l.Made, true
		case "end":
			r.Counts = fmt.Sprintf("%d held, %d violated, %d invalid", l.Held, l.Violated, l.Invalid)
			switch {
			case l.Violated > 0:
				r.Worst = "violated"
			case l.Invalid > 0:
				r.Worst = "invalid"
			default:
				r.Worst = "held"
			}
		}
	}
}
