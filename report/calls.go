package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// calls adds the calls of the client and the notes of the harness.
func (b *builder) calls() {
	b.callsOf("client", b.h.Calls)
	for _, by := range b.h.Bystanders {
		b.callsOf("bystander", by.Calls)
	}
	for _, n := range b.h.Notes {
		i := Item{Text: n.Text, More: n.Who + " " + n.Text}
		if n.Err != nil {
			i.Mark, i.More = Failed, i.More+": "+n.Err.Text
		}
		b.add(b.lane(Client, cmp.Or(map[string]string{"client": "client"}[n.Who], "harness")), n.At, i)
	}
}

func (b *builder) callsOf(who string, all []harness.Call) {
	for _, c := range all {
		text := strings.TrimSpace(c.Verb + " " + c.Of)
		i := Item{Text: text, Took: c.Took, More: fmt.Sprintf("%s calls %s, which takes %s", c.Who, text, millis(c.Took))}
		if c.Says != "" {
			i.Text += ": " + c.Says
			i.More += ", and is answered " + c.Says
		}
		i.key = who + " " + i.Text
		if c.Err != nil {
			i.Mark = Failed
			i.Text += ": " + c.Err.Code
			i.More += ", and fails: " + c.Err.Text
			i.key += " fails"
		}
		if c.Who == "oracle" {
			i.key = "" // the harness takes inventories at varying times, so they are not compared
		}
		b.add(b.lane(Client, cmp.Or(map[string]string{"oracle": "harness"}[c.Who], who)), c.At, i)
	}
}

// faults adds the faults of the plan that have happened, and the misbehaviours of the
// fake shim.
func (b *builder) faults() {
	const lane = "faults"
	for _, hit := range b.h.Hits {
		if !b.hasFired(hit.Fault) {
			continue
		}
		text := string(hit.Did) + " at " + hit.Point
		b.add(b.lane(Faults, lane), hit.Time, Item{Text: text, Took: hit.Held, Mark: Injured, More: b.proof(hit.Fault)})
	}
	for _, k := range b.h.Kills {
		b.add(b.lane(Faults, lane), k.At,
			Item{Text: "SIGKILL to " + k.Who, Mark: Injured, More: fmt.Sprintf("%s, pid %d", k.Who, k.PID)})
	}
	for _, s := range b.h.Stops {
		i := Item{Text: "containerd is frozen", Mark: Injured, More: "SIGSTOP"}
		if !s.To.IsZero() {
			i.Took = s.To.Sub(s.From)
		}
		b.add(b.lane(Faults, lane), s.From, i)
	}
	for _, f := range b.h.Firings {
		if f.Fault < 0 && f.Count > 0 {
			b.add(b.lane(Faults, lane), f.At, Item{Text: f.Text, Mark: Injured, More: f.Proof})
		}
	}
}

// hasFired reports whether a fault of the plan had an effect. For example, a cancelled
// context that no code checks has none.
func (b *builder) hasFired(fault int) bool {
	return fault >= 0 && !slices.ContainsFunc(b.h.Firings, func(f harness.Firing) bool {
		return f.Fault == fault && f.Count == 0
	})
}

// proof returns the evidence that a fault of the plan has happened.
func (b *builder) proof(fault int) string {
	for _, f := range b.h.Firings {
		if f.Fault == fault {
			return f.Text + ": " + f.Proof
		}
	}
	return ""
}

// hits adds the methods and statements that failpoints reported. A method lasts from its
// entry to its exit.
func (b *builder) hits() {
	open := map[string][]failpoints.Hit{}
	for _, hit := range b.h.Hits {
		p := hit.ParsedPoint()
		if p.Kind != failpoints.RPC {
			b.statement(hit, p.What+":"+p.Where)
			continue
		}
		key := fmt.Sprint(hit.PID, p.What, hit.ID)
		if p.Where == "entry" {
			open[key] = append(open[key], hit)
			continue
		}
		if n := len(open[key]); n > 0 { // of nested calls, the last to begin is the first to end
			from := open[key][n-1]
			open[key] = open[key][:n-1]
			if from.Fault >= 0 {
				hit.Fault, hit.Did = from.Fault, from.Did
			}
			took := hit.Time.Sub(from.Time)
			hit.Time = from.Time
			b.hit(hit, p.What, took)
			continue
		}
		b.hit(hit, p.What, 0)
	}
	for _, all := range open {
		for _, hit := range all { // calls without a response: a process died, or a connection broke
			hit.Err = cmp.Or(hit.Err, "no response was recorded")
			b.hit(hit, hit.ParsedPoint().What, 0)
		}
	}
}

// statement adds a statement. Statements are not compared with the run without the fault,
// because failpoints report only statements near the fault of a case.
func (b *builder) statement(hit failpoints.Hit, text string) {
	if b.hasFired(hit.Fault) {
		b.hit(hit, text, hit.Held)
		return
	}
	lane := b.lane(Containerd, "containerd")
	if hit.Who == "shim" {
		lane = b.shimOf(hit.PID, hit.ID, hit.Time)
	}
	b.add(lane, hit.Time, Item{Text: text, Mark: Minor, More: fmt.Sprintf("%s, pid %d", hit.Point, hit.PID)})
}

// minor are the methods that only read, or that forward an event, which is in a lane of
// its own.
var minor = []string{"Task.State", "Task.Connect", "Task.Pids", "Task.Stats", "Events.Forward", "Sandbox.Platform",
	"Sandbox.SandboxStatus", "Sandbox.PingSandbox"}

// hit adds one method or statement of containerd or of a shim.
func (b *builder) hit(hit failpoints.Hit, text string, took time.Duration) {
	i := Item{Text: strings.TrimSpace(text + " " + hit.ID), Took: took, Mark: NoMark}
	i.key = hit.Who + " " + i.Text
	i.call = i.key
	i.More = fmt.Sprintf("%s, pid %d", hit.Point, hit.PID)
	if slices.Contains(minor, text) {
		i.Mark, i.key = Minor, ""
	}
	if hit.Status != nil {
		i.Text += fmt.Sprintf(": %d", *hit.Status)
		if i.key != "" {
			i.key += fmt.Sprintf(": %d", *hit.Status)
		}
	}
	if hit.Err != "" {
		i.More += ": " + hit.Err
		if i.key != "" {
			i.Mark, i.key = Failed, i.key+" fails"
		}
	}
	if b.hasFired(hit.Fault) {
		i.Mark, i.Text = Injured, i.Text+" ("+string(hit.Did)+")"
		i.key = ""
	}
	lane := b.lane(Containerd, "containerd")
	if hit.Who == "shim" {
		lane = b.shimOf(hit.PID, hit.ID, hit.Time)
	}
	b.add(lane, hit.Time, i)
}

// events adds the events of containerd and CRI, and the periods in which no client is
// subscribed.
func (b *builder) events() {
	lane := b.lane(Events, "events")
	for _, e := range b.h.Events {
		topic := strings.TrimPrefix(e.Topic, "/tasks/")
		i := Item{Text: strings.TrimSpace(topic + " " + e.Container + " " + e.Exec)}
		if topic == "exit" || topic == "delete" {
			i.Text += fmt.Sprintf(": %d", e.Status)
		}
		i.key = "event " + i.Text
		i.More = fmt.Sprintf("%s of %s, pid %d, status %d; it arrived %s after it was sent",
			e.Topic, e.Container, e.PID, e.Status, millis(e.Seen.Sub(e.Sent)))
		by := map[string]exit.Observer{"exit": exit.ByTaskExit, "delete": exit.ByTaskDelete}[topic]
		if b.isWrong(e.Container, e.Exec, by, e.Status) {
			i.Mark = Wrong
		}
		b.add(lane, e.Seen, i)
	}
	for _, g := range b.h.Gaps {
		if !g.To.IsZero() {
			b.add(lane, g.From, Item{Text: "no client is subscribed", Took: g.To.Sub(g.From), Mark: Ended})
		}
	}
	if b.h.CRI == nil {
		return
	}
	for _, e := range b.h.CRI.Events {
		kind := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(e.Type, "CONTAINER_"), "_EVENT"))
		i := Item{Text: kind + " " + e.ID, More: fmt.Sprintf("%s, %s", e.Type, cmp.Or(e.State, "without a state"))}
		if kind == "stopped" && e.State != "" {
			i.Text += fmt.Sprintf(": %d", e.ExitCode)
		}
		i.key = "cri-event " + i.Text
		b.add(b.lane(Events, "CRI events"), e.Seen, i)
	}
}

// isWrong reports whether a finding says that an exit status is wrong.
func (b *builder) isWrong(container, exec string, by exit.Observer, status uint32) bool {
	return slices.ContainsFunc(b.v.Violations(), func(f finding.Finding) bool {
		return f.Invariant == finding.Exit && f.Subject.ID == container && f.Subject.Exec == exec &&
			f.Facts[fact.By] == string(by)
	}) && slices.ContainsFunc(b.v.Truths, func(t exit.Truth) bool {
		return t.Container == container && t.Exec == exec && t.Status != status
	})
}
