package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// A finding names the dead reporters, and a creation that was cut off.
func TestCircumstances(t *testing.T) {
	const none = ""
	wrong := func(h *harness.History) { h.Reported[0].Status = 137 }
	group := func(h *harness.History) {
		h.After.Inventory.Cgroups = []inventory.Cgroup{{Path: "/sys/fs/cgroup/w/shimquake/c0", Rel: "shimquake/c0"}}
	}
	noStart := func(h *harness.History) {
		h.Events = slices.DeleteFunc(h.Events, func(e event.Task) bool { return e.Topic == event.TopicStart })
		h.Flushed.Events = len(h.Events)
	}
	noPID := func(h *harness.History) {
		for n := range h.Events {
			if h.Events[n].Topic == event.TopicExit {
				h.Events[n].PID = 0
			}
		}
	}
	sandboxNoPID := func(h *harness.History) {
		h.Hits = append(h.Hits, hit("rpc:shim:Task.Shutdown:entry", 20, func(h *failpoints.Hit) { h.ID, h.PID = "s0", 43 }))
		h.Events = append(h.Events, event.Task{
			Namespace: "shimquake", Topic: event.TopicExit, Container: "s0", Exited: at(30), Seen: at(31)})
		h.Flushed.Events = len(h.Events)
	}
	socket := func(h *harness.History) {
		h.Case.Workload.Grouped = true
		h.After.Inventory.Sockets = []inventory.Socket{{Path: "/run/containerd/s/1"}}
	}
	serves := func(h *harness.History, id string, pid, ms int) {
		h.Hits = append(h.Hits, hit(createEntry, ms, func(h *failpoints.Hit) { h.ID, h.PID = id, pid }))
	}
	shim := func(h *harness.History) {
		h.Case.Workload.Grouped = true
		leave(inventory.Process{PID: 42, Start: 1, Shim: &inventory.ShimArgs{ID: "c0", Namespace: "shimquake"}})(h)
	}
	unheard := func(h *harness.History) {
		h.Case.Workload.Grouped = true
		killedByNobody(h)
		reportedToNobody(h)
	}
	both := func(h *harness.History, last int) {
		serves(h, "c0", 42, 10)
		serves(h, "c1", 43, 45)
		h.Hits = append(h.Hits, hit("rpc:shim:Task.State:entry", last, nil))
	}
	for name, tc := range map[string]struct {
		wrong, change func(*harness.History)
		key           fact.Key
		want          string
	}{
		"containerd was up": {wrong, func(*harness.History) {}, fact.Containerd, none},
		"containerd died before the exit": {wrong, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(25), BackIn: 10 * time.Millisecond}}
		}, fact.Containerd, fact.Down},
		"containerd was back before the exit": {wrong, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(15), BackIn: 10 * time.Millisecond}}
		}, fact.Containerd, none},
		"containerd died just after it": {wrong, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(40)}}
		}, fact.Containerd, fact.Down},
		"containerd died long after it": {wrong, func(h *harness.History) {
			h.Deaths, h.After.At = []daemon.Death{{At: at(6000)}}, at(7000)
		}, fact.Containerd, none},
		"containerd is restarted after the look": {wrong, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(55), Asked: true}}
		}, fact.Containerd, none},
		"its shim was killed": {wrong, func(h *harness.History) {
			kill(h, "shim", 42)
		}, fact.Shim, fact.Dead},
		"no event of a start":     {noStart, func(*harness.History) {}, fact.Shim, none},
		"its shim died before it": {noStart, func(h *harness.History) { kill(h, "shim", 42) }, fact.Shim, fact.Dead},
		"another shim died then":  {noStart, func(h *harness.History) { kill(h, "shim", 99) }, fact.Shim, none},
		"its shim died much later": {noStart, func(h *harness.History) {
			kill(h, "shim", 42)
			h.Kills[len(h.Kills)-1].At = at(9000)
		}, fact.Shim, none},
		"another shim was killed": {wrong, func(h *harness.History) {
			kill(h, "shim", 99)
		}, fact.Shim, none},
		"no pid, and its Create was answered": {noPID, func(h *harness.History) {
			kill(h, "shim", 42)
		}, fact.Create, none},
		"no pid, and its Create failed": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "x"
		}, fact.Create, none},
		"no pid, and its shim died in Create": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			kill(h, "shim", 42)
		}, fact.Create, fact.CutOff},
		"no pid, and containerd died before its Create had failed": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			downFor(8, 12)(h)
		}, fact.Containerd, fact.Down},
		"no pid, and a fault had killed containerd by then, whose end was seen later": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			downFor(30, 40)(h)
			h.Deaths[len(h.Deaths)-1].PID, h.Deaths[len(h.Deaths)-1].Asked = 12, false
			crash := hit("stmt:containerd:x:y", 8, nil)
			crash.Who, crash.PID, crash.Did = "containerd", 12, term.Crash
			h.Hits = append(h.Hits, crash)
		}, fact.Containerd, fact.Down},
		"no pid, and containerd died before its Create was answered": {noPID, downFor(8, 12), fact.Containerd, none},
		"no pid, and it was created when containerd was back": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			downFor(8, 12)(h)
			h.Hits = append(h.Hits, hit(createEntry, 14, nil), hit(createExit, 16, nil))
		}, fact.Containerd, none},
		"no pid, and containerd died when its Create had failed": {noPID, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			downFor(30, 40)(h)
		}, fact.Containerd, none},
		"no pid, and a shim was asked to create it": {noPID, func(*harness.History) {}, fact.Create, none},
		"no pid, and no shim was asked to create it": {noPID, func(h *harness.History) {
			h.Hits[0].Point, h.Hits[1].Point = shutdownEntry, shutdownEntry
		}, fact.Create, fact.NotAsked},
		"no pid of a sandbox that no shim was asked to create": {sandboxNoPID, func(*harness.History) {},
			fact.Create, fact.NotAsked},
		"no pid of a sandbox that a shim was asked to create": {sandboxNoPID, func(h *harness.History) {
			serves(h, "s0", 43, 15)
		}, fact.Create, none},
		"no pid, and a shim was asked only after the look": {noPID, func(h *harness.History) {
			h.Hits[0].Time, h.Hits[1].Time = at(55), at(56)
		}, fact.Create, fact.NotAsked},
		"a group of what was created": {group, func(*harness.History) {}, fact.Create, none},
		"a group of what was never created": {group, func(h *harness.History) {
			h.Hits[1].Err = "killed"
		}, fact.Create, fact.CutOff},
		"the shim never answered": {group, func(h *harness.History) {
			h.Hits = []failpoints.Hit{h.Hits[0], h.Hits[2], h.Hits[2]}
		}, fact.Create, fact.CutOff},
		"nobody asked a shim": {group, func(h *harness.History) {
			h.Hits = []failpoints.Hit{h.Hits[2], h.Hits[2], h.Hits[2]}
		}, fact.Create, none},
		"it was created after the look": {group, func(h *harness.History) {
			h.Hits[1].Err = "killed"
			h.Hits = append(h.Hits, hit(createEntry, 56, nil), hit(createExit, 58, nil))
		}, fact.Create, fact.CutOff},
		"a socket of a group that its own shim served": {socket, func(*harness.History) {}, fact.Served, none},
		"which that of a neighbour served after it": {socket, func(h *harness.History) {
			serves(h, "c1", 43, 45)
		}, fact.Served, fact.ByNeighbour},
		"which its own served after that of a neighbour": {socket, func(h *harness.History) {
			serves(h, "c1", 43, 45)
			serves(h, "c0", 44, 46)
		}, fact.Served, none},
		"whose shim served the neighbour, too": {socket, func(h *harness.History) {
			serves(h, "c1", 42, 45)
		}, fact.Served, none},
		"which a neighbour's served only after the look": {socket, func(h *harness.History) {
			serves(h, "c1", 43, 55)
		}, fact.Served, none},
		"a shim of a group that has one": {shim, func(*harness.History) {}, fact.Served, none},
		"a shim of a group that has two": {shim, func(h *harness.History) { both(h, 46) }, fact.Served,
			fact.ByTwo},
		"whose other began when it was gone": {shim, func(h *harness.History) { both(h, 44) }, fact.Served, none},
		"a shim of no group": {shim, func(h *harness.History) {
			h.Case.Workload.Grouped = false
			both(h, 46)
		}, fact.Served, none},
		"an exit of a killed container of a group that has one": {unheard, func(*harness.History) {}, fact.Served, none},
		"an exit of a killed container of a group that has two": {unheard, func(h *harness.History) { both(h, 46) },
			fact.Served, fact.ByTwo},
		"an exit of one that the client killed": {unheard, func(h *harness.History) {
			both(h, 46)
			h.Signals = sigkill(12)
		}, fact.Served, none},
		"a socket of no group": {socket, func(h *harness.History) {
			h.Case.Workload.Grouped = false
			serves(h, "c1", 43, 45)
		}, fact.Served, none},
		"a group's socket that somebody listens on": {socket, func(h *harness.History) {
			h.After.Inventory.Sockets[0].Listening = true
			serves(h, "c1", 43, 45)
		}, fact.Served, none},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			tc.wrong(&h)
			tc.change(&h)
			v := Judge(h, catalogued)
			for _, f := range v.Findings {
				of := []finding.Class{finding.ClassExitCode, finding.ClassCgroup, finding.ClassEvent, finding.ClassSocket,
					finding.ClassShim}
				if slices.Contains(of, f.Class) && f.Facts[tc.key] == tc.want {
					return
				}
			}
			t.Errorf("no finding has %q\n%s", tc.want, v)
		})
	}
}

// A missing event of a sandbox, which is not a container of the workload, also has the
// state of the shim.
func TestCircumstancesOfASandboxsEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		topic  string
		killed int // the pid of a shim
		ms     int
		want   string
	}{
		"its shim died when it had answered":   {event.TopicStart, 43, 25, fact.Dead},
		"another shim died":                    {event.TopicStart, 99, 25, ""},
		"its shim died much later":             {event.TopicStart, 43, 9000, ""},
		"its end is what containerd tells of":  {event.TopicExit, 43, 25, ""},
		"that of a create that nobody has had": {event.TopicCreate, 43, 25, ""},
	} {
		h := clean()
		h.Hits = append(h.Hits, hit("rpc:shim:Task.Start:exit", 20, func(h *failpoints.Hit) { h.ID, h.PID = "s0", 43 }))
		h.Flushed.Hits = len(h.Hits)
		h.Kills = append(h.Kills, harness.Kill{Who: "shim", PID: tc.killed, At: at(tc.ms)})
		found := circumstances(runOf(&h), []finding.Finding{{Invariant: finding.Event, Class: finding.ClassEvent,
			Subject: finding.Subject{ID: "s0"},
			Facts:   fact.Facts{fact.Event: fact.Missing, fact.Topic: tc.topic}}})
		if got := found[0].Facts[fact.Shim]; got != tc.want {
			t.Errorf("%s: shim is %q, want %q", name, got, tc.want)
		}
	}
}
