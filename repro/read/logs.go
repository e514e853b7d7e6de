package read

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/repro/statement"
)

// Logged matches the lines of containerd's log with its statements, in their order.
func Logged(log string) (all []statement.Match) {
	for line := range strings.Lines(log) {
		if rec, ok := unwrap(strings.TrimSpace(line)); ok && rec.message != "" {
			all = append(all, rec.made())
		}
	}
	return all
}

func (r record) made() statement.Match {
	return statement.KnownTable().Line(r.message, cmp.Or(r.fields["error"], r.fields["err"]))
}

// logged notes a line of a log, or an error that a client printed.
func (r *reader) logged(l line, rec record) {
	whole := rec.message
	for _, field := range []string{"error", "err"} {
		if e := rec.fields[field]; e != "" && !strings.Contains(whole, e) {
			whole += ": " + e
		}
	}
	id := firstID(rec.fields["id"], rec.fields["container-id"], rec.fields["containerID"], rec.fields["sandboxID"], whole)
	if v := rec.fields["version"]; v != "" && strings.Contains(whole, "starting containerd") {
		r.version(v, l, byLog)
	}
	r.tell(l, rec, whole, id)
	if strings.Contains(whole, "ot found") && rec.asked() {
		if of := cmp.Or(firstID(r.command), id); of != "" {
			r.unknown[of] = l.n
		}
	}
	if rec.fields["pod"] != "" {
		r.votes(Kubelet, 2)
	}
	switch rec.program {
	case "kubelet":
		r.votes(Kubelet, 2)
	case "dockerd":
		r.votes(Dockerd, 2)
	}
}

// asked reports whether the record is the output of a command.
func (r record) asked() bool {
	return strings.HasPrefix(r.program, "crictl") || r.program == "" && r.level == "fatal"
}

// tell notes what a message means. It knows this from containerd's log statements, or
// from the program that printed the message.
func (r *reader) tell(l line, rec record, whole, id string) {
	made := rec.made()
	o := Observation{ID: id, Namespace: rec.fields["namespace"], Made: made, Facts: codeOf(whole), Logged: true}
	told := r.say(l, ofTheSystem, whole, o) || r.say(l, ofClients, whole, o)
	usual := false
	for _, w := range meanings(made, cmp.Or(rec.level, "error")) {
		o.What = w
		r.see(o, l)
		usual = usual || kinds[w].sort == Context
	}
	known := rec.fields != nil || rec.level != "" || isKnownProgram(rec.program)
	if !known && !told && len(made.Chain) == 0 {
		r.rest(l)
		return
	}
	r.see(Observation{What: LoggedMessage, ID: id, Text: callerr.Comparable(whole), Raw: bounded(whole),
		Level: rec.level, Made: made, Usual: usual}, l)
	r.understand()
}

// The forms of events and errors that clients print.
var (
	// An event of kubectl describe, and one of kubectl get events.
	kubeEvent = regexp.MustCompile(`^(Normal|Warning)\s+(\w+)\s+(?:\d+[smhd]\w*|<\w+>)(?: \(x\d+ over [^)]*\))?` +
		`\s+[\w-]+(?:, \S+)?\s+(.*)$`)
	kubeEvents = regexp.MustCompile(`^(?:<\w+>|\d+[smhd]\w*)\s+(Normal|Warning)\s+(\w+)\s+\w+/\S+\s+(.*)$`)
	// An error of a client.
	clientError = regexp.MustCompile(`^(?:(?:ctr|docker|nerdctl|crictl|kubectl)(?:\[\d+\])?: |Error(?: response from ` +
		`daemon)?: |error: )+(.*)$`)
	rpcText = "rpc error: code = "
)

// leastLetters is the minimum number of letters in a text outside a log that counts as
// an error of containerd.
const leastLetters = 16

// printed notes a line that a client or the kernel printed, and that has not the form
// of a log.
func (r *reader) printed(l line) bool {
	if r.say(l, ofTheSystem, l.text, Observation{Logged: true}) {
		return true
	}
	rec := record{level: "error", message: l.text}
	for _, p := range []*regexp.Regexp{kubeEvent, kubeEvents} {
		if m := p.FindStringSubmatch(l.text); m != nil {
			r.votes(Kubelet, 2)
			rec.program, rec.message = "kubelet", m[3]
			if m[1] == "Normal" {
				rec.level = "info"
			}
			r.say(l, ofClients, m[2], Observation{Logged: true}) // its reason
			r.logged(l, rec)
			return true
		}
	}
	m := clientError.FindStringSubmatch(l.text)
	if m == nil && !strings.Contains(l.text, rpcText) {
		return r.say(l, ofSettings, l.text, Observation{})
	}
	if m != nil {
		rec.message = m[1]
	}
	r.logged(l, rec)
	return true
}

// unmarked notes an error on a line of its own.
func (r *reader) unmarked(l line) bool {
	m := statement.KnownTable().Error(l.text)
	if len(m.Chain) == 0 || m.Unknown != "" || m.Weight() < leastLetters {
		return false
	}
	r.logged(l, record{level: "error", message: l.text})
	return true
}

// longestRaw limits the part of a message that is kept, in bytes.
const longestRaw = 600

func bounded(text string) string {
	if len(text) > longestRaw {
		return strings.ToValidUTF8(text[:longestRaw], "")
	}
	return text
}

func isKnownProgram(p string) bool {
	return strings.HasPrefix(p, "containerd") || p == "dockerd" || p == "kubelet" || p == "kernel" ||
		strings.HasPrefix(p, "systemd")
}

// uuid matches kubelet's id of a pod. Its end looks like the id of a container.
var uuid = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

var anID = regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{12,13}\b`)

// firstID returns the first id in some texts.
func firstID(texts ...string) string {
	for _, t := range texts {
		if id := anID.FindString(uuid.ReplaceAllString(t, "")); id != "" {
			return id
		}
	}
	for _, t := range texts[:max(len(texts)-1, 0)] { // all texts but the last are fields for an id, so any value is an id
		if t != "" {
			return t
		}
	}
	return ""
}
