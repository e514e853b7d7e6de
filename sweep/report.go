package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// Report is what a sweep has found. It is made of the plan and the results, in whatever order they came, and of nothing else.
type Report struct {
	Version string `json:"containerd"`
	Digest  string `json:"plan"`
	Shard   Shard  `json:"shard"`
	// Planned cases have Executed results; in Fired of these the fault happened.
	Planned  int `json:"planned"`
	Executed int `json:"executed"`
	Fired    int `json:"fired"`
	Held     int `json:"held"`
	Violated int `json:"violated"`
	// Again is how many fired only when they were tried again.
	Again int `json:"firedAgain,omitempty"`
	// Missed are the cases whose fault did not happen, by why.
	Missed []Missed `json:"-"`
	New    []Group  `json:"-"`
	Known  []Known  `json:"-"`
}

// Missed are cases that show nothing, for the same reason.
type Missed struct {
	Why   string   `json:"why"`
	Cases []string `json:"invalid"`
	// Unsteady says that all of them are of hits which not every trace had, Unheeded that the process did not look at the context which was ended, or
	// ended by itself before it could crash: neither is an error of the sweep.
	Unsteady bool `json:"unsteady,omitempty"`
	Unheeded bool `json:"unheeded,omitempty"`
}

// NewReport makes the report of a sweep, or of a shard.
func NewReport(h Head, results []Result, known []catalogue.Finding) Report {
	p := h.Plan
	r := Report{Version: p.Version, Digest: p.Digest, Shard: h.Shard}
	for i := range p.Specs {
		if h.Shard.Has(i) {
			r.Planned++
		}
	}
	results = slices.Clone(results)
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.I, b.I) })
	var all []member
	type reason struct {
		why      string
		unsteady bool // reasons of their own
		miss     harness.Miss
	}
	missed := map[reason][]int{}
	fired := map[int]bool{}
	for _, res := range results {
		r.Executed++
		if res.Tries > 1 && res.Outcome != harness.Invalid {
			r.Again++
		}
		switch res.Outcome {
		case harness.Held:
			r.Held++
		case harness.Violated:
			r.Violated++
			all = append(all, members(res, p.Specs[res.I].shared())...)
		default:
			why := reason{plain(res.Why), p.Specs[res.I].Unsteady, res.Miss}
			missed[why] = append(missed[why], res.I)
			// One that ended by itself is told, whatever the rest of the case shows.
			res.Found = slices.DeleteFunc(slices.Clone(res.Found), func(f oracle.Finding) bool { return f.Class != oracle.ClassDaemon })
			all = append(all, members(res, false)...)
			continue
		}
		r.Fired++
		fired[res.I] = true
	}
	fresh, seen := split(p, known, all, func(i int) bool { return fired[i] })
	r.New, r.Known = groups(p, fresh), seen
	reasons := slices.SortedFunc(maps.Keys(missed), func(a, b reason) int {
		return cmp.Or(strings.Compare(a.why, b.why), cmp.Compare(btoi(a.unsteady), btoi(b.unsteady)), strings.Compare(string(a.miss), string(b.miss)))
	})
	for _, why := range reasons {
		m := Missed{Why: why.why, Unsteady: why.unsteady, Unheeded: why.miss != ""}
		for _, i := range missed[why] {
			m.Cases = append(m.Cases, p.Specs[i].String())
		}
		r.Missed = append(r.Missed, m)
	}
	return r
}

// members are the findings that a case shows.
func members(res Result, shared bool) []member {
	main, with := signatures(res.Found, shared)
	var out []member
	for i, f := range families(main) {
		m := member{spec: res.I, left: f, found: res.Found}
		if i == 0 { // the gravest brings them
			m.with = with
		}
		out = append(out, m)
	}
	return out
}

// Gone are the ids of known findings that are gone.
func (r Report) Gone() []string {
	var ids []string
	for _, k := range r.Known {
		if k.Gone {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Status is the exit status: 1 for a new finding or a known one that is gone, 3 where a case did not run or shows nothing and should, 0 otherwise.
func (r Report) Status() int {
	switch {
	case len(r.New) > 0 || len(r.Gone()) > 0:
		return 1
	case r.Executed < r.Planned || r.Executed > 0 && r.Fired == 0 || slices.ContainsFunc(r.Missed, func(m Missed) bool { return !m.Unsteady && !m.Unheeded }):
		return 3
	}
	return 0
}

// JSON writes the report as JSON objects, one a line.
func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	var errs error
	put := func(v any) {
		if errs == nil {
			errs = enc.Encode(v)
		}
	}
	for _, m := range r.Missed {
		put(m)
	}
	for _, k := range r.Known {
		put(k)
	}
	for _, g := range r.New {
		put(g)
	}
	put(struct {
		Report
		New   int `json:"new"`
		Known int `json:"known"`
		Gone  int `json:"gone"`
	}{r, len(r.New), r.seen(), len(r.Gone())})
	return errs
}

// mostMissed is how many cases of a reason are listed; the journal has all.
const mostMissed = 5

// String tells the report to a person.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sweep of containerd %s, plan %s", r.Version, r.Digest)
	if !r.Shard.Whole() {
		fmt.Fprintf(&b, ", shard %s", r.Shard)
	}
	fmt.Fprintf(&b, "\n%d planned, %d executed, %d fired: %d held, %d violated, %d invalid", r.Planned, r.Executed, r.Fired, r.Held, r.Violated, r.Executed-r.Fired)
	if r.Again > 0 {
		fmt.Fprintf(&b, " (%d fired only when tried again)", r.Again)
	}
	b.WriteByte('\n')
	for _, m := range r.Missed {
		steady := ""
		switch {
		case m.Unsteady:
			steady = ", all of hits that not every trace had"
		case m.Unheeded:
			steady = ", which nothing can come of"
		}
		fmt.Fprintf(&b, "\ninvalid: %d cases%s: %s\n", len(m.Cases), steady, shorten(m.Why))
		for _, c := range m.Cases[:min(len(m.Cases), mostMissed)] {
			fmt.Fprintf(&b, "    %s\n", c)
		}
		if n := len(m.Cases) - mostMissed; n > 0 {
			fmt.Fprintf(&b, "    and %d more, see the journal\n", n)
		}
	}
	for _, k := range r.Known {
		switch {
		case k.Gone:
			fmt.Fprintf(&b, "\nGONE: %s: known of this release, its case was run, and no case shows it: %s\n", k.ID, k.About)
		case k.Cases > 0:
			fmt.Fprintf(&b, "\nknown: %s: %s\n", k.ID, k.counts())
		}
	}
	for _, g := range r.New {
		fmt.Fprintf(&b, "\nNEW: %s: when %s: %s\n", g.Name, g.When, g.counts())
		g.details(&b)
	}
	fmt.Fprintf(&b, "\n%d new, %d known, %d gone\n", len(r.New), r.seen(), len(r.Gone()))
	return b.String()
}

// shorten cuts a text for a line of the report.
func shorten(text string) string {
	const most = 160
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// seen is how many known findings were found.
func (r Report) seen() int {
	n := 0
	for _, k := range r.Known {
		if k.Cases > 0 {
			n++
		}
	}
	return n
}

func (g Group) counts() string {
	return fmt.Sprintf("%d points, %d cases (%s; %s; %s)", g.Points, g.Cases, tally(g.Actions), tally(g.Paths), tally(g.Workloads))
}

// most is how many windows, and things besides, are listed for a person.
const most = 8

func (g Group) details(b *strings.Builder) {
	for _, t := range g.Left {
		fmt.Fprintf(b, "    left:  %s\n", t)
	}
	also := slices.SortedFunc(maps.Keys(g.Also), func(x, y string) int { return cmp.Or(cmp.Compare(g.Also[y], g.Also[x]), strings.Compare(x, y)) })
	for _, t := range also[:min(len(also), most)] {
		fmt.Fprintf(b, "    also:  %s (%d of %d)\n", t, g.Also[t], g.Cases)
	}
	for _, w := range g.Windows[:min(len(g.Windows), most)] {
		fmt.Fprintf(b, "    where: %s\n", w)
	}
	if n := len(g.Windows) - most; n > 0 {
		fmt.Fprintf(b, "    where: and %d functions more\n", n)
	}
	if g.Shown != nil {
		fmt.Fprintf(b, "    case:  %s\n", g.Shown)
	}
}

func tally(counts map[string]int) string {
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%s %d", w, counts[w])
	}
	return strings.Join(words, ", ")
}
