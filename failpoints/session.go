package failpoints

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// The bounds of the messages of processes. The longest message is a profile, of some KiB.
// A trace of a case has 10,000 hits, of 200 bytes each. An endless loop of a broken
// containerd has more.
const (
	longestMessage = 8 << 20
	maxReceived    = 128 << 20
	maxHits        = 1 << 18
	maxErrs        = 100
	sendTimeout    = time.Second
)

// session is one connected process.
type session struct {
	conn  net.Conn
	hello probe.Hello
	acked int64
}

// The controller's lock is held while it writes to a session. A failed write means that
// the process has gone. Its last hits are still read, and its reader ends the session. A
// process that does not read is disconnected: it must not block the others.

func (s *session) send(m probe.FromController) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // on a closed connection the write fails, too
	if errors.Is(json.NewEncoder(s.conn).Encode(m), os.ErrDeadlineExceeded) {
		_ = s.conn.Close()
	}
}

func (s *session) arm(generation int64, points []string, trace, cover bool) {
	s.send(probe.FromController{Armed: points, Generation: generation, Trace: trace, Cover: cover})
}

func (s *session) answer(seq int64, clause term.Clause) {
	s.send(probe.FromController{Decision: &probe.Decision{Seq: seq, Do: string(clause.Action), Arg: clause.Arg}})
}

// readLine appends the next line to a buffer, which it reuses.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) > longestMessage {
			return nil, fmt.Errorf("a probe sent a message of more than %d bytes", longestMessage)
		}
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
	}
}
