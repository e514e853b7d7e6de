package read

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/exit"
)

// exitEvent is an event about an exit.
type exitEvent struct {
	line
	id, exec string
	status   int
	pid      int // 0 if the event has none
	source   string
}

// dockerState is a container's state, as docker inspect prints it.
type dockerState struct {
	line
	id, status string
	pid        int
}

var (
	ctrEvent    = regexp.MustCompile(`\s(\S+)\s+(/tasks/[\w-]+)\s+(\{.*\})$`)
	dockerEvent = regexp.MustCompile(`\bcontainer (die|kill|stop|start|create|destroy|oom|exec_die|exec_create|` +
		`exec_start)\S* ([0-9a-f]{12,64})(?:\s*\((.*)\))?`)
	exitCodeOf = regexp.MustCompile(`exitCode=(\d+)`)
)

// event takes a line of `ctr events` or `docker events`.
func (r *reader) event(l line) bool {
	if m := ctrEvent.FindStringSubmatch(" " + l.text); m != nil {
		if m[2] == "/tasks/exit" || m[2] == "/tasks/delete" {
			r.ctrExit(l, m[2], m[3])
		}
		r.ofNamespace(m[1])
		return true
	}
	if m := dockerEvent.FindStringSubmatch(l.text); m != nil {
		r.votes(Dockerd, 2)
		if m[1] == "die" {
			e := exitEvent{line: l, id: m[2], source: "docker", status: -1}
			if code := exitCodeOf.FindStringSubmatch(m[3]); code != nil {
				e.status, _ = strconv.Atoi(code[1])
			}
			r.exits = append(r.exits, e)
		}
		return true
	}
	return false
}

func (r *reader) ctrExit(l line, topic, object string) {
	var body struct {
		Container string `json:"container_id"`
		ID        string `json:"id"`
		PID       *int   `json:"pid"`
		Status    *int   `json:"exit_status"`
	}
	if json.Unmarshal([]byte(object), &body) != nil {
		return
	}
	e := exitEvent{line: l, id: body.Container, source: topic}
	if body.ID != "" && body.ID != body.Container {
		e.exec = body.ID
	}
	if body.Status != nil {
		e.status = *body.Status
	}
	if body.PID != nil {
		e.pid = *body.PID
	}
	r.exits = append(r.exits, e)
}

var (
	jsonField = regexp.MustCompile(`^"(\w+)":\s*("(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\{|\[|\{\}|\[\])?,?$`)
	jsonBrace = regexp.MustCompile(`^[\[\]{}]+,?$`)
	// Four lines of kubectl describe, which a chat program has joined.
	describedOnALine = regexp.MustCompile(`\bReason:\s+(\w+)\s+Exit Code:\s+(\d+)\b`)
	yamlField        = regexp.MustCompile(`^(State|Reason|Exit Code|Started|Finished|Last State|Message):\s+(\S.*)$`)
)

// inspected takes a line of the output of crictl inspect, docker inspect or kubectl
// describe.
func (r *reader) inspected(l line) bool {
	if r.inspectedOnALine(l) {
		return true
	}
	if m := describedOnALine.FindStringSubmatch(l.text); m != nil {
		r.votes(Kubelet, 2)
		r.inspect = inspection{}
		r.field(l, "Reason", m[1])
		r.field(l, "Exit Code", m[2])
		return true
	}
	if pid, err := strconv.Atoi(l.text); err == nil && strings.Contains(r.command, "crictl inspect ") {
		r.inspectedPIDs[pid] = listing{line: l, id: firstID(r.command)}
		return true
	}
	if jsonBrace.MatchString(l.text) {
		return true
	}
	if m := yamlField.FindStringSubmatch(l.text); m != nil { // kubectl describe pod
		r.votes(Kubelet, 2)
		r.field(l, m[1], strings.TrimSpace(m[2]))
		return true
	}
	m := jsonField.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	r.field(l, m[1], strings.Trim(m[2], `"`))
	return true
}

// inspectedOnALine notes the output of docker inspect -f '{{json .State}}'.
func (r *reader) inspectedOnALine(l line) bool {
	var state struct {
		Status   string
		Running  *bool
		Pid      int
		ExitCode int
	}
	if !strings.HasPrefix(l.text, "{") || json.Unmarshal([]byte(l.text), &state) != nil || state.Running == nil {
		return false
	}
	r.votes(Dockerd, 2)
	r.field(l, "Id", firstID(r.command))
	r.field(l, "Status", state.Status)
	r.field(l, "Pid", strconv.Itoa(state.Pid))
	r.field(l, "ExitCode", strconv.Itoa(state.ExitCode))
	return true
}

// field takes one field of a container, as CRI, kubectl or docker print it.
func (r *reader) field(l line, name, value string) {
	switch name {
	case "id", "Id", "ID":
		r.inspect = inspection{id: value}
	case "state", "State", "Status":
		if name == "Status" && (value == "running" || value == "exited") {
			r.docker = append(r.docker, dockerState{line: l, id: r.inspect.id, status: value})
		}
	case "Pid", "pid":
		if n, err := strconv.Atoi(value); err == nil && len(r.docker) > 0 {
			r.docker[len(r.docker)-1].pid = n
		}
	case "ip":
		if value == "" && strings.Contains(r.command, "inspectp") {
			r.see(Observation{What: PodWithoutIP, ID: firstID(r.command)}, l)
		}
	case "message", "Message":
		r.unmarked(line{n: l.n, text: value})
	case "reason", "Reason":
		r.inspect.reason = value
	case "exitCode", "ExitCode", "Exit Code":
		r.inspect.code, r.inspect.hasCode = value, true
		r.inspect.line = l
	default:
		return
	}
	r.judgeInspection(l)
}

// inspection has the fields that were read so far of one container in the output of an
// inspect command.
type inspection struct {
	line
	id, reason, code  string
	hasCode, reported bool
}

func (r *reader) judgeInspection(l line) {
	i := &r.inspect
	switch {
	case i.reported || !i.hasCode:
		return
	case i.reason == "StartError" || i.code == "128" && i.reason != "":
		r.see(Observation{What: StartError, ID: i.id}, l)
	case i.code == "255":
		r.see(Observation{What: Status255, ID: i.id, Facts: facts("reported=255")}, l)
	case i.code == "137" && i.reason == "Unknown":
		r.see(Observation{What: Status137, ID: i.id, Facts: facts("by=" + string(exit.ByCRIStatus))}, l)
	default:
		return
	}
	i.reported = true
}
