package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/spelling"
)

// Stream is how clients of CRI's streaming server leave a container.
type Stream string

// How they leave.
const (
	StreamWhole  Stream = "whole"  // at the end
	StreamBroken Stream = "broken" // some in the middle: they close their connections
)

// BrokenLines are how many lines of input an exec may have whose client goes: it writes
// what it has read of them, a quarter, to pipes that nobody reads, and that hold 128 KiB.
const BrokenLines = 7000

// checkStream reports what clients of CRI's streaming server cannot do.
func (c Container) checkStream(w Workload) error {
	known := []string{string(StreamWhole), string(StreamBroken)}
	switch {
	case c.Stream == "" && (c.Stdin == 0 || w.API != CRI):
		return nil
	case c.Stream == "":
		return errors.New("stdin: only a streaming client of CRI writes one: add stream, or leave out api: cri")
	case !slices.Contains(known, string(c.Stream)):
		return spelling.Unknown("stream", string(c.Stream), known)
	case w.API != CRI:
		return errors.New("stream: of CRI's streaming server: it needs api: cri")
	case c.Stream == StreamBroken && c.Exec != 0 && c.Stdin > BrokenLines:
		return fmt.Errorf("stream: broken: with exec at most stdin: %d, as nobody reads what that writes", BrokenLines)
	}
	return nil
}
