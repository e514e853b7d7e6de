package read

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

var (
	syslog = regexp.MustCompile(`^(?:<\d+>)?(?:[A-Z][a-z]{2}\s+\d{1,2}\s+\d\d:\d\d:\d\d(?:\.\d+)?|` +
		`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)\s+\S+\s+([\w@.()/-]+?)(?:\[(\d+)\])?:\s?(.*)$`)
	// The same form without time and host.
	unitOnly = regexp.MustCompile(`^([\w@.-]+)\[\d+\]: (\{.*|time=.*|level=.*|[IWEF]\d{4} .*)$`)
)

// record is a log message with the program that wrote it.
type record struct {
	program string // systemd, containerd, dockerd, kernel, kubelet
	level   string
	message string
	fields  map[string]string
}

// unwrap returns the log record in a line, for any program that may have kept the log.
func unwrap(text string) (r record, ok bool) {
	for range 3 { // the journal's JSON may hold docker's JSON, which may hold containerd's line
		m := syslog.FindStringSubmatch(text)
		if m == nil {
			m = unitOnly.FindStringSubmatch(text)
		}
		if m != nil {
			r.program, text, ok = m[1], m[len(m)-1], true
			r.message = text
			continue
		}
		inner, found := fromJSON(text, &r)
		if !found {
			break
		}
		ok, text = true, inner
		if r.message != "" && !strings.Contains(r.message, "msg=") {
			return r, true
		}
	}
	if fields := logfmt(text); fields["msg"] != "" && (fields["level"] != "" || fields["time"] != "") {
		r.fields, r.level, r.message = fields, fields["level"], fields["msg"]
		return r, true
	}
	if m := onTerminal.FindStringSubmatch(text); m != nil {
		r.level, r.message, r.fields = ttyLevels[m[1]], m[2], logfmt("msg="+m[2])
		return r, true
	}
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		r.level, r.message = "fatal", text
		return r, true
	}
	if m := named.FindStringSubmatch(text); m != nil {
		if said := structured.FindStringSubmatch(m[2]); said != nil {
			r.program, r.level, r.fields = m[1], "error", logfmt("msg="+said[1]+said[2])
			r.message = r.fields["msg"]
			return r, true
		}
	}
	if m := klog.FindStringSubmatch(text); m != nil {
		r.program = cmp.Or(r.program, "kubelet")
		r.level, r.message = levels[m[1]], strings.ReplaceAll(m[2], `\"`, `"`)
		if said := structured.FindStringSubmatch(m[2]); said != nil {
			r.fields = logfmt("msg=" + said[1] + said[2])
			r.message = r.fields["msg"]
		}
		return r, true
	}
	return r, ok
}

var (
	klog = regexp.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ \S+:\d+\] (.*)$`)
	// The newer form of klog's lines: a quoted message, followed by fields.
	structured = regexp.MustCompile(`^("(?:[^"\\]|\\.)*")((?: \w+=.*)?)$`)
	// The same after a program's name, without the prefix of a journal.
	named = regexp.MustCompile(`^(kubelet|containerd|dockerd)(?:\[\d+\])?: (".*)$`)
	// The form that logrus prints to a terminal.
	onTerminal = regexp.MustCompile(`^(FATA|ERRO|WARN|INFO|DEBU)\[[^\]]*\]\s*(.*)$`)
	ttyLevels  = map[string]string{"FATA": "fatal", "ERRO": "error", "WARN": "warning", "INFO": "info", "DEBU": "debug"}
	levels     = map[string]string{"I": "info", "W": "warning", "E": "error", "F": "fatal"}
	pair       = regexp.MustCompile(`([\w.]+)=("(?:[^"\\]|\\.)*"?|\S*)`)
)

// fromJSON reads a JSON object of a log of containerd, the journal or docker.
func fromJSON(text string, r *record) (inner string, ok bool) {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return "", false
	}
	str := func(names ...string) string {
		for _, name := range names {
			if s, _ := object[name].(string); s != "" {
				return s
			}
		}
		return ""
	}
	message := str("msg", "MESSAGE", "message", "log")
	if message == "" {
		return "", false
	}
	r.level = str("level", "severity")
	r.program = cmp.Or(str("_COMM", "SYSLOG_IDENTIFIER"), r.program)
	r.message = strings.TrimSpace(message)
	r.fields = map[string]string{}
	for name, value := range object {
		if s, isText := value.(string); isText {
			r.fields[name] = s
		}
	}
	return r.message, true
}

// logfmt returns the fields of a line of logrus.
func logfmt(text string) map[string]string {
	if !strings.Contains(text, "msg=") {
		return nil
	}
	fields := map[string]string{}
	for _, m := range pair.FindAllStringSubmatch(text, 40) {
		value := m[2]
		if inner, quoted := strings.CutPrefix(value, `"`); quoted {
			value = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `\"`, `"`)
		}
		if _, twice := fields[m[1]]; !twice {
			fields[m[1]] = value
		}
	}
	return fields
}
