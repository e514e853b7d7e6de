package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed" // the page and its library
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/quote"
)

// The page, its script and its library. The origin of the library is in
// web/vendor/README.md.
var (
	//go:embed web/page.html
	pageText string
	//go:embed web/page.css
	pageStyle string
	//go:embed web/page.js
	pageScript string
	//go:embed web/vendor/vis-timeline-graph2d.min.js
	libraryScript string
	//go:embed web/vendor/vis-timeline-graph2d.min.css
	libraryStyle string
)

// pageTemplate is a text template without escaping. The values need none: they are
// escaped HTML, JSON without "<", base64, and constant text.
var pageTemplate = template.Must(template.New("page").Parse(pageText))

// packed is how many cases are compressed together. Texts that they share then take space
// only once.
const packed = 24

// page collects the content of a report.html. It takes the cases one by one, so that
// thousands of histories are never in memory at once.
type page struct {
	data    Data
	index   []row
	pack    []caseText
	packs   []string
	without map[string]Timeline
	counts  map[harness.Outcome]int
}

// row is a case in the list, with the fields for search and filters.
type row struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Outcome  harness.Outcome `json:"outcome"`
	Workload string          `json:"workload"`
	Fault    string          `json:"fault"`
	Says     string          `json:"says"`
}

// caseText is the content that the page shows when a user opens a case.
type caseText struct {
	Replay   string        `json:"replay"`
	About    string        `json:"about,omitempty"`
	Evidence string        `json:"evidence,omitempty"`
	Link     string        `json:"link,omitempty"` // the link to Evidence
	Version  string        `json:"version"`
	Machine  string        `json:"machine,omitempty"`
	Problems []string      `json:"problems,omitempty"`
	Findings []string      `json:"findings,omitempty"`
	Known    []string      `json:"known,omitempty"`
	Whose    []string      `json:"whose,omitempty"`
	Firings  []string      `json:"firings,omitempty"`
	Exits    [][2]string   `json:"exits,omitempty"`
	With     *timelineText `json:"with,omitempty"`
	Without  *timelineText `json:"without,omitempty"`
	// LaterUS is how much later than the other run this run reached the fault's place, in
	// µs.
	LaterUS int64 `json:"later,omitempty"`
	// Lead says of a leaked shim when it ended in the run without the fault.
	Lead string `json:"lead,omitempty"`
}

// timelineText is a timeline for the page, with times in µs. An item is [lane, time
// since the previous item, took, text, more, mark, parted].
type timelineText struct {
	Lanes  []Lane  `json:"lanes"`
	Items  [][]any `json:"items"`
	DoneUS int64   `json:"done"`
	// FaultUS is the time of its first fault, or nil if it has none.
	FaultUS *int64 `json:"fault,omitempty"`
}

// maxLog limits the size of containerd's log in the evidence, in bytes. A run keeps at
// most this much.
const maxLog = 65 << 20

// logOf returns containerd's log from a verdict's evidence, or nil.
func logOf(v harness.Verdict) []byte {
	if v.Evidence == "" {
		return nil
	}
	text, _ := foreign.ReadFile(filepath.Join(v.Evidence, "containerd.log"), maxLog) // the log is optional in a timeline
	return text
}

func (h *page) add(c Case, t Timeline) error {
	v := c.Verdict
	h.counts[v.Outcome]++
	h.index = append(h.index, row{ID: c.ID, Name: v.Name, Outcome: v.Outcome, Workload: c.Workload, Fault: c.Fault,
		Says: Reason(v)})
	h.pack = append(h.pack, h.textOf(c, t))
	if len(h.pack) == packed {
		return h.flush()
	}
	return nil
}

// Reason returns the first finding or problem in one line.
func Reason(v harness.Verdict) string {
	if all := v.Violations(); len(all) > 0 && v.Outcome == harness.Violated {
		return harness.ShortIDs(wording.Of(all[0]))
	}
	if v.Outcome == harness.Held {
		return ""
	}
	return harness.ShortIDs(firstLine(v.ProblemsText()))
}

func (h *page) textOf(c Case, with Timeline) caseText {
	v := c.Verdict
	t := caseText{Replay: c.Replay, Whose: c.Whose, About: v.Case.About, Version: v.Version, Evidence: v.Evidence}
	if v.Evidence != "" {
		t.Link = quote.Path(v.Evidence)
	}
	for _, p := range v.Problems {
		t.Problems = append(t.Problems, p.Text)
	}
	for _, f := range v.Findings {
		if f.Violates() {
			t.Findings = append(t.Findings, harness.ShortIDs(wording.Of(f)))
		} else {
			t.Known = append(t.Known, harness.ShortIDs(wording.Of(f)))
		}
	}
	for _, f := range v.Firings {
		t.Firings = append(t.Firings, f.Text+": "+f.Proof)
	}
	for _, x := range v.Truths {
		t.Exits = append(t.Exits, [2]string{harness.ShortIDs(x.Of()),
			fmt.Sprintf("%d (%s); reported: %s", x.Status, x.Source, cmp.Or(v.ReportedOf(x), "by no observer"))})
	}
	if v.History == nil {
		return t
	}
	m := v.History.Machine
	t.Machine = fmt.Sprintf("kernel %s, cgroups %s, %d CPUs", m.Kernel, m.Cgroups, m.CPUs)
	if v.Outcome == harness.Held { // a reader of a held case does not need every status call
		with.Items = slices.DeleteFunc(with.Items, func(i Item) bool { return i.Mark == Minor })
	}
	if without, ok := h.without[c.Without]; ok && v.Outcome != harness.Held {
		without.Items = slices.Clone(without.Items) // the differences are marked in it
		t.LaterUS = MarkDifferences(&with, &without).Microseconds()
		t.Lead = MainDifference(&with, &without)
		t.Without = encode(without)
	}
	t.With = encode(with)
	return t
}

func encode(t Timeline) *timelineText {
	out := &timelineText{Lanes: t.Lanes, DoneUS: t.Done.Microseconds(), Items: make([][]any, len(t.Items))}
	if at, ok := t.Fault(); ok {
		us := at.Microseconds()
		out.FaultUS = &us
	}
	last := int64(0)
	for n, i := range t.Items {
		at := i.At.Microseconds() - last
		last += at
		item := []any{i.Lane, at, i.Took.Microseconds(), i.Text, i.More, i.Mark, i.Parted}
		switch {
		case i.Parted:
		case i.Mark != NoMark:
			item = item[:6]
		default:
			item = item[:5]
		}
		out.Items[n] = item
	}
	return out
}

func (h *page) flush() error {
	if len(h.pack) == 0 {
		return nil
	}
	text, err := compress(h.pack)
	h.packs, h.pack = append(h.packs, text), h.pack[:0]
	return err
}

// compress returns a value as JSON, compressed with gzip and encoded as base64. The page
// decompresses it with DecompressionStream.
func compress(v any) (string, error) {
	var b bytes.Buffer
	to := base64.NewEncoder(base64.StdEncoding, &b)
	z, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	var text []byte
	if err == nil {
		text, err = json.Marshal(v)
	}
	if err == nil {
		_, err = z.Write(quote.JSON(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		return "", fmt.Errorf("compress a report: %w", err)
	}
	return b.String(), nil
}

// head is the content of the page before a case is opened.
type head struct {
	Title    string                  `json:"title"`
	Command  string                  `json:"command"`
	Made     string                  `json:"made"`
	Answers  []Part                  `json:"answers,omitempty"`
	Says     []string                `json:"says"`
	Lacks    string                  `json:"lacks,omitempty"`
	Grid     *Grid                   `json:"grid,omitempty"`
	Clusters []Cluster               `json:"clusters"`
	Counts   map[harness.Outcome]int `json:"counts"`
	Packed   int                     `json:"packed"`
}

// write writes the page.
func (h *page) write(w io.Writer) error {
	if err := h.flush(); err != nil {
		return err
	}
	index, err := compress(h.index)
	if err != nil {
		return err
	}
	d := h.data
	b, err := json.Marshal(head{d.Title, d.Command, stamp(d.Made), d.Answers, d.Says, d.Lacks, d.Grid, d.Clusters,
		h.counts, packed})
	if err != nil {
		return fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	err = pageTemplate.Execute(w, map[string]string{
		"Title": html.EscapeString(quote.Line(d.Title)), "Style": libraryStyle + pageStyle,
		"Head": string(quote.JSON(b)), "Index": index,
		"Packs": strings.Join(h.packs, "\n"), "Library": libraryScript, "Script": pageScript,
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	return nil
}
