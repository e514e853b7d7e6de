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

// The bounds of what processes may say. The longest message is a profile, of some KiB. A
// trace of a case has 10,000 hits, and an endless loop of a broken containerd more.
const (
	longestMessage = 8 << 20
	mostHits       = 1 << 18
	mostErrs       = 100
	sendTimeout    = time.Second
)

// session is one connected process.
type session struct {
	conn  net.Conn
	hello probe.Hello
	acked int64
}

// The writes of a session are made with the controller's lock held. A process that is
// gone cannot be answered, and its last hits are still to be read: its reader ends the
// session. A process that does not read is cut off: it must not block the others.

func (s *session) send(m probe.FromController) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // of a closed one the write fails, too
	if errors.Is(json.NewEncoder(s.conn).Encode(m), os.ErrDeadlineExceeded) {
		_ = s.conn.Close()
	}
}

func (s *session) arm(generation int64, points []string, trace bool) {
	s.send(probe.FromController{Armed: points, Generation: generation, Trace: trace})
}

func (s *session) answer(seq int64, clause term.Clause) {
	s.send(probe.FromController{Answer: &probe.Answer{Seq: seq, Do: string(clause.Action), Arg: clause.Arg}})
}

// readLine appends the next line to a buffer that is used again and again.
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
