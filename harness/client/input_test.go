package client

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/must"
)

// session returns a session with a folder as its world, and a FIFO in the folder.
func session(t *testing.T) (s *Session, fifo string) {
	dir := t.TempDir()
	fifo = filepath.Join(dir, "stdin")
	must.Succeed(t, unix.Mkfifo(fifo, 0o600))
	d := must.Get(foreign.OpenDir(dir))(t)
	t.Cleanup(func() { _ = d.Close() })
	return NewSession(Params{Truth: d, FIFOs: d, Record: &record.Recorder{}}), fifo
}

// The reader receives the whole input. Each part has a writer of its own.
func TestFeed(t *testing.T) {
	s, fifo := session(t)
	keep := must.Get(os.Create(s.Truth.Path("c0" + inputFile)))(t)
	ends := make(chan int)
	go func() { // as a shim, but without holding the FIFO open, so that each writer's close is an end
		for n := 1; n <= 2; n++ {
			in, err := os.Open(fifo)
			if err == nil {
				_, err = keep.ReadFrom(in)
				_ = in.Close()
			}
			if err != nil {
				t.Error(err)
			}
			ends <- n
		}
	}()
	in := &harness.Input{Lines: 40}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		s.Feed(t.Context(), in, ToFIFO(s.FIFOs, fifo, "c0", func() bool { return true }))
	}()
	<-ends
	if info, err := keep.Stat(); err != nil || info.Size() == 0 {
		t.Errorf("the first part is empty: %v", err)
	}
	<-ends
	<-fed
	read := s.InputRead("c0")
	if in.Wrote != 40 || read.Last != 40 || len(read.Holes) > 0 || read.Repeated+read.Foreign > 0 {
		t.Errorf("%d lines were written, and this was read: %+v", in.Wrote, read)
	}
}

// Feed does not wait for a reader if the payload has ended.
func TestFeedWithoutAReader(t *testing.T) {
	s, fifo := session(t)
	in, begun := &harness.Input{Lines: 40}, time.Now()
	s.Feed(t.Context(), in, ToFIFO(s.FIFOs, fifo, "c0", func() bool { return false }))
	if in.Wrote != 0 || time.Since(begun) > inputTimeout/2 {
		t.Errorf("%d lines were written without a reader, in %v", in.Wrote, time.Since(begun))
	}
	if read := s.InputRead("c0"); read.Last != 0 {
		t.Errorf("%+v was read without a reader", read)
	}
}

func TestAwaitEOF(t *testing.T) {
	for text, want := range map[string]bool{
		"start pid=1 t=10\n":                false,
		"start pid=1 t=10\neof t=11\n":      true,
		"start pid=1 t=10\nexit 125 t=11\n": true,
	} {
		s, _ := session(t)
		must.Succeed(t, s.Truth.Write("c0"+truthFile, []byte(text), 0o644))
		must.Equal(t, s.AwaitEOF(context.Background(), "c0", 0, func() bool { return true }), want, text)
	}
}

// Each write continues after the lines of the previous writes, and waits for the reader.
func TestFeedMore(t *testing.T) {
	s, _ := session(t)
	keep := s.Truth.Path("c0" + inputFile)
	var all []byte
	to := Feeder{
		Record: "c0", Alive: func() bool { return true },
		Write: func(_ context.Context, text []byte) (int, error) {
			all = append(all, text...)
			return len(text), os.WriteFile(keep, all, 0o600)
		},
	}
	in := &harness.Input{}
	taken := s.FeedMore(t.Context(), in, to, 10, 0)
	taken = s.FeedMore(t.Context(), in, to, 30, taken)
	read := s.InputRead("c0")
	if taken != len(all) || in.Lines != 40 || in.Wrote != 40 || read.Last != 40 || read.Repeated+read.Foreign > 0 {
		t.Errorf("%d of %d lines were written, %d bytes, and this was read: %+v", in.Wrote, in.Lines, taken, read)
	}
}
