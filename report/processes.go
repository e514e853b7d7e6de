package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// life is the period in which a shim ran, as far as its hits show it.
type life struct {
	lane  int
	since time.Time
	last  time.Time
}

// shimOf returns the lane of the shim with a pid. The lane is named after the shim's
// first container.
func (b *builder) shimOf(pid int, id string, at time.Time) int {
	l := b.shims[pid]
	if l == nil {
		name := strings.TrimSpace("shim " + strconv.Itoa(pid) + " " + b.short(id))
		l = &life{lane: b.lane(Shim, name), since: at}
		b.shims[pid] = l
	}
	l.last = at
	return l.lane
}

// processes adds a bar for each shim and containerd. The bar lasts until the process
// exited, or until the last inventory.
func (b *builder) processes() {
	for _, d := range b.h.Deaths {
		text := fmt.Sprintf("ends with %d", d.Code)
		i := Item{Text: text, Mark: Ended, Took: d.BackIn, More: fmt.Sprintf("containerd, pid %d, ends with %d; "+
			"it responds again after %s", d.PID, d.Code, millis(d.BackIn)), key: "containerd " + text}
		b.add(b.lane(Containerd, "containerd"), d.At, i)
	}
	for _, p := range b.left() {
		b.shimOf(p.PID, p.ID, b.h.Done)
	}
	for _, pid := range slices.Sorted(maps.Keys(b.shims)) {
		b.life(pid, b.shims[pid])
	}
}

// left returns the leaked shims, according to the findings.
func (b *builder) left() (all []finding.Subject) {
	for _, f := range b.v.Violations() {
		if f.Invariant == finding.Leak && f.Class == finding.ClassShim {
			all = append(all, f.Subject)
		}
	}
	return all
}

// life adds the bar of a shim.
func (b *builder) life(pid int, l *life) {
	isLeft := slices.ContainsFunc(b.left(), func(s finding.Subject) bool { return s.PID == pid })
	exit := slices.IndexFunc(b.h.Exits, func(e harness.Exit) bool { return e.PID == pid && !e.At.Before(l.since) })
	bar := Item{Text: "shim " + strconv.Itoa(pid), Mark: Runs}
	to := l.last
	switch {
	case exit >= 0:
		to = b.h.Exits[exit].At
	case b.h.After != nil && isLeft:
		to = b.h.After.At
	}
	bar.Took = max(0, to.Sub(l.since))
	b.add(l.lane, l.since, bar)
	if isLeft && b.h.After != nil && b.h.After.At.After(b.h.Done) {
		b.add(l.lane, b.h.Done, Item{Text: fmt.Sprintf("LEFT: shim %d still runs", pid), Mark: Left,
			Took: b.h.After.At.Sub(b.h.Done), More: b.reason(func(f finding.Finding) bool { return f.Subject.PID == pid })})
	}
	if exit >= 0 {
		e := b.h.Exits[exit]
		b.add(l.lane, e.At, Item{Text: fmt.Sprintf("ends with %d", e.Code), Mark: Ended,
			More: fmt.Sprintf("shim %d was reaped by the world's init", pid), key: "shim ends"})
	}
}

// reason returns the text of the first finding for which the function `is` returns true.
func (b *builder) reason(is func(finding.Finding) bool) string {
	all := b.v.Violations()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return wording.Of(all[i])
	}
	return ""
}

// containers adds a bar for each payload, from the payload's own record.
func (b *builder) containers() {
	for _, in := range b.h.Instances {
		name := in.Name
		if in.PID != 0 {
			name += fmt.Sprintf(", pid %d", in.PID)
		}
		lane := b.lane(Container, name)
		p := in.Payload
		to := cmp.Or(p.ExitedAt, in.Waited, b.h.Done)
		bar := Item{Text: in.Name + " runs", Mark: Runs, More: "by the payload's own record"}
		if bar.Took = to.Sub(p.StartedAt); bar.Took > 0 {
			b.add(lane, p.StartedAt, bar)
		}
		for _, t := range b.v.Truths {
			if t.Exec == "" && (t.Container == in.ID || t.Container == in.Name) {
				b.add(lane, to, Item{Text: fmt.Sprintf("really ended: %d", t.Status), Mark: Ended,
					More: t.Source, key: fmt.Sprintf("%s ended %d", in.Name, t.Status)})
			}
		}
	}
}

// reported adds the exit statuses that containerd reported. If a report has no time,
// reported uses the time at which the client received it.
func (b *builder) reported() {
	_, _, reported := b.h.FirstUse()
	for _, o := range reported {
		if o.Observer == exit.ByTaskExit || o.Observer == exit.ByTaskDelete {
			continue // the event is already in its lane
		}
		i := Item{Text: fmt.Sprintf("%s reported %d", o.Observer, o.Status),
			More: strings.TrimSpace("of " + o.Container + " " + o.Exec)}
		if b.isWrong(o.Container, o.Exec, o.Observer, o.Status) {
			i.Mark, i.Text = Wrong, i.Text+": wrong"
			i.More = b.reason(func(f finding.Finding) bool {
				return f.Subject.ID == o.Container && f.Subject.Exec == o.Exec &&
					f.Facts[fact.By] == string(o.Observer)
			})
		}
		i.key = o.Container + " " + o.Exec + " " + i.Text
		b.add(b.lane(Reported, "exit codes"), b.reportedAt(o), i)
	}
}

// reportedAt returns the time at which the client received an exit status.
func (b *builder) reportedAt(o exit.Observation) time.Time {
	for _, in := range b.h.Instances {
		if o.Exec != "" || in.ID != o.Container && in.Name != o.Container {
			continue
		}
		switch {
		case o.Observer == exit.ByDelete && !in.Deleted.IsZero():
			return in.Deleted
		case !in.Waited.IsZero():
			return in.Waited
		}
	}
	if o.At.Before(b.zero) { // 1970, or none
		return b.h.Done
	}
	return o.At
}

// findings adds the findings about objects without a lane, at the time of the inventory.
func (b *builder) findings() {
	for _, f := range b.v.Violations() {
		if f.Invariant == finding.Leak && f.Class == finding.ClassShim {
			continue
		}
		at := b.h.Done
		if b.h.After != nil && f.Invariant == finding.Leak {
			at = b.h.After.At
		}
		mark := Wrong
		if f.Invariant == finding.Leak {
			mark = Left
		}
		at = cmp.Or(at, b.zero.Add(b.h.Took)) // the client was not done
		b.add(b.lane(Found, "findings"), at, Item{Text: wording.Subject(f), Mark: mark, More: wording.Of(f)})
	}
}
