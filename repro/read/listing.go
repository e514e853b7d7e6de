package read

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// listing is a row of a list of ctr, crictl or docker.
type listing struct {
	line
	id, status string
	pid        int
}

// typed notes a command that the reporter typed. The next lines are its output.
func (r *reader) typed(l line) {
	r.understand()
	r.say(l, ofCommands, l.prompt, Observation{})
	if lsOne.MatchString(l.prompt) && !r.answeredNothing() && !noSuchFile.MatchString(r.all[r.at+1].text) {
		r.file(line{n: l.n, text: l.prompt}) // a folder that was listed exists
	}
	if m := ctrNamespace.FindStringSubmatch(l.prompt); m != nil {
		r.ofNamespace(m[1])
	} else if strings.Contains(l.prompt, "ctr run") {
		r.ofNamespace("default")
	}
	if strings.Contains(l.prompt, "ctr") && listCommand.MatchString(l.prompt) && !filtered(l.prompt) {
		kind := "containers"
		if strings.Contains(l.prompt, " t") {
			kind = "tasks"
		}
		if r.answeredNothing() {
			r.listings[kind] = l.n
		}
	}
	if r.answeredNothing() {
		if m := grepOne.FindStringSubmatch(l.prompt); m != nil && listsAll.MatchString(l.prompt) {
			r.unknown[m[1]] = l.n
		}
		r.noRow(l)
	}
}

var (
	// A command about one folder, and the messages for a missing folder.
	lsOne      = regexp.MustCompile(`^(?:sudo\s+)?(ls|cat|find)\b.*[0-9a-f]{64}`)
	noSuchFile = regexp.MustCompile(`No such file|cannot access|ot a directory`)
	// A list that is filtered for the rows of one id.
	grepOne  = regexp.MustCompile(`\|\s*grep\s+(?:-\w+\s+)*["']?([0-9a-f]{6,64})["']?\s*$`)
	listsAll = regexp.MustCompile(`\bctr\b.*\b(t|tasks?|c|containers?)\s+(ls|list)\b|\bcrictl\b.*\b(pods|ps)\b`)
)

var ctrNamespace = regexp.MustCompile(`\bctr\b.*\s(?:-n|--namespace)[ =](\S+)`)

// ofNamespace counts a vote for the client that owns a namespace, such as kubelet for
// k8s.io.
func (r *reader) ofNamespace(name string) {
	switch {
	case name == "k8s.io":
		r.votes(Kubelet, 4)
	case name == "moby" || name == "plugins.moby":
		r.votes(Dockerd, 4)
	case name != "":
		r.votes(Ctr, 4)
	}
}

var listCommand = regexp.MustCompile(`\b(t|tasks?|c|containers?)\s+(ls|list)\b`)

// answeredNothing reports whether a command has no output: the next line is a command, or
// there is none.
func (r *reader) answeredNothing() bool {
	return r.at+1 >= len(r.all) || r.all[r.at+1].prompt != "" && r.all[r.at+1].n == r.all[r.at].n+1
}

// rowForms match rows that identify their list by their form, because a list behind
// grep has no header. Rows of nerdctl have the state of the task.
var rowForms = []struct {
	kind string
	form *regexp.Regexp
}{
	{"tasks", regexp.MustCompile(`^(?P<id>\S+)\s+(?P<pid>\d+)\s+` +
		`(?P<status>CREATED|RUNNING|STOPPED|PAUSED|PAUSING|UNKNOWN)$`)},
	{"crictl", regexp.MustCompile(`^(?P<id>[0-9a-f]{12,13})\s+\S+\s.*\s(?P<status>Created|Running|Exited|Unknown)\s+` +
		`\S+\s+\d+\s+[0-9a-f]{12,13}\b`)},
	{"pods", regexp.MustCompile(`^(?P<id>[0-9a-f]{12,13})\s.*\s(?P<status>Ready|NotReady)\s+\S+\s+\S+\s+\d+\b`)},
	{"docker", regexp.MustCompile(`^(?P<id>[0-9a-f]{12})\s+\S+\s+"[^"]*"\s+.*\bago\s+` +
		`(?P<status>Created|Up|Unknown|Exited|Paused|Dead|Removal)\b`)},
}

// ownForm returns the kind of list that a row's form identifies, or "", and the row.
func ownForm(l line) (kind string, entry listing) {
	for _, f := range rowForms {
		if m := groups(f.form, l.text); m != nil {
			entry.id, entry.status = m["id"], m["status"]
			entry.pid, _ = strconv.Atoi(m["pid"])
			kind = f.kind
			break
		}
	}
	entry.line = l
	return kind, entry
}

// row notes a row of a listing.
func (r *reader) row(l line) bool {
	kind, entry := ownForm(l)
	if kind == "" {
		if r.table == nil || r.table.kind == "ps" {
			return false
		}
		words := strings.Fields(l.text)
		few := len(words) < min(2, len(r.table.columns))
		if few || len(words) > 40 || isSentence(l.text) || r.table.kind == "tasks" {
			r.table = nil
			return false
		}
		kind, entry.id = r.table.kind, words[0]
	}
	switch kind {
	case "kubectl":
		r.say(l, ofClients, l.text, Observation{})
		return true
	case "crictl", "pods":
		r.votes(Kubelet, 2)
	}
	if r.listed[kind] == nil {
		r.listed[kind] = map[string]listing{}
	}
	if len(r.listed[kind]) < maxProcesses {
		r.listed[kind][entry.id] = entry
	}
	return true
}

func isSentence(text string) bool {
	return (strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":")) && strings.Count(text, " ") > 3 &&
		!strings.Contains(text, "  ")
}

// notFound matches the messages of programs for an unknown id.
var notFound = []*regexp.Regexp{
	regexp.MustCompile(`container "?([\w.-]+)"?(?: in namespace "?[\w.-]+"?)?: not found`),
	regexp.MustCompile(`(?:no running task found|task ([\w.-]+)(?: not found|: not found))`),
	regexp.MustCompile(`(?:could not find|can't find|unable to find|No such) (?:container|pod|sandbox|` +
		`object)s?:? "?([\w.-]+)"?`),
	regexp.MustCompile(`(?:container|sandbox|pod) "?([0-9a-f]{12,64})"?:? (?:is )?not found`),
	regexp.MustCompile(`(?:container|pod|sandbox|` +
		`task) with ID (?:starting with )?"?([0-9a-f]{12,64})"? (?:not found|does not exist)`),
	regexp.MustCompile(`(?:no|not|n't) (?:known|know|listed|list|found|find).{0,40}\b([0-9a-f]{12,64})\b`),
}

var (
	noProcess = regexp.MustCompile(`(?:/proc/(\d+)[^:]*: No such file|kill: \(?(\d+)\)? ?-? ?No such process|` +
		`no such process:? (\d+)|pid (\d+) (?:is gone|does not exist|is not there|not running))`)
	exitEmpty = regexp.MustCompile(`^\(?(nothing|empty|no output|no result|no rows|nothing found)\)?\.?$`)
)

// answer notes the message of a program that an id or a process is unknown.
func (r *reader) answer(l line) bool {
	if m := noProcess.FindStringSubmatch(l.text); m != nil {
		for _, text := range m[1:] {
			if pid, err := strconv.Atoi(text); err == nil {
				r.emptyPIDs[pid] = l.n
			}
		}
		return true
	}
	for _, p := range notFound {
		if m := p.FindStringSubmatch(l.text); m != nil {
			id := m[1]
			if id == "" {
				id = firstID(r.command)
			}
			r.unknown[id] = l.n
			return true
		}
	}
	if exitEmpty.MatchString(l.text) && r.command != "" {
		if r.noRow(l) {
			return true
		}
		if id := firstID(r.command); id != "" {
			r.unknown[id] = l.n
		} else if strings.Contains(r.command, "ctr") && listCommand.MatchString(r.command) {
			r.listings["containers"], r.listings["tasks"] = l.n, l.n
		}
		return true
	}
	return false
}

var (
	bundlePath = regexp.MustCompile(`(?:/run/(?:docker/)?containerd|` +
		`/\S*)/io\.containerd\.runtime\.v2\.task/([\w.-]+)(?:/(\.?[\w-]+))?(/rootfs)?`)
	hiddenName = regexp.MustCompile(`^(?:[d-][rwxsStT-]{9}\S*\s.*\s)?(\.[0-9a-zA-Z][\w-]{5,})/?$`)
	plainName  = regexp.MustCompile(`^(?:[d][rwxsStT-]{9}\S*\s.*\s)?([0-9a-f]{64})/?$`)
	// The name of a socket in a listing of the folder of sockets.
	socketName = regexp.MustCompile(`(?:^|\s)([0-9a-f]{64})$`)
	inSockets  = regexp.MustCompile(`\bls\b.*\s/run/containerd/s/?$`)
	socketPath = regexp.MustCompile(`(?:unix://)?/run/containerd/s/([0-9a-f]{12,64})`)
	lsRow      = regexp.MustCompile(`^([dlspcb-][rwxsStT-]{9}\S*\s|total \d+$)`)
	runcPath   = regexp.MustCompile(`/run/containerd/runc/[\w.-]+/([\w.-]+)`)
	// A directory, and a row of systemd-cgls. A container of a task client has its namespace
	// above.
	cgroupPath = regexp.MustCompile(`cri-containerd[-:]([0-9a-f]{64})|/(?:docker|kubepods\S*)/([0-9a-f]{64})$`)
	netnsRow   = regexp.MustCompile(`^cni-[0-9a-f-]{36}(\s+\(id: \d+\))?$`)
)

// file notes a path, or a row of ls.
func (r *reader) file(l line) bool {
	inBundles := strings.Contains(r.command, "io.containerd.runtime.v2.task")
	switch {
	case inBundles && hiddenName.MatchString(l.text):
		r.see(Observation{What: HiddenBundle, ID: hiddenName.FindStringSubmatch(l.text)[1][1:]}, l)
		return true
	case inBundles && len(strings.Fields(l.text)) == 1 && !strings.Contains(l.text, "/"):
		r.bundles = append(r.bundles, listing{line: l, id: l.text})
		return true
	case inBundles && plainName.MatchString(l.text):
		id := plainName.FindStringSubmatch(l.text)[1]
		r.bundles = append(r.bundles, listing{line: l, id: id})
		return true
	}
	if m := bundlePath.FindStringSubmatch(l.text); m != nil {
		id := m[2]
		switch {
		case strings.HasPrefix(id, ".") && len(id) > 2:
			r.see(Observation{What: HiddenBundle, Namespace: m[1], ID: id[1:]}, l)
		case id != "" && m[3] != "" && mountRow.MatchString(l.text):
			r.mounts = append(r.mounts, listing{line: l, id: id})
		case id != "" && !strings.Contains(l.text, "No such file"):
			r.bundles = append(r.bundles, listing{line: l, id: id})
		case id != "":
			r.noBundle[id] = l.n
		}
		return true
	}
	if m := runcPath.FindStringSubmatch(l.text); m != nil && !strings.Contains(l.text, "No such file") {
		r.see(Observation{What: RuncLeft, ID: m[1]}, l)
		return true
	}
	if m := socketPath.FindStringSubmatch(l.text); m != nil {
		r.sockets = append(r.sockets, listing{line: l, id: m[1], status: l.text})
		return true
	}
	if m := socketName.FindStringSubmatch(l.text); m != nil && inSockets.MatchString(r.command) {
		r.sockets = append(r.sockets, listing{line: l, id: m[1]})
		return true
	}
	if m := cgroupPath.FindStringSubmatch(l.text); m != nil {
		r.cgroups = append(r.cgroups, listing{line: l, id: cmp.Or(m[1], m[2])})
		return true
	}
	return lsRow.MatchString(l.text) || netnsRow.MatchString(l.text)
}

var mountRow = regexp.MustCompile(`^(overlay|shm|tmpfs)\b|/rootfs\s+\S+\s+(overlay|btrfs|fuse\S*)\s|` +
	`\btype (overlay|tmpfs)|^\d+ \d+ \d+:\d+ |^\S+ on \S+`)
