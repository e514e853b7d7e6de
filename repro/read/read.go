package read

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/quote"
)

// Limits on the parts of a report that are kept.
const (
	maxSeen      = 400
	maxOther     = 12
	maxLinesOf   = 5
	longestOther = 160
)

// reader reads one report.
type reader struct {
	Report
	all []line
	at  int // in all
	// command is the last typed command. The lines after it are its output.
	command string
	table   *table // the header of the rows that follow
	done    []bool // set for the understood lines of all
	index   map[string]int

	shims     []process
	processes map[int]process
	// fullPS is set if the report lists all processes.
	fullPS bool
	// listed has the rows of ctr, crictl and docker, by kind of list and by id.
	listed map[string]map[string]listing
	// listings has the line at which a complete list of a kind begins.
	listings map[string]int
	// unknown has the ids that ctr or crictl do not know, with their lines. emptyPIDs has
	// the pids that ps and /proc do not know.
	unknown   map[string]int
	emptyPIDs map[int]int
	// counts are numbers of shims, in their order.
	counts  []counted
	exits   []exitEvent
	docker  []dockerState
	inspect inspection
	// inspectedPIDs are the pids that crictl inspect prints, with their containers.
	inspectedPIDs map[int]listing
	voted         map[Client]int

	bundles, mounts, sockets, cgroups []listing
	noBundle                          map[string]int
}

// Text reads a pasted text. It accepts everything, and never fails.
func Text(text string) Report {
	r := &reader{
		index: map[string]int{}, processes: map[int]process{}, listed: map[string]map[string]listing{},
		listings: map[string]int{}, unknown: map[string]int{}, emptyPIDs: map[int]int{}, noBundle: map[string]int{},
		inspectedPIDs: map[int]listing{},
		voted:         map[Client]int{},
	}
	r.all, r.Cut = lines(text)
	r.done = make([]bool, len(r.all))
	for r.at = 0; r.at < len(r.all); r.at++ {
		r.line(r.all[r.at])
	}
	r.deduce()
	r.close()
	return r.Report
}

// line reads one line: a command, a row of a table, a line of a log, or words.
func (r *reader) line(l line) {
	r.mentions(l)
	if l.prompt != "" {
		r.table, r.command = nil, l.prompt
		r.typed(l)
		return
	}
	if rec, ok := unwrap(l.text); ok && (rec.message != "" || rec.fields != nil) {
		r.table = nil
		r.logged(l, rec)
		return
	}
	for _, take := range []func(line) bool{
		r.versionLine, r.event, r.header, r.row, r.process, r.answer, r.printed, r.inspected, r.file, r.count,
		r.unmarked,
	} {
		if take(l) {
			r.understand()
			return
		}
	}
	r.rest(l)
}

// rest keeps a line that was not understood, unless it mentions something known.
func (r *reader) rest(l line) {
	if len(r.Other) < maxOther && !r.done[r.at] {
		r.Other = append(r.Other, Line{N: l.n, Text: quote.Cut(l.text, longestOther)})
	}
}

func (r *reader) understand() { r.done[r.at] = true }

// close counts the lines, and sorts the observations and the versions.
func (r *reader) close() {
	r.elect()
	for i, l := range r.all {
		r.Lines += 1 + l.joined
		if r.done[i] {
			r.Understood += 1 + l.joined
		}
	}
	r.Others = r.Lines - r.Understood
	slices.SortStableFunc(r.Seen, func(a, b Observation) int { return a.Lines[0] - b.Lines[0] })
	r.chooseVersion()
}

// see notes an observation. Equal observations of one object are noted once, with all
// lines.
func (r *reader) see(o Observation, l line) {
	o.Facts = kinds[o.What].left.Facts.With(o.Facts)
	key := string(o.What) + "\n" + o.ID + "\n" + o.Text
	if i, ok := r.index[key]; ok {
		old := &r.Seen[i]
		old.Count++
		old.Facts = old.Facts.With(o.Facts)
		old.Logged = old.Logged && o.Logged
		if len(old.Lines) < maxLinesOf && !slices.Contains(old.Lines, l.n) {
			old.Lines = append(old.Lines, l.n)
		}
		return
	}
	if len(r.Seen) >= maxSeen {
		return
	}
	o.Lines, o.Count = []int{l.n}, 1
	r.index[key] = len(r.Seen)
	r.Seen = append(r.Seen, o)
}

// votes adds to the evidence for a client. Outputs count more than words.
func (r *reader) votes(c Client, n int) { r.voted[c] += n }

// elect chooses the client with the most evidence.
func (r *reader) elect() {
	for _, c := range []Client{Kubelet, Dockerd, Ctr} {
		if r.voted[c] > r.voted[r.Client] {
			r.Client = c
		}
	}
}

var (
	issue    = regexp.MustCompile(`(?:containerd/containerd(?:/(?:issues|pull)/|#)|\bcontainerd#|\(?#)(\d{4,5})\b`)
	moby     = regexp.MustCompile(`moby/moby(?:/issues/|#)\d+|\bmoby#\d+`)
	function = regexp.MustCompile(`\b(?:\(\*?)?((?:[a-z][a-z0-9]*\.)?\(?\*?[A-Za-z]\w*\)?\.[A-Za-z]\w+)\b(?:\(|` +
		`\s+\S+\.go:\d+)`)
	theirs    = regexp.MustCompile(`(?i)\b(ticket|case|incident|change|alert|request)s?:? ?$`) // a number of their own
	klogHead  = regexp.MustCompile(`\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ \S+:\d+\]`)        // kubelet's own file
	goFile    = regexp.MustCompile(`\b([\w/]+\.go):(\d+)\b`)
	criWords  = regexp.MustCompile(`(?i)\bkubelet\b|\bcrictl\b|k8s\.io\b|\bkubectl\b|PodSandbox|\bpods?\b`)
	mobyWords = regexp.MustCompile(`(?i)\bdockerd?\b(?:[^.]|$)|\bmoby\b`)
)

// mentions notes the versions, issues, functions and clients that a line names
// anywhere.
func (r *reader) mentions(l line) {
	for _, m := range issue.FindAllStringSubmatchIndex(l.text, 5) {
		if !theirs.MatchString(l.text[:m[0]]) {
			r.see(Observation{What: NamedIssue, Text: l.text[m[2]:m[3]]}, l)
			r.understand()
		}
	}
	for _, m := range moby.FindAllString(l.text, 5) {
		r.see(Observation{What: NamedIssue, Text: m}, l)
		r.understand()
	}
	for _, m := range function.FindAllStringSubmatch(l.text, 5) {
		name := strings.NewReplacer("(", "", ")", "", "*", "").Replace(m[1])
		r.see(Observation{What: NamedFunction, Text: name}, l)
		r.understand()
	}
	for _, m := range goFile.FindAllStringSubmatch(klogHead.ReplaceAllString(l.text, ""), 5) {
		r.see(Observation{What: NamedFunction, Text: m[1]}, l)
	}
	r.mentionedVersion(l)
	switch {
	case criWords.MatchString(l.text):
		r.votes(Kubelet, 1)
	case mobyWords.MatchString(l.text):
		r.votes(Dockerd, 1)
	}
}

// facts parses the facts in the tables of this package. It panics if one is invalid.
func facts(texts ...string) fact.Facts {
	fs, err := fact.ParseAll(texts)
	if err != nil {
		panic(err)
	}
	return fs
}
