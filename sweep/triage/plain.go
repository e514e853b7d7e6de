package triage

import (
	"regexp"
	"strings"
)

// variables are the parts of the reason of an invalid verdict that are of one case only,
// and what stands for them.
var variables = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"}, // UUIDs
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "ID"},                         // CRI's ids and hashed sockets
	{regexp.MustCompile(`\bchildren( \d+)+`), "children"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(h|m|s|ms|us|µs|ns)\b`), "TIME"},
	{regexp.MustCompile(`/var/lib/shimquake/worlds/[^/ "]+`), "WORLD"},
	{regexp.MustCompile(`\b[cb]\d+\b`), "ID"}, // the task client's ids
	{regexp.MustCompile(`\b(default|k8s\.io|moby|shimquake)/`), ""},
	{regexp.MustCompile(`\d+`), "N"},
}

// longest is how many bytes of a reason are compared: errors of clients can be long, and
// differ at their ends.
const longest = 240

func plain(text string) string {
	for _, v := range variables {
		text = v.pattern.ReplaceAllString(text, v.as)
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}
