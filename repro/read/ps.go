package read

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// process is a row of ps.
type process struct {
	line
	pid, ppid int // ppid is -1 if the row has none
	state     string
	args      string
	// id is the container of a shim, and namespace its namespace.
	namespace, id string
}

// table is the header of a table. The next lines are its rows.
type table struct {
	kind    string // ps, tasks, containers, pods, df
	columns []string
}

var psColumns = []string{"PID", "PPID", "CMD", "COMMAND", "ARGS", "STAT", "S", "TTY", "TIME", "USER", "UID",
	"ELAPSED", "STIME", "START"}

// header notes the first line of a table.
func (r *reader) header(l line) bool {
	words := strings.Fields(l.text)
	upper := strings.ToUpper(l.text) == l.text
	has := func(names ...string) bool {
		for _, n := range names {
			if !slices.Contains(words, n) {
				return false
			}
		}
		return upper
	}
	kind := ""
	switch {
	case has("TASK", "PID", "STATUS"):
		kind = "tasks"
	case has("CONTAINER", "IMAGE", "RUNTIME"):
		kind = "containers"
	case has("CONTAINER", "ID") && strings.HasPrefix(l.text, "CONTAINER ID"): // docker ps
		kind = "docker"
		r.votes(Dockerd, 2)
	case has("POD", "ID") && strings.HasPrefix(l.text, "POD ID"):
		kind = "pods"
	case has("CONTAINER", "IMAGE", "STATE"):
		kind = "crictl"
	case has("NAME", "STATUS", "VERSION"), has("NAME", "READY", "STATUS"): // kubectl
		kind = "kubectl"
	case has("PID") && (has("CMD") || has("COMMAND") || has("ARGS")) && isPS(words):
		kind = "ps"
	}
	if kind == "" {
		return false
	}
	r.table = &table{kind: kind, columns: words}
	if _, seen := r.listings[kind]; !seen && kind != "ps" && !filtered(r.command) {
		r.listings[kind] = l.n
	}
	if kind == "ps" && r.command != "" && !filtered(r.command) && !psOne.MatchString(r.command) {
		r.fullPS = true
	}
	if kind == "ps" {
		r.psAnswer(l)
	}
	return true
}

func isPS(words []string) bool {
	n := 0
	for _, w := range words {
		if slices.Contains(psColumns, w) {
			n++
		}
	}
	return n >= 3
}

// filtered reports whether a command prints only some of the rows, as with grep.
func filtered(command string) bool {
	return strings.Contains(command, "grep") || strings.Contains(command, "head") || strings.Contains(command, "awk")
}

var psOne = regexp.MustCompile(`\bps\s+(?:.*\s)?(?:-p\s*|--pid[= ])?(\d+)\s*$`)

// psAnswer notes that a ps of one process printed no row, so that the process does not
// exist.
func (r *reader) psAnswer(l line) {
	m := psOne.FindStringSubmatch(r.command)
	if m != nil && r.at+1 < len(r.all) {
		next := r.all[r.at+1]
		if next.prompt == "" && strings.Contains(next.text, m[1]) {
			return
		}
	}
	r.noRow(l)
}

// noRow notes that the last command, if it is a ps of one process, printed no row. It
// reports whether it is one.
func (r *reader) noRow(l line) bool {
	m := psOne.FindStringSubmatch(r.command)
	if m == nil {
		return false
	}
	pid, _ := strconv.Atoi(m[1])
	r.emptyPIDs[pid] = l.n
	return true
}

var (
	shimProgram = regexp.MustCompile(`(?:^|[\s/\\_|-])(containerd-shim(?:-[\w-]+)?|docker-containerd-shim)\b`)
	ownShim     = regexp.MustCompile(`containerd-shim(-runc-v[12])?(\s|$)`)
	// Rows of ps -ef, ps aux, ps axo pid,ppid,...,args and pgrep -a.
	psForms = []*regexp.Regexp{
		regexp.MustCompile(`^[\w.+-]+\s+(?P<pid>\d+)\s+(?P<ppid>\d+)\s+\d+\s+\S+\s+\S+\s+[\d:-]+\s+(?P<args>.*)$`),
		regexp.MustCompile(`^[\w.+-]+\s+(?P<pid>\d+)\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+\S+\s+(?P<state>\S+)\s+\S+\s+` +
			`[\d:]+\s+(?P<args>.*)$`),
		regexp.MustCompile(`^(?P<pid>\d+)\s+(?P<ppid>\d+)\s+(?P<args>.*)$`),
		regexp.MustCompile(`^(?P<pid>\d+)\s+(?P<args>\S.*)$`),
	}
)

// process notes a row of ps. It needs no header.
func (r *reader) process(l line) bool {
	inTable := r.table != nil && r.table.kind == "ps"
	shim := shimProgram.FindStringSubmatchIndex(l.text)
	isShim := shim != nil
	if isShim && strings.Contains(l.text, "grep ") {
		return true
	}
	if !inTable && !isShim && !psCommand.MatchString(r.command) {
		return false
	}
	p, ok := r.parsePS(l)
	if !ok || !inTable && !isShim && p.ppid < 0 && p.state == "" {
		if inTable {
			r.table = nil
		}
		return false
	}
	if _, twice := r.processes[p.pid]; !twice && len(r.processes) < maxProcesses {
		r.processes[p.pid] = p
	}
	if !isShim {
		return true
	}
	args := shimArgs(l.text) // p.args may be another column
	p.namespace, p.id = args.Namespace, strings.TrimSuffix(args.ID, "...")
	r.ofNamespace(p.namespace)
	if !ownShim.MatchString(l.text[shim[2]:]) {
		r.see(Observation{What: ForeignShim, ID: p.id, PID: p.pid, Text: l.text[shim[2]:shim[3]]}, l)
	}
	if len(r.shims) < maxProcesses && !slices.ContainsFunc(r.shims, func(o process) bool { return o.pid == p.pid }) {
		r.shims = append(r.shims, p)
	}
	return true
}

// shimArgs returns the arguments of the shim in a line.
func shimArgs(text string) scan.ShimArgs {
	_, command, _ := strings.Cut(text, "containerd-shim")
	args, _ := scan.ParseShimArgs(strings.Fields("containerd-shim" + command))
	return args
}

var psCommand = regexp.MustCompile(`\bps\b`)

const maxProcesses = 20_000

// parsePS reads a row by the header of its table, or else by its form.
func (r *reader) parsePS(l line) (p process, ok bool) {
	p = process{line: l, ppid: -1}
	if t := r.table; t != nil && t.kind == "ps" {
		words := strings.Fields(l.text)
		if len(words) < len(t.columns) {
			return p, false
		}
		for i, c := range t.columns {
			switch c {
			case "PID":
				p.pid, _ = strconv.Atoi(words[i])
			case "PPID":
				if n, err := strconv.Atoi(words[i]); err == nil {
					p.ppid = n
				}
			case "S", "STAT":
				p.state = words[i]
			}
		}
		p.args = strings.Join(words[len(t.columns)-1:], " ")
		return p, p.pid > 0
	}
	for _, form := range psForms {
		m := groups(form, l.text)
		if m == nil {
			continue
		}
		p.pid, _ = strconv.Atoi(m["pid"])
		p.state, p.args = m["state"], m["args"]
		if n, err := strconv.Atoi(m["ppid"]); err == nil {
			p.ppid = n
		}
		return p, true
	}
	return p, false
}

// groups returns the named groups of a pattern in a text, or nil if it does not match.
func groups(pattern *regexp.Regexp, text string) map[string]string {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	named := map[string]string{}
	for i, name := range pattern.SubexpNames() {
		named[name] = m[i]
	}
	return named
}

// counted is a number of shims.
type counted struct {
	n    int
	line line
}

var (
	countCommand = regexp.MustCompile(`containerd-shim.*(\|\s*wc\s+-l|grep\s+-c|pgrep -c)|` +
		`pgrep\s+-\S*c\S*\s+.*shim|(grep\s+-\S*c\S*|wc -l).*shim`)
	countRow = regexp.MustCompile(`^(?:(?:.*\d\d:\d\d(?::\d\d)?(?:\s?[AP]M)?(?:\s+[A-Z]{3,4})?(?:\s+\d{4})?|` +
		`day \d+|\+?\d+ ?(?:h|m|min|hours?|days?)|` +
		`[A-Z][a-z]{2} \d{1,2})[\s:,-]+)?(?:containerd-)?(?:shims?[:= ]+)?(\d{1,6})(?: shims?)?$`)
)

// aTime matches the output of `date`.
var aTime = regexp.MustCompile(`^[\w ,.-]*\d\d:\d\d(:\d\d)?(\s[AP]M)?(\s[A-Z]{3,4}\s\d{4})?$`)

// count notes the output of a command that counts shims. The number may be in a column
// of numbers.
func (r *reader) count(l line) bool {
	if !countCommand.MatchString(r.command) && !strings.Contains(strings.ToLower(l.text), "shim") {
		return false
	}
	if aTime.MatchString(l.text) {
		return true
	}
	m := countRow.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	r.counts = append(r.counts, counted{n, l})
	return true
}
