package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/fact"
)

//go:embed page.md
var frame string

// page returns the page. The comments are from the checkout in dir.
func page(dir string) (string, error) {
	tables := map[string]func(dir string) (string, error){
		"statuses":  statuses,
		"workload":  func(dir string) (string, error) { return keys(dir, "Workload") },
		"container": func(dir string) (string, error) { return keys(dir, "Container") },
		"exec":      func(dir string) (string, error) { return keys(dir, "ExecSpec") },
		"verbs":     verbs,
		"rules":     rules,
		"facts":     facts,
	}
	text := frame
	for name, table := range tables {
		rows, err := table(dir)
		if err != nil {
			return "", fmt.Errorf("the table of %s: %w", name, err)
		}
		mark := "{{" + name + "}}\n"
		if !strings.Contains(text, mark) {
			return "", fmt.Errorf("page.md has no line {{%s}}", name)
		}
		text = strings.Replace(text, mark, rows, 1)
	}
	return text, nil
}

// table returns a Markdown table. A bar inside a cell is escaped. Empty cells at the end
// of a row are left out, because GitHub adds them.
func table(head []string, rows [][]string) string {
	lines := []string{strings.Join(head, " | "), strings.Repeat("---|", len(head)-1) + "---"}
	for _, r := range rows {
		last := len(r)
		for last > 1 && r[last-1] == "" {
			last--
		}
		row := make([]string, last)
		for i := range row {
			row[i] = strings.ReplaceAll(r[i], "|", `\|`)
		}
		lines = append(lines, strings.Join(row, " | "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// verbs returns the table of the verbs of a script.
func verbs(string) (string, error) {
	arguments := map[script.Arg]string{
		script.MarkArg: " running", script.SignalArg: " SIGKILL", script.DaemonArg: " containerd",
		script.DurationArg: " 6s", script.MaybeDurationArg: " 1s", script.ReleaseArg: " v2.3.7",
		script.LinesArg: " 7000",
	}
	clients := map[script.Client]string{script.Task: "task", script.CRI: "cri"}
	var rows [][]string
	for _, v := range script.Verbs {
		object := ""
		switch {
		case v.On&script.OnContainers != 0:
			object = " c0"
		case v.On&script.OnExecs != 0:
			object = " c0/e0"
		case v.On&script.OnAttached != 0:
			object = " c0/a0"
		case v.On&script.OnPod != 0:
			object = " pod"
		}
		rows = append(rows, []string{"`" + v.Name + object + arguments[v.Arg] + "`", v.Does, clients[v.By]})
	}
	return table([]string{"step", "what the client does", "only by"}, rows), nil
}

// facts returns the table of the facts that a case or a bug can match.
func facts(dir string) (string, error) {
	said, err := constants(filepath.Join(dir, "oracle/fact"), "Task")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for i, c := range said {
		k := fact.Key(i)
		if c.name == "factCount" || isDetail(k) {
			continue
		}
		values := strings.Join(k.Values(), ", ")
		switch k {
		case fact.Topic, fact.After:
			values = "a topic"
		case fact.What:
			values = "see `oracle/fact/whats.go`"
		}
		rows = append(rows, []string{"`" + k.String() + "`", c.comment, values})
	}
	return table([]string{"fact", "meaning", "values"}, rows), nil
}

// isDetail reports whether a fact belongs to one case, so that nothing may match it.
func isDetail(k fact.Key) bool {
	var one fact.Facts
	one[k] = "x"
	return len(one.Details()) > 0
}

// statuses returns the table of the exit statuses that most commands share.
func statuses(dir string) (string, error) {
	said, err := constants(filepath.Join(dir, "cmd/shimquake"), "statusHeld")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range said {
		rows = append(rows, []string{c.value, c.comment})
	}
	return table([]string{"status", "meaning"}, rows), nil
}
