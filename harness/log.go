package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Log has all observations of a run, in a list for each kind. Each list is in the order
// of arrival.
type Log struct {
	Calls []Call // of the client, in the order of their ends
	// Signals are the signals that the client sent.
	Signals []SentSignal
	// Reported has the reports of exits that the client received.
	Reported []exit.Observation
	// Observed has the states and lists that the client of a script requested. AskedWhile
	// has the states that the steps of a pause in the plan requested.
	Observed   []Observed
	AskedWhile []AskedWhile
	Events     []event.Task // of containerd
	Gaps       []event.Gap  // the periods without a subscription
	// Hits has each execution of a point that a probe reported.
	Hits []failpoints.Hit
	// Kills are the processes that the harness killed. Stops are the periods in which it
	// had frozen containerd. Reboots are the times at which it simulated a reboot of the
	// node, which empties /run.
	Kills   []Kill
	Stops   []Stop
	Reboots []time.Time
	// Deaths has each exit of containerd. The harness started it again each time.
	Deaths []daemon.Death
	// Exits has the processes that the init process of the world reaped.
	Exits []Exit
	// Stalls are the times in which the harness or the processes of the world stood still.
	Stalls []Stall
	// PIDReuses are idle processes that reuse the pid of an exited process.
	PIDReuses []PIDReuse
	// Belongings are the files and mounts of running containers and sandboxes, before and
	// after a restart of containerd or a soak step.
	Belongings []inventory.Belongings
	// Outlived has the processes of containers that still ran after containerd reported the
	// exit of the init. The harness looks for them only if the payload has children.
	Outlived []Outlived
	// IgnoredSIGTERM has the shims that still ran some time after the harness had sent them
	// SIGTERM.
	IgnoredSIGTERM []IgnoredSIGTERM
	// Logged has messages that containerd logged before After: all fatal messages, and very
	// frequent messages.
	Logged []Logged
	Notes  []Note // other incidents of the run, for people
}

// Record is one entry of the log in a history's JSON form. It has one key, which is the
// kind of the observation.
type Record struct {
	Call       *Call                 `json:"call,omitempty"`
	Signal     *SentSignal           `json:"signal,omitempty"`
	Reported   *exit.Observation     `json:"reported,omitempty"`
	Observed   *Observed             `json:"observed,omitempty"`
	AskedWhile *AskedWhile           `json:"askedWhile,omitempty"`
	Event      *event.Task           `json:"event,omitempty"`
	Gap        *event.Gap            `json:"gap,omitempty"`
	Hit        *failpoints.Hit       `json:"hit,omitempty"`
	Kill       *Kill                 `json:"kill,omitempty"`
	Stop       *Stop                 `json:"stop,omitempty"`
	Reboot     *time.Time            `json:"reboot,omitempty"`
	Death      *daemon.Death         `json:"death,omitempty"`
	Exit       *Exit                 `json:"exit,omitempty"`
	Stall      *Stall                `json:"stall,omitempty"`
	Belongings *inventory.Belongings `json:"belongings,omitempty"`
	Note       *Note                 `json:"note,omitempty"`
	// CRIDone is a successful call of CRI. The other keys of CRI are its responses and
	// events, as CRISeen describes them.
	CRIDone    *CRIDone        `json:"criDone,omitempty"`
	Status     *criview.Status `json:"status,omitempty"`
	NotStarted *criview.Status `json:"notStarted,omitempty"`
	Sandbox    *SandboxSeen    `json:"sandbox,omitempty"`
	Unanswered *SandboxSeen    `json:"unanswered,omitempty"`
	CRIEvent   *criview.Event  `json:"criEvent,omitempty"`
	State      *CRIState       `json:"state,omitempty"`
	Name       *CRIName        `json:"name,omitempty"`
	// These have no time, and are the last ones of a log.
	PIDReuse       *PIDReuse       `json:"pidReuse,omitempty"`
	Outlived       *Outlived       `json:"outlived,omitempty"`
	IgnoredSIGTERM *IgnoredSIGTERM `json:"ignoredSIGTERM,omitempty"`
	Logged         *Logged         `json:"logged,omitempty"`
}

// column is one list of a history, as the log has it.
type column struct {
	len  func(*History) int
	at   func(h *History, n int) time.Time // the time of an entry
	put  func(h *History, n int) Record    // the record of an entry
	take func(*History, Record)            // appends the entry of a record
}

func columnOf[T any](list func(*History) *[]T, entry func(*Record) **T, at func(*T) time.Time) column {
	return column{
		len: func(h *History) int { return len(*list(h)) },
		at:  func(h *History, n int) time.Time { return at(&(*list(h))[n]) },
		put: func(h *History, n int) (r Record) {
			*entry(&r) = &(*list(h))[n]
			return r
		},
		take: func(h *History, r Record) {
			if e := *entry(&r); e != nil {
				all := list(h)
				*all = append(*all, *e)
			}
		},
	}
}

// ofCRI is columnOf for a list of CRISeen. A history without it has no such entries.
func ofCRI[T any](list func(*CRISeen) *[]T, entry func(*Record) **T, at func(*T) time.Time) column {
	return columnOf(func(h *History) *[]T {
		if h.CRI == nil {
			return new([]T)
		}
		return list(h.CRI)
	}, entry, at)
}

// atEnd is the time of an entry without a time.
func atEnd[T any](*T) time.Time { return time.Unix(1<<40, 0) }

// columns has the lists of a history.
var columns = []column{
	columnOf(func(h *History) *[]Call { return &h.Calls },
		func(r *Record) **Call { return &r.Call }, func(c *Call) time.Time { return c.At.Add(c.Took) }),
	columnOf(func(h *History) *[]SentSignal { return &h.Signals },
		func(r *Record) **SentSignal { return &r.Signal }, func(s *SentSignal) time.Time { return s.At }),
	columnOf(func(h *History) *[]exit.Observation { return &h.Reported },
		func(r *Record) **exit.Observation { return &r.Reported }, func(o *exit.Observation) time.Time { return o.At }),
	columnOf(func(h *History) *[]Observed { return &h.Observed },
		func(r *Record) **Observed { return &r.Observed }, func(o *Observed) time.Time { return o.At.Add(o.Took) }),
	columnOf(func(h *History) *[]AskedWhile { return &h.AskedWhile },
		func(r *Record) **AskedWhile { return &r.AskedWhile }, func(a *AskedWhile) time.Time { return a.At.Add(a.Took) }),
	columnOf(func(h *History) *[]event.Task { return &h.Events },
		func(r *Record) **event.Task { return &r.Event }, func(e *event.Task) time.Time { return e.Seen }),
	columnOf(func(h *History) *[]event.Gap { return &h.Gaps },
		func(r *Record) **event.Gap { return &r.Gap }, func(g *event.Gap) time.Time { return g.From }),
	columnOf(func(h *History) *[]failpoints.Hit { return &h.Hits },
		func(r *Record) **failpoints.Hit { return &r.Hit }, func(x *failpoints.Hit) time.Time { return x.Time }),
	columnOf(func(h *History) *[]Kill { return &h.Kills },
		func(r *Record) **Kill { return &r.Kill }, func(k *Kill) time.Time { return k.At }),
	columnOf(func(h *History) *[]Stop { return &h.Stops },
		func(r *Record) **Stop { return &r.Stop }, func(s *Stop) time.Time { return s.From }),
	columnOf(func(h *History) *[]time.Time { return &h.Reboots },
		func(r *Record) **time.Time { return &r.Reboot }, func(t *time.Time) time.Time { return *t }),
	columnOf(func(h *History) *[]daemon.Death { return &h.Deaths },
		func(r *Record) **daemon.Death { return &r.Death }, func(d *daemon.Death) time.Time { return d.At }),
	columnOf(func(h *History) *[]Exit { return &h.Exits },
		func(r *Record) **Exit { return &r.Exit }, func(e *Exit) time.Time { return e.At }),
	columnOf(func(h *History) *[]Stall { return &h.Stalls },
		func(r *Record) **Stall { return &r.Stall }, func(s *Stall) time.Time { return s.From }),
	columnOf(func(h *History) *[]inventory.Belongings { return &h.Belongings },
		func(r *Record) **inventory.Belongings { return &r.Belongings },
		func(b *inventory.Belongings) time.Time { return b.At }),
	columnOf(func(h *History) *[]Note { return &h.Notes },
		func(r *Record) **Note { return &r.Note }, func(n *Note) time.Time { return n.At }),
	ofCRI(func(s *CRISeen) *[]CRIDone { return &s.Done },
		func(r *Record) **CRIDone { return &r.CRIDone }, func(d *CRIDone) time.Time { return d.At }),
	ofCRI(func(s *CRISeen) *[]criview.Status { return &s.Statuses },
		func(r *Record) **criview.Status { return &r.Status }, func(s *criview.Status) time.Time { return s.Seen }),
	ofCRI(func(s *CRISeen) *[]criview.Status { return &s.NotStarted },
		func(r *Record) **criview.Status { return &r.NotStarted }, func(s *criview.Status) time.Time { return s.Seen }),
	ofCRI(func(s *CRISeen) *[]SandboxSeen { return &s.Sandboxes },
		func(r *Record) **SandboxSeen { return &r.Sandbox }, func(s *SandboxSeen) time.Time { return s.Answered }),
	ofCRI(func(s *CRISeen) *[]SandboxSeen { return &s.Unanswered },
		func(r *Record) **SandboxSeen { return &r.Unanswered }, func(s *SandboxSeen) time.Time { return s.Answered }),
	ofCRI(func(s *CRISeen) *[]criview.Event { return &s.Events },
		func(r *Record) **criview.Event { return &r.CRIEvent }, func(e *criview.Event) time.Time { return e.Seen }),
	ofCRI(func(s *CRISeen) *[]CRIState { return &s.States },
		func(r *Record) **CRIState { return &r.State }, func(s *CRIState) time.Time { return s.Answered }),
	ofCRI(func(s *CRISeen) *[]CRIName { return &s.Names },
		func(r *Record) **CRIName { return &r.Name }, func(n *CRIName) time.Time { return n.At }),
	columnOf(func(h *History) *[]PIDReuse { return &h.PIDReuses },
		func(r *Record) **PIDReuse { return &r.PIDReuse }, atEnd[PIDReuse]),
	columnOf(func(h *History) *[]Outlived { return &h.Outlived },
		func(r *Record) **Outlived { return &r.Outlived }, atEnd[Outlived]),
	columnOf(func(h *History) *[]IgnoredSIGTERM { return &h.IgnoredSIGTERM },
		func(r *Record) **IgnoredSIGTERM { return &r.IgnoredSIGTERM }, atEnd[IgnoredSIGTERM]),
	columnOf(func(h *History) *[]Logged { return &h.Logged },
		func(r *Record) **Logged { return &r.Logged }, atEnd[Logged]),
}

// Records returns the log as one list in the order of time. The entries of a kind keep
// their order of arrival.
func (h *History) Records() []Record {
	type place struct {
		at     time.Time
		column *column
		n      int
	}
	var places []place
	for c := range columns {
		var last time.Time
		for n := range columns[c].len(h) {
			last = later(last, columns[c].at(h, n))
			places = append(places, place{last, &columns[c], n})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.at.Compare(b.at) })
	all := make([]Record, len(places))
	for n, p := range places {
		all[n] = p.column.put(h, p.n)
	}
	return all
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fields is a History without its methods.
type fields History

// historyText is the JSON form of a History.
type historyText struct {
	fields
	Log []Record `json:"log,omitempty"`
}

// MarshalJSON returns an object with the fields of the history, and the log as one list.
func (h History) MarshalJSON() ([]byte, error) {
	return json.Marshal(historyText{fields(h), h.Records()})
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown key is an error.
func (h *History) UnmarshalJSON(text []byte) error {
	var t historyText
	if err := strict(text, &t); err != nil {
		return err
	}
	*h = History(t.fields)
	taken := 0
	for _, c := range columns {
		for _, r := range t.Log {
			c.take(h, r)
		}
		taken += c.len(h)
	}
	if taken != len(t.Log) {
		return fmt.Errorf("each of the %d records must have one kind, and records of CRI need the key cri", len(t.Log))
	}
	return nil
}
