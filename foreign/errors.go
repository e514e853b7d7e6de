package foreign

import (
	"fmt"
	"io/fs"

	"github.com/shimquake/shimquake/quote"
)

// KindError reports an entry of another kind than was asked for, such as a symbolic link
// or a FIFO in place of a regular file.
type KindError struct {
	Name string
	Is   string // "a symbolic link"
	Want string // "a regular file"
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is %s, not %s", quote.Line(e.Name), e.Is, e.Want)
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of an unknown kind"
}

// Unit names the things that a limit counts.
type Unit string

// The units of limits.
const (
	Bytes   Unit = "bytes"
	Entries Unit = "entries"
	Levels  Unit = "levels of folders"
)

// LimitError reports a file or a folder that is larger than the caller allows.
type LimitError struct {
	Name string
	Most int64
	Unit Unit
}

func (e *LimitError) Error() string {
	most := fmt.Sprintf("%d %s", e.Most, e.Unit)
	if mib := e.Most >> 20; e.Unit == Bytes && mib > 0 && e.Most == mib<<20 {
		most = fmt.Sprintf("%d MiB", mib)
	}
	return fmt.Sprintf("%s is larger than %s, the most that is read", quote.Line(e.Name), most)
}
