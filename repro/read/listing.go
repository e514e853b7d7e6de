package read

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/repro/statement"
)

// listing is a row of what ctr, crictl or docker list.
type listing struct {
	line
	id, status string
	pid        int
}

// typed takes a command: what it answers depends on it.
func (r *reader) typed(l line) {
	r.understand(l)
	r.tell(l, l.text, "", "", "", statement.Match{})
	if m := ctrNamespace.FindStringSubmatch(l.prompt); m != nil {
		r.ofNamespace(m[1])
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
		if m := psOne.FindStringSubmatch(l.prompt); m != nil {
			pid, _ := strconv.Atoi(m[1])
			r.emptyPIDs[pid] = l.n
		}
	}
}

var ctrNamespace = regexp.MustCompile(`\bctr\b.*\s(?:-n|--namespace)[ =](\S+)`)

// ofNamespace says whose containers those of a namespace are.
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

// answeredNothing reports whether the next line is another command, or none.
func (r *reader) answeredNothing() bool {
	return r.at+1 >= len(r.all) || r.all[r.at+1].prompt != "" && r.all[r.at+1].n == r.all[r.at].n+1
}

// row takes a row of a listing.
func (r *reader) row(l line) bool {
	t := r.table
	if t == nil || t.kind == "ps" {
		return false
	}
	words := strings.Fields(l.text)
	if len(words) == 0 || len(words) > 40 || len(words) < min(2, len(t.columns)) || isSentence(l.text) {
		r.table = nil
		return false
	}
	entry := listing{line: l, id: words[0]}
	if t.kind == "tasks" && len(words) >= 3 {
		pid, err := strconv.Atoi(words[1])
		if err != nil {
			r.table = nil
			return false
		}
		entry.pid, entry.status = pid, words[2]
	}
	if t.kind == "kubectl" {
		return true
	}
	if t.kind == "crictl" || t.kind == "pods" {
		r.votes(Kubelet, 2)
	}
	t.rows++
	if r.listed[t.kind] == nil {
		r.listed[t.kind] = map[string]listing{}
	}
	if len(r.listed[t.kind]) < mostProcesses {
		r.listed[t.kind][entry.id] = entry
	}
	return true
}

func isSentence(text string) bool {
	return (strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":")) && strings.Count(text, " ") > 3 &&
		!strings.Contains(text, "  ")
}

// notFound are the answers of programs that do not know an id, a process or a file.
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

// answer takes what a program says of something that it does not know.
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
		if m := psOne.FindStringSubmatch(r.command); m != nil {
			pid, _ := strconv.Atoi(m[1])
			r.emptyPIDs[pid] = l.n
		} else if id := firstID(r.command); id != "" {
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
	cgroupPath = regexp.MustCompile(`cri-containerd[-:]([0-9a-f]{64})`)
)

// file takes paths and the rows of ls.
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
	if m := socketPath.FindStringSubmatch(l.text); m != nil {
		r.sockets = append(r.sockets, listing{line: l, id: m[1], status: l.text})
		return true
	}
	if m := socketName.FindStringSubmatch(l.text); m != nil && inSockets.MatchString(r.command) {
		r.sockets = append(r.sockets, listing{line: l, id: m[1]})
		return true
	}
	return lsRow.MatchString(l.text) || cgroupPath.MatchString(l.text)
}

var mountRow = regexp.MustCompile(`^(overlay|shm|tmpfs)\b|\btype (overlay|tmpfs)|^\d+ \d+ \d+:\d+ |^\S+ on \S+`)
