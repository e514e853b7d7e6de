package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Kind is the kind of a timeline's lane. Lanes are in the order of kinds.
type Kind string

// The kinds of lanes.
const (
	Faults     Kind = "fault"
	Client     Kind = "client"
	Containerd Kind = "containerd"
	Shim       Kind = "shim"
	Container  Kind = "container"
	Events     Kind = "event"
	Reported   Kind = "reported" // reported exit statuses
	Log        Kind = "log"      // warnings and errors of containerd's log
	Found      Kind = "found"    // findings about objects without a lane
)

// Kinds are all kinds, in the order in which a reader sees them.
var Kinds = []Kind{Faults, Client, Containerd, Shim, Container, Events, Reported, Log, Found}

// Mark says why an item is highlighted, or toned down.
type Mark string

// The marks.
const (
	NoMark Mark = ""
	// Injured marks the injected fault.
	Injured Mark = "fault"
	// Left marks a leaked resource.
	Left Mark = "left"
	// Wrong marks a wrong exit status, or another wrong report.
	Wrong Mark = "wrong"
	// Failed marks a call that failed.
	Failed Mark = "error"
	// Ended marks the end of a process.
	Ended Mark = "ended"
	// Waits marks a phase of the harness. It covers all lanes.
	Waits Mark = "phase"
	// Runs marks the life of a process.
	Runs Mark = "runs"
	// Minor marks a call that only reads. There are many of them.
	Minor Mark = "minor"
)

// Lane is a row of the timeline, for one process or one source of items.
type Lane struct {
	Kind Kind
	Name string
}

// Item is an event in a lane, in words for people.
type Item struct {
	Lane int // in Timeline.Lanes; -1 for all lanes
	// At is the time since the beginning of the run. Took is 0 for a moment.
	At   time.Duration
	Took time.Duration
	Text string
	More string
	Mark Mark
	// Parted is set if only one of two runs has the item: see MarkDifferences.
	Parted bool

	key string // equal for corresponding items of two runs; "" if the item is not compared
	// call names a method and an id. Items with the same call may have different results.
	call string
}

// Timeline is a history as items in lanes.
type Timeline struct {
	Lanes []Lane
	Items []Item
	// Done is the time at which the client was done.
	Done time.Duration
	end  time.Duration // of the run
}

// Fault returns the time of the first fault. The page shows times relative to it. The
// call that it hit may have begun earlier.
func (t *Timeline) Fault() (at time.Duration, ok bool) {
	for _, i := range t.Items {
		if i.Mark != Injured {
			continue
		}
		if t.Lanes[i.Lane].Kind == Faults {
			return i.At, true
		}
		if !ok {
			at, ok = i.At, true
		}
	}
	return at, ok
}

// NewTimeline returns the timeline of a verdict's history. log is containerd's log, or
// nil if it was not kept.
func NewTimeline(v harness.Verdict, log []byte) Timeline {
	if v.History == nil {
		return Timeline{}
	}
	b := newBuilder(v)
	b.faults()
	b.calls()
	b.hits()
	b.processes()
	b.containers()
	b.events()
	b.reported()
	b.log(log)
	b.findings()
	b.phases()
	return b.timeline()
}

// builder makes a timeline of one verdict.
type builder struct {
	v     harness.Verdict
	h     *harness.History
	zero  time.Time
	lanes map[Lane]int
	order []Lane
	items []Item
	names map[string]string // short names for long ids
	shims map[int]*life

	sandboxes int // the number of sandboxes in names
}

func newBuilder(v harness.Verdict) *builder {
	b := &builder{v: v, h: v.History, zero: v.History.Began, lanes: map[Lane]int{}, names: map[string]string{},
		shims: map[int]*life{}}
	for _, i := range b.h.Instances {
		if i.ID != "" && i.ID != i.Name {
			b.names[i.ID] = i.Name
		}
	}
	if b.h.CRI != nil {
		for _, d := range b.h.CRI.Done {
			if d.Verb == "RunPodSandbox" && b.names[d.ID] == "" {
				b.names[d.ID] = "sandbox" + strings.Repeat("'", b.sandboxes)
				b.sandboxes++
			}
		}
	}
	return b
}

func (b *builder) lane(kind Kind, name string) int {
	l := Lane{kind, name}
	n, ok := b.lanes[l]
	if !ok {
		n = len(b.order)
		b.lanes[l], b.order = n, append(b.order, l)
	}
	return n
}

// add adds an item that began at the given time. It omits an item with the zero time.
func (b *builder) add(lane int, at time.Time, i Item) {
	if at.IsZero() {
		return
	}
	i.Lane, i.At = lane, max(0, at.Sub(b.zero))
	i.Text, i.More, i.key, i.call = b.short(i.Text), b.short(i.More), b.short(i.key), b.short(i.call)
	b.items = append(b.items, i)
}

// longID matches an id that CRI generated.
var longID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// short replaces long ids by the names of their containers, or by their first digits.
func (b *builder) short(text string) string {
	return longID.ReplaceAllStringFunc(text, func(id string) string { return cmp.Or(b.names[id], id[:12]) })
}

// timeline sorts the lanes by kind, and the items by time.
func (b *builder) timeline() Timeline {
	t := Timeline{Lanes: slices.Clone(b.order), Items: b.items, end: b.h.Took}
	slices.SortStableFunc(t.Lanes, func(x, y Lane) int {
		return cmp.Compare(slices.Index(Kinds, x.Kind), slices.Index(Kinds, y.Kind))
	})
	for i := range t.Items {
		if n := t.Items[i].Lane; n >= 0 {
			t.Items[i].Lane = slices.Index(t.Lanes, b.order[n])
		}
	}
	slices.SortStableFunc(t.Items, func(x, y Item) int { return cmp.Compare(x.At, y.At) })
	if !b.h.Done.IsZero() {
		t.Done = b.h.Done.Sub(b.zero)
	}
	return t
}

// millis returns a duration for people.
func millis(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// phases adds the steps of the harness after the client is done. They cover all lanes.
func (b *builder) phases() {
	phase := func(text string, from, to time.Time) {
		if !from.IsZero() && to.After(from) {
			b.add(-1, from, Item{Text: text, Took: to.Sub(from), Mark: Waits})
		}
	}
	if b.h.After == nil {
		return
	}
	phase("waits until nothing changes, and takes the inventory", b.h.Done, b.h.After.At)
	if b.h.Reuse != nil && b.h.Reuse.After != nil {
		phase("uses the first id again", b.h.After.At, b.h.Reuse.After.At)
	}
}
