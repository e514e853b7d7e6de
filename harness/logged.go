package harness

import (
	"bytes"
	"maps"
	"slices"
)

// Logged is a message of containerd's log, and how often similar messages came.
type Logged struct {
	Level   string `json:"level,omitempty"` // set if the message is fatal, see Fatal
	Message string `json:"message"`         // the first of these messages
	Times   int    `json:"times"`
}

// fatal are the levels above error of containerd's logger, logrus.
var fatal = []string{"fatal", "panic"}

// Fatal reports whether containerd exits because of the message's level.
func (l Logged) Fatal() bool { return slices.Contains(fatal, l.Level) }

// oftenLogged is how many similar messages there must be before a history keeps them.
const oftenLogged = 200

// sameMessage is the length of the common prefix of similar messages, in bytes. It is
// short, because ids of containers come later in a message.
const sameMessage = 20

// maxMessages limits the number of different messages that are counted.
const maxMessages = 1 << 16

// LoggedIn returns the fatal and the frequent messages of a log, in alphabetical order.
// complete is false if the log has more than maxMessages different messages.
func LoggedIn(log []byte) (out []Logged, complete bool) {
	complete = true
	all := map[string]*Logged{}
	for line := range bytes.Lines(log) {
		head, message, ok := bytes.Cut(line, []byte(" msg="))
		if !ok {
			continue // a line of a goroutine dump
		}
		_, level, _ := bytes.Cut(head, []byte("level="))
		l := &Logged{Level: string(level)}
		if !l.Fatal() {
			l.Level = ""
		}
		key := string(message[:min(sameMessage, len(message))]) + l.Level
		if all[key] == nil && len(all) == maxMessages {
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

// messageOf returns the text of a message. It takes the rest of a log line after msg=.
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
