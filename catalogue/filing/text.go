package filing

import (
	"fmt"
	"strings"
)

// Text returns the issue in Markdown, with the sections of containerd's template for bug
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
	if t, ok := f.Thread(); ok {
		fmt.Fprintf(&b, "*A comment for [%s](%s), which has this bug. It is no issue of its own.*\n\n", t.Name, t.URL())
	} else {
		fmt.Fprintf(&b, "# %s\n\n", f.Bug.Title)
	}
	section("Description", f.Description, rootCause(f, r), "**Direction for a fix.** "+strings.TrimSpace(f.Direction),
		known(f))
	section("Steps to reproduce the issue", prepare(f), steps(f), patch(f, r))
	section("Describe the results you received and expected",
		"**Expected**: "+strings.TrimSpace(f.Expected), "**Received**: "+strings.TrimSpace(f.Actual), ran(f),
		block("What was left, or reported:", "text", plainWords(r.Left)),
		block("The calls that failed:", "text", r.Errors),
		block("The lines of the log that a run without the fault does not have:", "text", r.Log),
		block(stackHead(f), "text", split(r.Stack)))
	section("What version of containerd are you using?", versions(f, r))
	section("Any other relevant information", machine(f, r))
	if r.Config != "" {
		section("Show configuration if it is related to CRI plugin.", configuration(r))
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// rootCause returns the cause, with a permanent link to each line of code.
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

// link returns the permanent link to a line of a release's source.
func link(release, file string, line int) string {
	return fmt.Sprintf("https://github.com/containerd/containerd/blob/%s/%s#L%d", release, file, line)
}

// known returns links to the upstream threads about the bug, without the one on which the
// text is a comment.
func known(f Filing) string {
	own, _ := f.Thread()
	words := map[string]string{"issue": "about this", "fix": "a fix", "compare": "similar"}
	var parts []string
	for _, t := range f.Bug.Threads {
		if t.Name != own.Name {
			parts = append(parts, fmt.Sprintf("[%s](%s) (%s)", t.Name, t.URL(), words[t.Word]))
		}
	}
	if len(parts) == 0 {
		return "**Existing threads**: no other is known."
	}
	return "**Existing threads**: " + strings.Join(parts, ", ") + "."
}

func block(head, language string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimPrefix(head+"\n\n", "\n\n") + "```" + language + "\n" + strings.Join(lines, "\n") + "\n```"
}

// stackHead returns the sentence before the stack.
func stackHead(f Filing) string {
	if strings.HasPrefix(f.Stuck, "panic ") {
		return "The goroutine that panicked:"
	}
	return "A goroutine that does not go on:"
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}
