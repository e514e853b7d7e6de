package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Kind is what a lane of a timeline is of. Lanes stand in the order of kinds.
type Kind string

// The kinds of lanes.
const (
	Faults     Kind = "fault"
	Client     Kind = "client"
	Containerd Kind = "containerd"
	Shim       Kind = "shim"
	Container  Kind = "container"
	Events     Kind = "event"
	Reported   Kind = "reported" // exit statuses that somebody reported
	Log        Kind = "log"      // warnings and errors of containerd's log
	Found      Kind = "found"    // findings of no process that has a lane
)

// Kinds are all kinds, in the order in which a reader sees them.
var Kinds = []Kind{Faults, Client, Containerd, Shim, Container, Events, Reported, Log, Found}

// Mark is why a reader must see an item.
type Mark string

// The marks.
const (
	NoMark  Mark = ""
	Injured Mark = "fault" // the injected fault
	Left    Mark = "left"  // what was left behind
	Wrong   Mark = "wrong" // a wrong exit status, or another thing that is not so
	Failed  Mark = "error" // a call that has failed
	Ended   Mark = "ended" // a process that has ended
	Waits   Mark = "phase" // what the harness does meanwhile, over all lanes
	Runs    Mark = "runs"  // the life of a process
	Minor   Mark = "minor" // a call that only asks, of which there are many
)

// Lane is a swim lane.
type Lane struct {
	Kind Kind
	Name string
}

// Item is something that happened, in words for people.
type Item struct {
	Lane int // in Timeline.Lanes; -1: all of them
	// At is when, since the run has begun; Took is 0 of a moment.
	At   time.Duration
	Took time.Duration
	Text string
	More string
	Mark Mark
	// Parted is set of what only one of two runs has done: see Part.
	Parted bool

	key string // the same for items of two runs that do the same; "": not compared
	// call names a method and an id. Items with the same call may have different results.
	call string
}

// Timeline is a history in swim lanes.
type Timeline struct {
	Lanes []Lane
	Items []Item
	// Done is when the client was done.
	Done time.Duration
	end  time.Duration // of the run
}

// Fault is when the first fault was, from which times are counted. A call that it was
// done to may have begun before it.
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

// NewTimeline is the timeline of a verdict's history. log is containerd's own, if it was
// kept.
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
	names map[string]string // of long ids, as people tell them apart
	shims map[int]*life
	end   time.Time // of the run's last look

	sandboxes int // that have names
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
	b.end = b.zero.Add(b.h.Took)
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

// add adds an item that began at a time; one whose time is not known is left out.
func (b *builder) add(lane int, at time.Time, i Item) {
	if at.IsZero() {
		return
	}
	i.Lane, i.At = lane, max(0, at.Sub(b.zero))
	i.Text, i.More, i.key, i.call = b.short(i.Text), b.short(i.More), b.short(i.key), b.short(i.call)
	b.items = append(b.items, i)
}

// longID is an id that CRI has made up.
var longID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// short writes containers' names for their long ids, and the first digits of others.
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

// millis is a duration for people.
func millis(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// phases are what the harness does once the client is done, over all lanes.
func (b *builder) phases() {
	phase := func(text string, from, to time.Time) {
		if !from.IsZero() && to.After(from) {
			b.add(-1, from, Item{Text: text, Took: to.Sub(from), Mark: Waits})
		}
	}
	if b.h.After == nil {
		return
	}
	phase("waits for what may still go away, and looks", b.h.Done, b.h.After.At)
	if b.h.Reuse != nil && b.h.Reuse.After != nil {
		phase("the first id is used again", b.h.After.At, b.h.Reuse.After.At)
	}
}
