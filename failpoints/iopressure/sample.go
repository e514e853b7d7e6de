package iopressure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sample is the state of one thread at one time.
type sample struct {
	state sampleState
	call  string // the call's line in /proc, which is the best identification of one call
	arg   uint64 // address of the path to unmount; 0 when not known
}

type sampleState int

const (
	elsewhere sampleState = iota // in no umount2
	inside                       // waiting in umount2
	unknown                      // on a CPU: /proc does not show its call
)

// sampler returns the state of the thread tid; task is /proc/PID/task.
type sampler func(task *os.Root, tid string) (sample, error)

// pickSampler returns the best sampler that the kernel offers for this process.
//
//   - /proc/TID/syscall has the number and the arguments of the system call in which a
//     thread waits. It shows umount2 also on the return to user mode (task work:
//     cleanup_mnt, ovl_sync_fs): the saved registers still hold the number. Measured on
//     6.18; it needs CONFIG_HAVE_ARCH_TRACEHOOK.
//   - /proc/TID/stack has the kernel functions; root only, CONFIG_STACKTRACE.
func pickSampler(task *os.Root, tid string) (sampler, error) {
	_, err := bySyscall(task, tid)
	if err == nil {
		return bySyscall, nil
	}
	_, err2 := byStack(task, tid)
	if err2 == nil {
		return byStack, nil
	}
	return nil, fmt.Errorf(
		"cannot see in which system calls its threads wait: run as root (CAP_SYS_PTRACE): %w",
		errors.Join(err, err2),
	)
}

func bySyscall(task *os.Root, tid string) (sample, error) {
	b, err := task.ReadFile(tid + "/syscall")
	if err != nil {
		return sample{}, err
	}
	return parseSyscall(string(b))
}

func byStack(task *os.Root, tid string) (sample, error) {
	b, err := task.ReadFile(tid + "/stack")
	if err != nil {
		return sample{}, err
	}
	return parseStack(string(b)), nil
}

// parseSyscall reads /proc/TID/syscall (proc_pid_syscall(5)): "running"; "-1 SP PC" in
// no system call; or number, six arguments, SP and PC, all but the first in hex.
func parseSyscall(text string) (sample, error) {
	line := strings.TrimSpace(text)
	if line == "running" {
		return sample{state: unknown}, nil
	}
	f := strings.Fields(line)
	if len(f) == 0 {
		return sample{}, errors.New("/proc/TID/syscall is empty")
	}
	nr, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return sample{}, fmt.Errorf("/proc/TID/syscall: %w", err)
	}
	if nr != unix.SYS_UMOUNT2 || len(f) < 2 {
		return sample{}, nil
	}
	arg, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64)
	if err != nil {
		return sample{}, fmt.Errorf("/proc/TID/syscall: %w", err)
	}
	return sample{state: inside, call: line, arg: arg}, nil
}

// umountFrames are the kernel functions in which umount2 waits. The first two are the
// call itself, before and since 5.9. The third ends the superblock afterwards.
var umountFrames = []string{"ksys_umount", "path_umount", "cleanup_mnt"}

// parseStack parses /proc/TID/stack, which is empty for a running thread.
func parseStack(text string) sample {
	frames := functions(text)
	if len(frames) == 0 {
		return sample{state: unknown}
	}
	for _, f := range frames {
		for _, u := range umountFrames {
			if f == u {
				return sample{state: inside, call: "stack"}
			}
		}
	}
	return sample{}
}

// functions returns the names in /proc/TID/stack, innermost first: "[<0>]
// ovl_sync_fs+0x4f/0x70" is ovl_sync_fs.
func functions(stack string) []string {
	var names []string
	for line := range strings.Lines(stack) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "] ")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "+")
		names = append(names, name)
	}
	return names
}

// pathAt reads the path argument of umount2 from the thread's memory. It returns "" if
// the memory cannot be read: the path only illustrates the evidence.
func pathAt(task *os.Root, tid string, addr uint64) string {
	if addr == 0 || addr > 1<<62 {
		return ""
	}
	f, err := task.Open(tid + "/mem")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, unix.PathMax)
	n, _ := f.ReadAt(buf, int64(addr)) // stops short at the end of the mapping
	path, _, ok := strings.Cut(string(buf[:n]), "\x00")
	if !ok {
		return ""
	}
	return path
}

// ended reports whether an error of /proc means that the thread or process has ended.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
