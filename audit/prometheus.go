package audit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
)

// Metrics writes the report in the text format of Prometheus, for node_exporter's
// textfile collector.
func (r *Report) Metrics(w io.Writer) error {
	var b strings.Builder
	head := func(name, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	head("shimquake_audit_suspects", "Objects of containerd without an owner, seen twice.")
	counts := map[string]int{}
	series := func(k finding.Class, sure Certainty, ns, bug string) string {
		return fmt.Sprintf("shimquake_audit_suspects{kind=%s,certainty=%s,namespace=%s,bug=%s}", label(string(k)),
			label(string(sure)), label(ns), label(bug))
	}
	for _, k := range Kinds() { // zeros, because an alert needs a series that always exists
		counts[series(k, Certain, "", "")] = 0
	}
	for _, s := range r.Suspects {
		counts[series(s.Kind, s.Sure, s.Namespace, s.Bug)]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %d\n", name, counts[name])
	}
	head("shimquake_audit_containerd_answers", "1 if containerd has responded to every call in time.")
	for _, d := range r.Daemons {
		up := 0
		if d.Answered {
			up = 1
		}
		fmt.Fprintf(&b, "shimquake_audit_containerd_answers{address=%s,version=%s} %d\n", label(d.Address),
			label(d.Version), up)
	}
	for _, g := range []struct{ name, help, value string }{
		{"shims", "Shims on the node, with and without a task.", fmt.Sprint(r.Shims)},
		{"partial", "Reasons why a leak may have been missed.", fmt.Sprint(len(r.Partial))},
		{"duration_seconds", "The duration of the audit, with the wait between its looks.",
			fmt.Sprintf("%.3f", float64(r.Took)/1e3)},
		{"timestamp_seconds", "The time of the audit.", fmt.Sprint(r.Taken.Unix())},
	} {
		head("shimquake_audit_"+g.name, g.help)
		fmt.Fprintf(&b, "shimquake_audit_%s %s\n", g.name, g.value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// label escapes a value for the text format, which has only these three escapes.
func label(value string) string {
	value = strings.ToValidUTF8(value, "?")
	return `"` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(value) + `"`
}
