package read

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Bounds on what is kept of a report.
const (
	mostSeen     = 400
	mostOther    = 12
	mostLinesOf  = 5
	longestOther = 160
)

// reader reads one report.
type reader struct {
	Report
	all []line
	at  int // in all
	// command is what was typed last: the lines after it are its answer.
	command string
	table   *table // whose rows follow
	done    []bool // lines of all that gave something
	index   map[string]int

	shims     []process
	processes map[int]process
	fullPS    bool                          // a listing of all processes is there
	listed    map[string]map[string]listing // what ctr and crictl list: by kind, by id
	listings  map[string]int                // the line at which a list of a kind begins
	unknown   map[string]int                // ids that ctr or crictl do not know, by their line
	emptyPIDs map[int]int                   // pids that ps and /proc do not know, by their line
	counts    []counted                     // numbers of shims, one after the other
	exits     []exitEvent
	docker    []dockerState
	inspect   inspection
	// inspectedPIDs are the pids that crictl inspect prints, with their containers.
	inspectedPIDs map[int]listing
	voted         map[Client]int

	bundles, mounts, sockets, cgroups []listing
	noBundle                          map[string]int
}

// Text reads what was pasted. It takes everything, and never fails.
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

// line takes one line: a command, a row of a table, a line of a log, or words.
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
			r.understand(l)
			return
		}
	}
	r.rest(l)
}

// rest is for a line of which nothing but a mention may have been understood.
func (r *reader) rest(l line) {
	if len(r.Other) < mostOther && !r.done[r.at] {
		text := l.text
		if len(text) > longestOther {
			text = strings.ToValidUTF8(text[:longestOther], "") + "..."
		}
		r.Other = append(r.Other, Line{N: l.n, Text: text})
	}
}

func (r *reader) understand(line) { r.done[r.at] = true }

// close counts.
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

// see notes an observation. The same of the same thing is noted once, with its lines.
func (r *reader) see(o Observation, l line) {
	o.Facts = lefts[o.What].Facts.With(o.Facts)
	key := string(o.What) + "\n" + o.ID + "\n" + o.Text
	if i, ok := r.index[key]; ok {
		old := &r.Seen[i]
		old.Count++
		old.Facts = old.Facts.With(o.Facts)
		old.Logged = old.Logged && o.Logged
		if len(old.Lines) < mostLinesOf && !slices.Contains(old.Lines, l.n) {
			old.Lines = append(old.Lines, l.n)
		}
		return
	}
	if len(r.Seen) >= mostSeen {
		return
	}
	o.Lines, o.Count = []int{l.n}, 1
	r.index[key] = len(r.Seen)
	r.Seen = append(r.Seen, o)
}

// votes counts what tells of a client: outputs more than words.
func (r *reader) votes(c Client, n int) { r.voted[c] += n }

// elect is the client that most tells of.
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

// mentions takes what may stand anywhere: versions, issues, functions, clients.
func (r *reader) mentions(l line) {
	for _, m := range issue.FindAllStringSubmatchIndex(l.text, 5) {
		if !theirs.MatchString(l.text[:m[0]]) {
			r.see(Observation{What: NamedIssue, Text: l.text[m[2]:m[3]]}, l)
			r.understand(l)
		}
	}
	for _, m := range moby.FindAllString(l.text, 5) {
		r.see(Observation{What: NamedIssue, Text: m}, l)
		r.understand(l)
	}
	for _, m := range function.FindAllStringSubmatch(l.text, 5) {
		name := strings.NewReplacer("(", "", ")", "", "*", "").Replace(m[1])
		r.see(Observation{What: NamedFunction, Text: name}, l)
		r.understand(l)
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

// facts are those of a table.
func facts(texts ...string) fact.Facts {
	fs, err := fact.ParseAll(texts)
	if err != nil {
		panic(err)
	}
	return fs
}
