package client

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// The folder of records is mounted in each container, so a container may create links and
// FIFOs there.
func TestRecordsAreNoLinks(t *testing.T) {
	s, _ := session(t)
	host := filepath.Join(t.TempDir(), "host")
	must.Succeed(t, os.WriteFile(host, []byte("start pid=1 t=10\n"), 0o600))
	log := ShimLog{To: harness.LogFile, Dir: s.Truth, Name: "c0-log"}
	for _, name := range []string{"c0" + truthFile, "c0" + inputFile, "c0.end", log.Name} {
		must.Succeed(t, os.Symlink(host, s.Truth.Path(name)))
	}
	must.Fail(t, s.CreateRecord("c0"), "a record was made through a link")
	must.Fail(t, must.ErrorOf(s.Payload("c0")), "a record was read through a link")
	if read := s.InputRead("c0"); read.Foreign > 0 {
		t.Errorf("an input was read through a link: %+v", read)
	}
	if all := log.Outputs(); all.Stdout.Foreign > 0 {
		t.Errorf("a log was read through a link: %+v", all)
	}
	if _, err := log.Create("c0"); err != nil { // the link is replaced
		t.Error(err)
	}
	for _, name := range []string{"c1" + truthFile, "c1" + inputFile, "c1-log"} {
		must.Succeed(t, unix.Mkfifo(s.Truth.Path(name), 0o600))
	}
	must.Fail(t, must.ErrorOf(s.Payload("c1")), "a record was read from a FIFO")
	s.InputRead("c1") // returns
	log.Name = "c1-log"
	log.Outputs() // returns
	if _, err := writeTo(context.Background(), s.FIFOs, s.FIFOs.Path("c0"+truthFile), []byte("x"),
		func() bool { return true }); err == nil {
		t.Error("a link was written to in place of a FIFO")
	}
	must.Equal(t, must.Read(t, host), "start pid=1 t=10\n", "the file of the host")
}
