package triage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much of a report a person gets to see; the journal and the JSON form have all.
const (
	mostMissed  = 5   // cases of a reason
	mostWindows = 8   // windows of a cluster, and things that it leaves besides
	mostWhy     = 160 // bytes of a reason
)

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sweep of containerd %s, plan %s", r.Version, r.Digest)
	if !r.Shard.Whole() {
		fmt.Fprintf(&b, ", shard %s", r.Shard)
	}
	fmt.Fprintf(&b, "\n%d planned, %d executed, %d fired: %d held, %d violated, %d invalid",
		r.Planned, r.Executed, r.Fired, r.Held, r.Violated, r.Executed-r.Fired)
	if r.Again > 0 {
		fmt.Fprintf(&b, " (%d fired only when tried again)", r.Again)
	}
	b.WriteByte('\n')
	if lacks := r.Lacks(); lacks != "" {
		fmt.Fprintf(&b, "\nCUT OFF: %s\n", lacks)
	}
	for _, m := range r.Missed {
		m.write(&b)
	}
	for _, k := range r.Known {
		switch {
		case k.Gone:
			fmt.Fprintf(&b, "\nGONE: %s: known of this release, and its case was run: %s%s\n", k.ID, k.Title, k.Again())
		case k.Exceeds():
			fmt.Fprintf(&b, "\nNEW: more of %s: it is known, but of %d cases of %s at most: %s\n",
				k.ID, k.Most, r.Version, k.counts())
			k.where(&b)
		case k.Cases > 0 || k.Shown != nil:
			fmt.Fprintf(&b, "\nknown: %s: %s%s%s\n", k.ID, k.counts(), k.byChance(), k.Again())
		}
	}
	for _, c := range r.TooOften() {
		fmt.Fprintf(&b, "\nNEW: residue %s\n", c)
	}
	for _, c := range r.New {
		word := "NEW"
		if !c.Reproduced() {
			word = "NEW, NOT REPRODUCED"
		}
		fmt.Fprintf(&b, "\n%s: %s: when %s: %s\n", word, c.Name, c.When, c.counts())
		c.details(&b)
	}
	fmt.Fprintf(&b, "\n%d new, %d known, %d gone", r.Fresh(), r.Seen(), len(r.Gone()))
	if n := len(r.New) - len(r.Reproduced()); n > 0 {
		fmt.Fprintf(&b, ", %d new and not reproduced", n)
	}
	b.WriteByte('\n')
	return b.String()
}

func (m Missed) write(b *strings.Builder) {
	excuse := ""
	switch {
	case m.Unsteady:
		excuse = ", all of hits that not every trace had"
	case m.Fewer:
		excuse = ", all of hits that not every run has: the point was passed, but less often"
	case m.Unheeded:
		excuse = ", which nothing can come of"
	}
	fmt.Fprintf(b, "\ninvalid: %d cases%s: %s\n", len(m.Cases), excuse, short(m.Why))
	for i, c := range m.Cases[:min(len(m.Cases), mostMissed)] {
		if m.whys[i] != m.Why {
			c += ": " + short(m.whys[i])
		}
		fmt.Fprintf(b, "    %s\n", c)
	}
	if n := len(m.Cases) - mostMissed; n > 0 {
		fmt.Fprintf(b, "    and %d more, see the journal\n", n)
	}
}

// short is the first line of a reason, or the beginning of that.
func short(why string) string {
	why, _, _ = strings.Cut(why, "\n")
	if len(why) > mostWhy {
		return strings.ToValidUTF8(why[:mostWhy], "") + "..."
	}
	return why
}

func (c Cluster) counts() string {
	if c.Cases == 0 {
		return "0 cases"
	}
	return fmt.Sprintf("%d points, %d cases (%s; %s; %s)", c.Points, c.Cases,
		tally(c.Actions), tally(c.Paths), tally(c.Workloads))
}

// Again says what came of the replays of a finding's own case that had not shown it.
func (k Known) Again() string {
	if k.Shown == nil {
		return ""
	}
	return fmt.Sprintf("; its own case did not show it, %d of %d replays of it do", k.Shown.Same, k.Shown.Replays)
}

func (k Known) byChance() string {
	if k.ByChance == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of them by chance, elsewhere: no replay shows it there", k.ByChance)
}

func (c Cluster) details(b *strings.Builder) {
	for _, t := range c.Left {
		fmt.Fprintf(b, "    left:  %s\n", t)
	}
	also := byCount(c.Also)
	for _, t := range also[:min(len(also), mostWindows)] {
		fmt.Fprintf(b, "    also:  %s (%d of %d)\n", t, c.Also[t], c.Cases)
	}
	c.where(b)
	if c.Shown != nil {
		fmt.Fprintf(b, "    case:  %s\n", c.Shown)
	}
}

func (c Cluster) where(b *strings.Builder) {
	for _, w := range c.Windows[:min(len(c.Windows), mostWindows)] {
		fmt.Fprintf(b, "    where: %s\n", w)
	}
	if n := len(c.Windows) - mostWindows; n > 0 {
		fmt.Fprintf(b, "    where: and %d functions more\n", n)
	}
}

// byCount are the words, those that were counted most first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

func tally(counts map[string]int) string {
	words := byCount(counts)
	for i, w := range words {
		words[i] = fmt.Sprintf("%s %d", w, counts[w])
	}
	return strings.Join(words, ", ")
}
