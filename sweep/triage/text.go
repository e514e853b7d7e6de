package triage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/quote"
)

// The limits of the text report. The journal and the JSON form are complete.
const (
	maxMissed  = 5   // listed cases of a reason
	maxWindows = 8   // listed windows and additional findings of a cluster
	maxWhy     = 160 // bytes of a reason
)

// String returns the report for a person.
func (r Report) String() string {
	var b quote.Text
	shard, again := "", ""
	if !r.Shard.Whole() {
		shard = fmt.Sprintf(", shard %s", r.Shard)
	}
	b.Line("sweep of containerd %s, plan %s%s", r.Version, r.Digest, shard)
	if r.Again > 0 {
		again = fmt.Sprintf(" (%d fired only when tried again)", r.Again)
	}
	b.Line("%s planned, %d executed, %d fired: %d held, %d violated, %d invalid%s",
		number(r.Planned, "case"), r.Executed, r.Fired, r.Held, r.Violated, r.Executed-r.Fired, again)
	if lacks := r.Lacks(); lacks != "" {
		b.Line("")
		b.Line("CUT OFF: %s", lacks)
	}
	for _, m := range r.Missed {
		m.write(&b)
	}
	known := map[string]int{}
	for _, word := range []string{byFix, byBaseline, byPlace} {
		for _, k := range r.Known {
			if k.word() == word {
				known[word]++
				b.Line("")
				b.Line("%s: %s: %s%s", word, k.ID, k.counts(), k.By())
			}
		}
	}
	for _, c := range r.TooOften() {
		b.Line("")
		b.Line("NEW: residue %s", c)
	}
	for _, c := range r.New {
		word := "NEW"
		if !c.Reproduced() {
			word = "NEW, NOT REPRODUCED"
		}
		b.Line("")
		b.Line("%s: %s: when %s: %s", word, c.Name, c.When, c.counts())
		c.details(&b)
	}
	unreproduced := ""
	if n := len(r.New) - len(r.Reproduced()); n > 0 {
		unreproduced = fmt.Sprintf(", %d new and not reproduced", n)
	}
	b.Line("")
	b.Line("%d new, %d known by a fix, %d open without a fix%s", r.NeedAttention(), known[byFix], known[byPlace],
		unreproduced)
	return b.String()
}

func (m Missed) write(b *quote.Text) {
	excuse := ""
	switch {
	case m.Unsteady:
		excuse = ", their processes had been asked to exit"
	case m.Fewer:
		excuse = ", their points were reached, but less often than in the traces"
	case m.Ignored:
		excuse = ", inconclusive"
	}
	b.Line("")
	b.Line("invalid: %s%s: %s", number(len(m.Cases), "case"), excuse, short(m.Why))
	for i, c := range m.Cases[:min(len(m.Cases), maxMissed)] {
		if m.whys[i] != m.Why {
			c += ": " + short(m.whys[i])
		}
		b.Line("    %s", c)
	}
	if n := len(m.Cases) - maxMissed; n > 0 {
		b.Line("    and %d more, see the journal", n)
	}
}

// short returns the beginning of a reason's first line.
func short(why string) string {
	why, _, _ = strings.Cut(why, "\n")
	if len(why) > maxWhy {
		return strings.ToValidUTF8(why[:maxWhy], "") + "..."
	}
	return why
}

func (c Cluster) counts() string {
	if c.Cases == 0 {
		return "0 cases"
	}
	return fmt.Sprintf("%s, %s (actions: %s; paths: %s; workloads: %s)",
		number(c.Points, "point"), number(c.Cases, "case"), tally(c.Actions), tally(c.Paths), tally(c.Workloads))
}

// The words for known findings.
const (
	byFix      = "known by a fix"
	byBaseline = "known, because the other sweep shows it, too"
	byPlace    = "open, without a fix"
)

func (k Known) word() string {
	switch {
	case k.Fix != "":
		return byFix
	case k.ID == baselineID:
		return byBaseline
	}
	return byPlace
}

// By names the fix of the bug, and says in how many cases the finding is gone with it.
func (k Known) By() string {
	if k.Fix == "" {
		return ""
	}
	if k.Fix == fixes.All {
		return fmt.Sprintf("; all fixes together: gone with them in %d", k.Closed)
	}
	return fmt.Sprintf("; fix %s: gone with it in %d", k.Fix, k.Closed)
}

// SoFar returns lines for a person, while the sweep runs.
func (c Cluster) SoFar() string {
	var b quote.Text
	if c.Shown != nil {
		b.Line("new so far: %s: %s", c.Name, c.Shown)
		return b.String()
	}
	b.Line("new so far: %s: when %s: %s", c.Name, c.When, c.counts())
	for _, t := range c.Left {
		b.Line("    left:  %s", t)
	}
	return b.String()
}

func (c Cluster) details(b *quote.Text) {
	for _, t := range c.Left {
		b.Line("    left:  %s", t)
	}
	also := byCount(c.Also)
	for _, t := range also[:min(len(also), maxWindows)] {
		b.Line("    also:  %s (%d of %d)", t, c.Also[t], c.Cases)
	}
	c.where(b)
	if c.Shown != nil {
		b.Line("    case:  %s", c.Shown)
	}
}

func (c Cluster) where(b *quote.Text) {
	for _, w := range c.Windows[:min(len(c.Windows), maxWindows)] {
		b.Line("    where: %s", w)
	}
	if n := len(c.Windows) - maxWindows; n > 0 {
		b.Line("    where: and %d functions more", n)
	}
}

// byCount returns the words, the most frequent first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// number returns "1 case" or "2 cases".
func number(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

func tally(counts map[string]int) string {
	words := byCount(counts)
	for i, w := range words {
		words[i] = fmt.Sprintf("%s %d", w, counts[w])
	}
	return strings.Join(words, ", ")
}
