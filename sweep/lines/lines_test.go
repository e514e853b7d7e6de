package lines

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

// opened returns a file with this text, and its lines.
func opened(t *testing.T, text string) (*File, []string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.jsonl")
	must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
	f := must.Get(Open(name, 0))(t)
	t.Cleanup(func() { _ = f.Close() })
	var all []string
	must.Succeed(t, f.Read(func(_ int, line []byte) error { all = append(all, string(line)); return nil }))
	return f, all
}

func TestATornLineIsCutOff(t *testing.T) {
	f, all := opened(t, "1\n2\n{\"to")
	must.Equal(t, all, []string{"1\n", "2\n"})
	must.Succeed(t, f.Add(3))
	must.Equal(t, must.Read(t, f.Name()), "1\n2\n3\n")
}

// A record that a full disk has cut is not the beginning of the next one. A limit on the
// size of files stands for the disk.
func TestAFullDiskLeavesNoHalfRecord(t *testing.T) {
	f, _ := opened(t, "1\n")
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var was unix.Rlimit
	must.Succeed(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	must.Succeed(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 5, Max: was.Max}))
	err := f.Add(strings.Repeat("x", 100))
	must.Succeed(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
	if err == nil {
		t.Fatal("the disk was not full")
	}
	must.Succeed(t, f.Add(2))
	must.Equal(t, must.Read(t, f.Name()), "1\n2\n")
}

func TestOneWriter(t *testing.T) {
	f, _ := opened(t, "")
	if _, err := Open(f.Name(), 0); !errors.Is(err, foreign.ErrInUse) || !strings.Contains(err.Error(), "--out") {
		t.Errorf("%v", err)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A line without an end is refused, and so is a line with more values than a journal has.
func TestLinesAreBounded(t *testing.T) {
	for says, from := range map[string]io.Reader{
		"128 MiB": zeros{}, "4000000 values": strings.NewReader("[" + strings.Repeat("1,", 4_000_000) + "1]\n"),
	} {
		whole, err := Each("lines", from, func(int, []byte) error { t.Error("visited"); return nil })
		var long *foreign.LimitError
		if whole != 0 || !errors.As(err, &long) || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "lines:1: ") {
			t.Errorf("%v; want %q", err, says)
		}
	}
}
