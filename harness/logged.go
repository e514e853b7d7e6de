package harness

import (
	"bytes"
	"maps"
	"slices"
)

// Logged is a message of containerd's log, and how often it is there.
type Logged struct {
	Level   string `json:"level,omitempty"` // of those after which it cannot go on; see Fatal
	Message string `json:"message"`         // of the first of them
	Times   int    `json:"times"`
}

// fatal are the levels above error (logrus).
var fatal = []string{"fatal", "panic"}

// Fatal reports whether containerd says that it cannot go on.
func (l Logged) Fatal() bool { return slices.Contains(fatal, l.Level) }

// oftenLogged is how often a message is logged before a history keeps it.
const oftenLogged = 200

// sameMessage is how many bytes of two messages are alike before they are the same: what
// is of one container only comes later.
const sameMessage = 20

// mostMessages is how many different messages of a log are counted.
const mostMessages = 1 << 16

// LoggedIn lists the messages of a log that are fatal, and those that are logged often,
// in the order of the alphabet. The list is complete unless the log has more than
// mostMessages different ones.
func LoggedIn(log []byte) (out []Logged, complete bool) {
	complete = true
	all := map[string]*Logged{}
	for line := range bytes.Lines(log) {
		head, message, ok := bytes.Cut(line, []byte(" msg="))
		if !ok {
			continue // of a goroutine's dump
		}
		_, level, _ := bytes.Cut(head, []byte("level="))
		l := &Logged{Level: string(level)}
		if !l.Fatal() {
			l.Level = ""
		}
		key := string(message[:min(sameMessage, len(message))]) + l.Level
		if all[key] == nil && len(all) == mostMessages {
			complete = false
			continue
		}
		if all[key] == nil {
			all[key], l.Message = l, messageOf(message)
		}
		all[key].Times++
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if l := all[key]; l.Fatal() || l.Times >= oftenLogged {
			out = append(out, *l)
		}
	}
	return out, complete
}

// messageOf is the text of a logged message, up to its end or that of a line.
func messageOf(after []byte) string {
	quoted, ok := bytes.CutPrefix(after, []byte{'"'})
	if !ok {
		message, _, _ := bytes.Cut(bytes.TrimSpace(after), []byte{' '})
		return string(message)
	}
	message, _, more := bytes.Cut(bytes.TrimSpace(quoted), []byte(`" `))
	if !more {
		message = bytes.TrimSuffix(message, []byte{'"'})
	}
	return string(message)
}
