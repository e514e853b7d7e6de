package scan

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
)

// maxThreads limits the threads of a process, and maxStack the bytes of a file of one.
const maxThreads, maxStack = 1 << 16, 1 << 20

// Threads returns the status of a process, and the kernel's stack of each of its threads.
// The stacks help if the Go runtime hangs. proc is the folder of the process in /proc. On
// an error it returns the text so far.
func Threads(proc *foreign.Dir) ([]byte, error) {
	names := []string{"status"}
	threads, err := proc.List("task", maxThreads)
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		for _, of := range []string{"comm", "wchan", "stack"} {
			names = append(names, filepath.Join("task", t.Name(), of))
		}
	}
	var out bytes.Buffer
	for _, name := range names {
		text, err := proc.Read(name, maxStack)
		if err != nil {
			return out.Bytes(), err
		}
		fmt.Fprintf(&out, "--- /proc/%s/%s\n%s\n", filepath.Base(proc.Name()), name, text)
	}
	return out.Bytes(), nil
}

// Catches reports whether a process has a handler for a signal. status has the text of
// its /proc/PID/status.
func Catches(status []byte, sig unix.Signal) bool {
	_, after, _ := strings.Cut(string(status), "SigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits>>(uint(sig)-1)&1 == 1
}
