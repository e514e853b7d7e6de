package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/fixtures/source"
)

// harmless are the system calls that change nothing outside of the process. Each other
// call is checked, or is a failure.
var harmless = strings.Fields(`read pread64 readv lseek close fstat statfs newfstatat stat lstat statx readlink
	readlinkat getdents64 access faccessat faccessat2 getcwd uname sysinfo mmap munmap mprotect madvise mincore brk
	futex epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 pipe2 poll ppoll nanosleep clock_nanosleep clock_gettime
	sched_yield sched_getaffinity rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack gettid getpid getppid getuid
	geteuid getgid getegid capget arch_prctl prctl set_robust_list set_tid_address rseq getrandom fcntl getrlimit getxattr
	getsockname getpeername getsockopt setsockopt shutdown exit exit_group restart_syscall recvmsg recvfrom umask`)

// straced checks the lines of strace -f -y for calls that an audit must not make.
// address is the only socket that it may connect to.
type straced struct {
	address string
	self    string            // the process; its threads have other numbers
	paths   map[string]string // what a descriptor of O_PATH names
	cut     map[string]string // the begin of a call that another thread's line has cut
	asked   int
	bad     []string
}

var (
	straceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	straceCall = regexp.MustCompile(`^(\w+)\((.*)$`)
	opened     = regexp.MustCompile(`= (\d+)<([^>]*)>$`)
	connected  = regexp.MustCompile(`sun_path="([^"]*)"`)
)

func (s *straced) line(line string) {
	m := straceLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	thread, text := m[1], m[2]
	if s.self == "" {
		s.self = thread
	}
	if begin, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
		s.cut[thread] = begin
		return
	}
	if strings.HasPrefix(text, "<... ") {
		_, rest, _ := strings.Cut(text, " resumed>")
		text = s.cut[thread] + rest
	}
	if m := straceCall.FindStringSubmatch(text); m != nil { // else a signal, or an exit
		if why := s.call(m[1], m[2]); why != "" {
			s.bad = append(s.bad, why+": "+text)
		}
	}
}

// call returns what is wrong with a call, or "".
func (s *straced) call(name, args string) string {
	switch name {
	case "openat", "openat2", "open":
		if regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE`).MatchString(args) {
			return "opened for writing"
		}
		if m := opened.FindStringSubmatch(args); m != nil {
			s.paths[m[1]] = m[2]
		}
	case "write", "writev", "sendmsg", "sendto":
		if !regexp.MustCompile(`^([12]|\d+)<(pipe:|anon_inode:\[eventfd\]|UNIX|socket:|/dev/null)`).MatchString(args) {
			return "written to"
		}
	case "socket":
		if !strings.HasPrefix(args, "AF_UNIX,") {
			return "a network"
		}
	case "connect":
		m := connected.FindStringSubmatch(args)
		if m == nil {
			return "connected elsewhere"
		}
		if s.paths[strings.TrimPrefix(m[1], "/proc/self/fd/")] != s.address {
			return "connected to another than containerd"
		}
		s.asked++
	case "tgkill": // Go's runtime interrupts its own threads
		if !strings.HasPrefix(args, s.self+",") {
			return "a signal"
		}
	case "clone", "clone3":
		if !strings.Contains(args, "CLONE_THREAD") {
			return "another process"
		}
	case "prlimit64": // Go raises its own limit of files
		if !strings.HasPrefix(args, "0,") {
			return "another's limit"
		}
	case "ioctl": // is stderr a terminal, and how wide?
		if !regexp.MustCompile(`^2<[^>]*>, (TCGETS|TIOCGWINSZ), `).MatchString(args) {
			return "an ioctl"
		}
	case "execve":
		if s.paths["execve"] != "" {
			return "another program"
		}
		s.paths["execve"] = "strace's own"
	default:
		if !slices.Contains(harmless, name) {
			return "not known to be harmless"
		}
	}
	return ""
}

func newStraced(address string) *straced {
	return &straced{address: address, paths: map[string]string{}, cut: map[string]string{}}
}

// TestAnAuditOnlyReads watches a whole audit of the real program, on a node with a
// healthy, a leaked and a stopped shim.
func TestAnAuditOnlyReads(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: sudo apt-get install strace. Nothing else shows that an audit writes nothing.")
	}
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.end(n.run("lost", "wait", "shutdown=ignore")))
	n.run("c2", "wait", "")
	n.must(n.world.Signal(n.ctx, n.shim("c2"), 19))
	defer func() { n.must(n.world.Signal(n.ctx, n.shim("c2"), 18)) }()

	out := filepath.Join(t.TempDir(), "strace")
	cmd := exec.CommandContext(n.ctx, strace, "-f", "-y", "-s", "256", "-o", out, buildShimquake(n), "audit", "--json",
		"--settle", "100ms", "--pid", strconv.Itoa(n.world.InitPID()))
	cmd.Dir, err = source.Checkout() // where other commands look for a Go
	n.must(err)
	var report, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &complaint
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit status 1: %s%s", err, report.String(), complaint.String())
	}
	for _, want := range []string{`"id":"lost"`, `"id":"c2"`} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %s in %s", want, report.String())
		}
	}
	text, err := os.ReadFile(out)
	n.must(err)
	s := newStraced(n.Address())
	lines := 0
	for line := range strings.Lines(string(text)) {
		lines++
		s.line(strings.TrimSpace(line))
	}
	t.Logf("%d lines of strace, %d connections to containerd", lines, s.asked)
	for _, bad := range s.bad {
		t.Error(bad)
	}
	if lines < 500 || s.asked == 0 {
		t.Error("that was no audit")
	}
}

func buildShimquake(n *node) string {
	n.Helper()
	root, err := source.Checkout()
	n.must(err)
	program := filepath.Join(n.TempDir(), "shimquake")
	cmd := child.Command(n.ctx, "go", "build", "-o", program, "./cmd/shimquake")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.Fatalf("%v: %s", err, out)
	}
	return program
}

// Each forbidden call is found.
func TestStracedSees(t *testing.T) {
	const begin = "10 execve(\"/bin/shimquake\", [\"shimquake\"], 0x7) = 0\n" +
		"10 openat2(8</>, \"/run/c.sock\", {flags=O_PATH|O_CLOEXEC}, 24) = 12</run/c.sock>\n" +
		"11 connect(9<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path=\"/proc/self/fd/12\"}, 20) = 0\n" +
		"11 tgkill(10, 12, SIGURG) = 0\n11 write(1<pipe:[3]>, \"x\", 1 <unfinished ...>\n" +
		"10 openat(AT_FDCWD</>, \"/proc/1/stat\", O_RDONLY) = 5</proc/1/stat>\n11 <... write resumed>) = 1\n"
	for line, want := range map[string]int{
		"":                               0,
		"10 kill(41, SIGTERM) = 0":       1,
		"10 tgkill(41, 41, SIGKILL) = 0": 1,
		"10 pidfd_send_signal(5, SIGKILL, NULL, 0) = 0":                                                1,
		`10 openat(AT_FDCWD</>, "/x", O_WRONLY|O_CREAT, 0644) = 5</x>`:                                 1,
		`10 write(5</sys/fs/cgroup/x/cgroup.procs>, "1", 1) = 1`:                                       1,
		`10 unlinkat(AT_FDCWD</>, "/x", 0) = 0`:                                                        1,
		`11 connect(9<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path="/run/containerd/s/ab"}, 20) = 0`: 1,
		`11 connect(9<TCP:[1]>, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0`:                      1,
		`11 socket(AF_INET, SOCK_STREAM, 0) = 3`:                                                       1,
		`10 execve("/bin/sh", ["sh"], 0x7) = 0`:                                                        1,
		`10 clone(child_stack=NULL, flags=SIGCHLD) = 99`:                                               1,
		`10 prlimit64(41, RLIMIT_NOFILE, {rlim_cur=1}, NULL) = 0`:                                      1,
		`10 umount2("/x", MNT_DETACH) = 0`:                                                             1,
	} {
		s := newStraced("/run/c.sock")
		for l := range strings.Lines(begin + line) {
			s.line(strings.TrimSpace(l))
		}
		if len(s.bad) != want {
			t.Errorf("%q: %q", line, fmt.Sprint(s.bad))
		}
	}
}
