package report

import (
	"bytes"
	"time"

	"github.com/go-logfmt/logfmt"
)

// maxLogged limits the lines of containerd's log in a timeline. The log file has all
// lines.
const maxLogged = 200

// log adds the warnings and errors of containerd's log. It skips text without the form of
// a log line, such as the stack of a panic.
func (b *builder) log(text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte("level=info")) {
			continue
		}
		fields := fieldsOf(line)
		level := fields["level"]
		at, err := time.Parse(time.RFC3339Nano, fields["time"])
		if err != nil || level == "" || level == "debug" || at.Before(b.zero) {
			continue
		}
		if n++; n > maxLogged {
			return
		}
		i := Item{Text: fields["msg"], More: level + ": " + fields["msg"]}
		if e := fields["error"]; e != "" {
			i.More += ": " + e
		}
		if level != "warning" {
			i.Mark = Failed
		}
		b.add(b.lane(Log, "log"), at, i)
	}
}

func fieldsOf(line []byte) map[string]string {
	fields := map[string]string{}
	for d := logfmt.NewDecoder(bytes.NewReader(line)); d.ScanRecord(); {
		for d.ScanKeyval() {
			fields[string(d.Key())] = string(d.Value())
		}
	}
	return fields
}
