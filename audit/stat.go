package audit

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// stat has the fields of /proc/PID/stat that the audit needs (proc_pid_stat(5)).
type stat struct {
	pid, parent int
	comm, state string
	start       uint64
	kernel      bool
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

var errStat = errors.New("not a line of /proc/PID/stat")

// parseStat parses a stat. The name is in parentheses and may contain any text, even ") R
// 1".
func parseStat(text string) (stat, error) {
	var s stat
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return s, errStat
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return s, errStat
	}
	s.pid, s.comm = pid, text[open+1:end]
	// state ppid pgrp session tty tpgid flags ... and starttime is the 22nd of all
	f := strings.Fields(text[end+1:])
	if len(f) < 20 {
		return s, errStat
	}
	s.state = f[0]
	flags, err1 := strconv.ParseUint(f[6], 10, 64)
	parent, err2 := strconv.Atoi(f[1])
	start, err3 := strconv.ParseUint(f[19], 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return s, errStat
	}
	s.parent, s.start, s.kernel = parent, start, flags&kernelThread != 0
	return s, nil
}

// parseCmdline splits /proc/PID/cmdline. A program that has rewritten it for ps may have
// no separators at all.
func parseCmdline(text []byte) []string {
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(text), "\x00")
}

// identity has the fields of /proc/PID/status that the audit needs (proc_pid_status(5)).
type identity struct {
	uid          int    // the real uid, in the auditor's user namespace; -1 if it is missing
	capabilities uint64 // the effective capabilities
	pids         []int  // from the auditor's PID namespace to the process's own
}

// parseStatus parses an identity. A name cannot forge a line, because the kernel escapes
// line breaks in it.
func parseStatus(text string) identity {
	s := identity{uid: -1}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) == 0 {
			continue
		}
		switch name {
		case "Uid":
			if uid, err := strconv.Atoi(words[0]); err == nil {
				s.uid = uid
			}
		case "CapEff":
			s.capabilities, _ = strconv.ParseUint(words[0], 16, 64) // 0 if it is no number
		case "NSpid":
			s.pids = numbers(words)
		}
	}
	return s
}

func numbers(words []string) []int {
	var out []int
	for _, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// parseUptime reads the seconds since boot from /proc/uptime.
func parseUptime(text string) float64 {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil || up < 0 || up > 1e10 {
		return 0
	}
	return up
}

// shimFlag returns the value of a flag of a shim's command line, such as -address.
func shimFlag(argv []string, name string) string {
	for i, word := range argv {
		flag, value, ok := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case i == 0 || !strings.HasPrefix(word, "-") || flag != name:
		case ok:
			return value
		case i+1 < len(argv):
			return argv[i+1]
		}
	}
	return ""
}
