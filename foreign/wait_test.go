package foreign

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
)

// /proc/kmsg and similar files say that they are regular files, but a read of them waits.
// A read of an empty pipe waits, too.
func TestAReaderDoesNotWait(t *testing.T) {
	r, w, err := os.Pipe()
	must.Succeed(t, err)
	f := &File{file: r, left: 100, most: 100}
	if n, err := f.Read(make([]byte, 10)); !errors.Is(err, unix.EAGAIN) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	must.Succeed(t, errors.Join(f.Close(), w.Close()))
}
