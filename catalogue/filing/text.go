package filing

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
)

// Text is the issue in Markdown, by the sections of containerd's template for bug
// reports.
func Text(f Filing, r Recorded) string {
	var b strings.Builder
	section := func(head string, parts ...string) {
		fmt.Fprintf(&b, "### %s\n\n", head)
		for _, p := range parts {
			if p != "" {
				fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(p))
			}
		}
	}
	fmt.Fprintf(&b, "# %s\n\n", f.Bug.Title)
	section("Description", f.Description, rootCause(f, r), "**Direction for a fix.** "+strings.TrimSpace(f.Direction),
		known(f.Bug))
	section("Steps to reproduce the issue", f.Steps, objects(f), patch(f, r))
	section("Describe the results you received and expected",
		"**Expected**: "+strings.TrimSpace(f.Expected), "**Received**: "+strings.TrimSpace(f.Actual),
		block("What was left, or reported, in a recorded run:", "text", r.Left),
		block("The calls that failed:", "text", r.Errors),
		block("The log of containerd:", "text", r.Log),
		block("A goroutine that does not go on:", "text", split(r.Stack)))
	section("What version of containerd are you using?", "containerd "+r.Release+
		". Other releases: "+f.Bug.Releases.String()+".")
	section("Any other relevant information", strings.Join(r.Machine, "\n"))
	if r.Config != "" {
		section("Show configuration if it is related to CRI plugin.", "```toml\n"+strings.TrimSpace(r.Config)+"\n```")
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// rootCause is the cause, with a permanent link to each of its lines.
func rootCause(f Filing, r Recorded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Root cause.** %s\n", strings.TrimSpace(f.Cause))
	for i, c := range f.Code {
		file, function, _ := strings.Cut(c.In, " ")
		fmt.Fprintf(&b, "\n- [`%s`](%s), in `%s`: %s\n  ```go\n  %s\n  ```", file[strings.LastIndexByte(file, '/')+1:]+
			fmt.Sprintf(":%d", r.Lines[i]), link(r.Release, file, r.Lines[i]), function, c.Says, r.Texts[i])
	}
	return b.String()
}

// link is the permanent link to a line of a release.
func link(release, file string, line int) string {
	return fmt.Sprintf("https://github.com/containerd/containerd/blob/%s/%s#L%d", release, file, line)
}

// known are the threads of upstream's about the bug.
func known(b catalogue.Bug) string {
	if len(b.Threads) == 0 {
		return "**Existing threads**: none is known."
	}
	words := map[string]string{"issue": "about this", "fix": "a fix", "compare": "similar"}
	parts := make([]string, len(b.Threads))
	for i, t := range b.Threads {
		parts[i] = fmt.Sprintf("[%s](%s) (%s)", t.Name, t.URL(), words[t.Word])
	}
	return "**Existing threads**: " + strings.Join(parts, ", ") + "."
}

// objects are the files that the steps of crictl name.
func objects(f Filing) string {
	if !strings.Contains(f.Steps, "crictl") {
		return ""
	}
	return block("", "sh", []string{
		`echo '{"metadata": {"name": "p", "namespace": "default", "uid": "1"}, "linux": {}}' >pod.json`,
		`echo '{"metadata": {"name": "c"}, "image": {"image": "docker.io/library/busybox:latest"},`,
		`       "command": ["sleep", "1000"], "linux": {}}' >container.json`,
	})
}

func patch(f Filing, r Recorded) string {
	if f.Patch == "" {
		return "No change of containerd is needed."
	}
	return "To hit the moment each time, this change of containerd " + r.Release + " only waits, fails or dies where a " +
		"busy or broken node does:\n\n```diff\n" + strings.TrimSpace(f.Patch) + "\n```"
}

func block(head, language string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimPrefix(head+"\n\n", "\n\n") + "```" + language + "\n" + strings.Join(lines, "\n") + "\n```"
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}
