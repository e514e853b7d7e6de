package failpoints

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/must"
)

// flood connects to a controller, and writes until it is disconnected, or all is written.
func flood(t *testing.T, path, message string, times int) {
	t.Helper()
	conn := must.Get(net.Dial("unix", path))(t)
	defer func() { _ = conn.Close() }()
	must.Succeed(t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	lines := strings.Repeat(message, max(1, (64<<10)/len(message)))
	for range max(1, times*len(message)/len(lines)) {
		if _, err := io.WriteString(conn, lines); err != nil {
			return // disconnected
		}
	}
	must.Fail(t, must.ErrorOf(conn.Read(make([]byte, 1))), "the controller answers")
}

// A broken program of a world cannot make the harness grow by its probes. It is
// disconnected, and the case says why.
func TestTheProbesAreBounded(t *testing.T) {
	hit := must.Get(json.Marshal(probe.FromProcess{Hit: &probe.Hit{Point: entry, ID: "c1"}}))(t)
	for name, c := range map[string]struct {
		message string
		times   int
	}{
		"a message without end": {strings.Repeat("x", 1<<16), 2 * longestMessage >> 16},
		"hits without end":      {string(hit) + "\n", 2 * maxHits},
		"long hits":             {`{"hit":{"point":"` + strings.Repeat("x", longestMessage/2) + `"}}` + "\n", 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2, path := listen(t, nil)
			flood(t, path, c.message, c.times)
			if n := len(c2.Hits()); n > maxHits {
				t.Errorf("%d hits are kept", n)
			}
			if c2.Err() == nil {
				t.Error("it is not said that something was lost")
			}
		})
	}
}

// A process that asks and does not read the decision is disconnected; another process is
// not affected.
func TestAProcessThatDoesNotReadIsDisconnected(t *testing.T) {
	_, path := listen(t, nil, Error(entry, 0, strings.Repeat("no", 100)))
	deaf, _ := connect(t, path, 5, nil)
	message := must.Get(json.Marshal(probe.FromProcess{Hit: &probe.Hit{Point: entry, Ask: true, ID: "c1"}}))(t)
	must.Succeed(t, deaf.conn.SetDeadline(time.Now().Add(time.Minute)))
	for { // until it is disconnected
		if _, err := deaf.conn.Write(append(message, '\n')); err != nil {
			break
		}
	}
	other, _ := connect(t, path, 6, nil)
	if a := other.ask(entry); a.Do != "error" {
		t.Errorf("another process is told %+v", a)
	}
}

// Repeated errors of processes are kept up to a limit.
func TestErrorsOfProcessesAreBounded(t *testing.T) {
	c, path := listen(t, nil)
	for range 2 * maxErrs {
		flood(t, path, strings.Repeat("x", 1<<10)+"\n", 1)
	}
	if err := c.Err(); err == nil || len(err.Error()) > maxErrs*300 {
		t.Errorf("%d bytes of errors", len(err.Error()))
	}
}
