package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// ReadText returns the observations of the report in words.
func (a Answer) ReadText() string {
	var b quote.Text
	r := a.Report
	client := ""
	if r.Client != "" {
		client = fmt.Sprintf("; %s runs the containers", r.Client)
	}
	b.Line("read: %s of %d understood%s", quote.Count(r.Understood, "line"), r.Lines, client)
	if r.Cut > 0 {
		b.Line("  not read: %d bytes, beyond the first %d MiB or in very long lines", r.Cut, read.MaxBytes>>20)
	}
	for _, v := range r.Versions {
		how := "is mentioned"
		if v.By.FromProgram() {
			how = "is running"
		}
		b.Line("  %-14s containerd %s %s", fmt.Sprintf("line %d:", v.Line), v.Release, how)
	}
	if len(r.Versions) > 1 {
		b.Line("  %-14s taken: %s; --containerd chooses another", "", r.Version())
	}
	if text := a.guessText(); text != "" {
		b.Line("  %-14s containerd %s: %s", "taken:", a.Release, text)
	}
	for _, g := range group(r.Seen) {
		b.Line("%s", g)
	}
	if r.Others > 0 {
		first := ""
		if len(r.Other) < r.Others {
			first = fmt.Sprintf(", the first %d of them", len(r.Other))
		}
		b.Line("  not understood: %s%s", quote.Count(r.Others, "line"), first)
		for _, l := range r.Other {
			b.Line("    %5d  %s", l.N, quote.Cut(l.Text, 90))
		}
	}
	return b.String()
}

// maxThings limits the ids and messages of a kind that are printed.
const maxThings = 3

// group returns a line for each kind of observation.
func group(all []read.Observation) (out []string) {
	done := map[read.Kind]bool{}
	for _, o := range all {
		if done[o.What] {
			continue
		}
		done[o.What] = true
		var lines []int
		var things []string
		n := 0
		for _, p := range all {
			if p.What != o.What {
				continue
			}
			n++
			lines = append(lines, p.Lines...)
			if thing := cmp.Or(quote.Cut(p.Raw, 60), p.Text, harness.ShortIDs(p.ID)); thing != "" && len(things) < maxThings &&
				!slices.Contains(things, thing) {
				things = append(things, thing)
			}
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
		text := o.What.Words()
		if n > 1 {
			text = fmt.Sprintf("%d x %s", n, text)
		}
		if len(things) > 0 {
			text += ": " + strings.Join(things, " | ")
			if n > len(things) {
				text += " ..."
			}
		}
		out = append(out, fmt.Sprintf("  %-14s %s", linesText(lines)+":", text))
	}
	return out
}

func linesText(lines []int) string {
	if len(lines) > maxThings {
		return rank.Reason{Lines: lines[:maxThings]}.LinesText() + "..."
	}
	return rank.Reason{Lines: lines}.LinesText()
}
