package filing

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// ran describes the recorded run. Its containers and calls differ from those in the
// steps.
func ran(f Filing) string {
	w := f.Run.Workload.WithDefaults()
	var text strings.Builder
	with := "the same cause"
	if f.Patch != "" {
		with = "the change above"
	}
	fmt.Fprintf(&text, "**Recorded run.** The output below is not from the steps above. It is from a test with %s. "+
		"Its client calls %s, with a time limit of %d s for each call.", with, clients[w.API], int(w.CallTimeout.Seconds()))
	if steps, err := w.Steps(); err == nil { // the case was checked when it was parsed
		var calls []string
		for _, step := range steps.Lines() {
			if !strings.HasPrefix(step, "at ") { // this names a state for faults, and is no call
				calls = append(calls, "`"+step+"`")
			}
		}
		fmt.Fprintf(&text, " Its steps are %s.", strings.Join(calls, ", "))
	}
	text.WriteString(" (`end` ends the process.) It tries failed calls again. At the end it removes everything, " +
		"for up to a minute, and uses an id, or the name of the pod, once more.")
	for i, c := range w.Containers {
		fmt.Fprintf(&text, " c%d%s", i, container(c))
	}
	if len(f.Run.Plan) > 0 {
		text.WriteString(" Its faults:")
		for _, fault := range f.Run.Plan {
			text.WriteString("\n- " + faultWords(fault))
		}
	}
	return text.String()
}

// clients describes the API of the recorded run, and a program that uses it in this way.
var clients = map[harness.API]string{
	harness.TaskAPI: "containerd's task API, as dockerd does",
	harness.Ctr:     "containerd's Go client, as ctr does",
	harness.CRI:     "CRI, as kubelet does",
}

// container describes a container: "exits with 7", and its other keys as in the case.
func container(c harness.Container) string {
	end := fmt.Sprintf(" exits with %d", c.Exit)
	switch {
	case c.Signal != "":
		end = " ends by " + c.Signal
	case c.Stays:
		end = " runs until something ends it"
	}
	c.Exit, c.Signal, c.Stays = 0, "", false
	text, err := yaml.MarshalWithOptions(c, yaml.Flow(true))
	if more := strings.TrimSpace(string(text)); err == nil && more != "{}" {
		end += " (`" + strings.Trim(more, "{}") + "`)"
	}
	return end + "."
}

// faultWords describes a fault of a plan.
func faultWords(f failpoints.Fault) string {
	do := "`" + strings.ReplaceAll(f.Do.String(), " by shimquake", "") + "`"
	at := f.At.String()
	switch f.At.Kind {
	case failpoints.Proc:
		who := map[string]string{"task": "the container's process", "sandbox": "the pod's sandbox"}[f.At.Who]
		at = fmt.Sprintf("when the containers are %s, to %s", f.At.What, cmp.Or(who, "the "+f.At.Who))
		if f.At.Who == "containerd" {
			at = fmt.Sprintf("when the containers are %s, to containerd, which is started again", f.At.What)
		}
	case failpoints.RPC:
		at = fmt.Sprintf("%s of %s in %s", f.At.Where, f.At.What, f.At.Who)
	case failpoints.Stmt:
		at = fmt.Sprintf("a statement of %s in %s", f.At.What, f.At.Who)
	}
	at += ": " + do
	if len(f.Meanwhile) > 0 {
		var steps []string
		for _, s := range f.Meanwhile {
			steps = append(steps, "`"+s.String()+"`")
		}
		at += ", with these steps until it goes on: " + strings.Join(steps, ", ")
	}
	return at
}

// shownExit translates terms of this project in findings into containerd's terms.
var shownExit = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{
		regexp.MustCompile(`^exit code of (.+?) by (\S+): \S+ (?:said|reported) (\d+); the payload exited with (\d+) ` +
			`\(.*?\)(?:; [^;]*(?:means|is containerd's word)[^;]*)*`),
		"exit code of $1: $2 has $3, the container's process ended with $4",
	},
	{
		regexp.MustCompile(`^exit code of (.+?) by nobody: containerd is up, (?:and|but) no client could (?:learn|get) ` +
			`it; the payload exited with (\d+) \(.*?\)`),
		"exit code of $1: no client can get it, the container's process ended with $2",
	},
	{regexp.MustCompile(`^(shim|containerd): it ended by itself with (\d+),.*`), "$1: exited by itself with $2"},
	{
		regexp.MustCompile(`has the time (\S+), but its shim had tried to send it at (\S+)$`),
		"has the time $1, because the attempt to send the event before it had failed at $2",
	},
	{regexp.MustCompile(`has cri-status|cri-status has`), "CRI's status has"},
	{regexp.MustCompile(`shim-delete has`), "the response to Delete has"},
	{regexp.MustCompile(`\(payload\)`), "(of the container)"},
	{regexp.MustCompile(`exit code of (.+?) by wait: wait (?:said that it ended|reported its end) at`),
		"exit time of $1: the response to Wait has"},
}

// plainWords returns the findings in containerd's terms.
func plainWords(findings []string) []string {
	plain := make([]string, len(findings))
	for i, text := range findings {
		for _, s := range shownExit {
			text = s.pattern.ReplaceAllString(text, s.is)
		}
		plain[i] = text
	}
	return plain
}
