package filing

import (
	_ "embed" // the template
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/shims/runcshim"
)

//go:embed issue.tmpl
var issueText string

// issue is the issue in Markdown, with the sections of containerd's template for bug
// reports.
var issue = template.Must(template.New("issue").Funcs(template.FuncMap{
	"base": path.Base, "contains": strings.Contains, "fields": strings.Fields, "hasPrefix": strings.HasPrefix,
	"join": strings.Join, "replaceAll": strings.ReplaceAll, "trim": strings.TrimSpace,
	"calls": calls, "plainWords": plainWords, "programs": programs, "properties": properties, "steps": steps,
}).Parse(issueText))

// Text returns the issue in Markdown.
func Text(f Filing, r Recorded) (string, error) {
	own, _ := f.Thread()
	var b strings.Builder
	err := issue.Execute(&b, struct {
		Filing
		R Recorded
		// The containers and calls of Workload, the recorded run, differ from the steps.
		Workload harness.Workload
		// The text is a comment on Thread, if that has a name. Others are about the bug, too.
		Thread   catalogue.Thread
		Others   []catalogue.Thread
		Releases []string
	}{
		f, r, f.Run.Workload.WithDefaults(), own,
		slices.DeleteFunc(slices.Clone(f.Bug.Threads), func(t catalogue.Thread) bool { return t.Name == own.Name }),
		strings.Split(catalogue.ReleasesText(f.Bug.Releases), "\n"),
	})
	return strings.TrimSpace(b.String()) + "\n", err
}

// steps returns the steps, and names the binaries that the patch changes.
func steps(text, patch string) string {
	names := programs(patch)
	install := "Install " + strings.Join(names, " and ") + " with the change below"
	if slices.Contains(names, "containerd") {
		install += ", and start containerd"
	}
	return strings.NewReplacer(
		"Start containerd with the change below", install,
		"start containerd with the change below", strings.ToLower(install[:1])+install[1:],
		"Start containerd again, with the change below", "Stop containerd. "+install,
	).Replace(text)
}

// ofShim are the folders with code that only the shim and its helpers run.
var ofShim = regexp.MustCompile(`^(cmd/` + runcshim.Binary + `|pkg/shim|pkg/sys/reaper)/`)

// programs returns the binaries that a patch changes.
func programs(patch string) (names []string) {
	for line := range strings.Lines(patch) {
		switch file, is := strings.CutPrefix(line, "+++ b/"); {
		case is && ofShim.MatchString(file):
			names = append(names, runcshim.Binary)
		case is:
			names = append(names, "containerd")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// calls returns the steps of a recorded run. A state for faults (`at`) is no call.
func calls(w harness.Workload) []string {
	steps, _ := w.Steps() // the case was checked when it was parsed
	return slices.DeleteFunc(steps.Lines(), func(step string) bool { return strings.HasPrefix(step, "at ") })
}

// properties returns the keys of a container in a case, without the keys of its end.
func properties(c harness.Container) (string, error) {
	c.Exit, c.Signal, c.Stays = 0, "", false
	text, err := yaml.MarshalWithOptions(c, yaml.Flow(true))
	return strings.Trim(strings.TrimSpace(string(text)), "{}"), err
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
