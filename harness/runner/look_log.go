package runner

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/shimquake/shimquake/harness"
)

// oftenLogged is how often a message is logged before a history keeps it.
const oftenLogged = 200

// sameMessage is how many bytes of two messages are alike before they are the same: what
// is of one container only comes later.
const sameMessage = 20

// longestLog is how much of a log is read.
const longestLog = 64 << 20

// lookAtLog counts the messages of containerd's log.
func (x *run) lookAtLog() error {
	f, err := os.Open(x.daemon.Log())
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	text, err := io.ReadAll(io.LimitReader(f, longestLog))
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	often := often(text)
	x.record.Set(func(h *harness.History) { h.Logged = often })
	return nil
}

// often lists the messages that are logged often, in the order of the alphabet.
func often(log []byte) (out []harness.Logged) {
	times, first := map[string]int{}, map[string]string{}
	for line := range bytes.Lines(log) {
		_, message, ok := bytes.Cut(line, []byte(" msg="))
		if !ok {
			continue // of a panic
		}
		key := message[:min(sameMessage, len(message))]
		if times[string(key)]++; times[string(key)] == oftenLogged {
			first[string(key)] = messageOf(message)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(first)) {
		out = append(out, harness.Logged{Message: first[key], Times: times[key]})
	}
	return out
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
