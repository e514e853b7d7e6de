package failpoints

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/spelling"
)

func TestParsePoint(t *testing.T) {
	for _, test := range []struct {
		text    string
		want    Point
		nearest string // of the error
		says    string
	}{
		{"rpc:shim:Task.Shutdown:entry", Point{RPC, "shim", "Task.Shutdown", "entry"}, "", ""},
		{"rpc:containerd:Sandbox.StopSandbox:exit", Point{RPC, "containerd", "Sandbox.StopSandbox", "exit"}, "", ""},
		{"proc:sandbox:exited", Point{Proc, "sandbox", "exited", ""}, "", ""},
		{"sys:shim:umount2:exited", Point{Sys, "shim", "umount2", "exited"}, "", ""},
		{"io:root:running", Point{IO, "root", "running", ""}, "", ""},
		{"stmt:shim:runc-task.service.Delete:if-err-nil#2", Point{Stmt, "shim", "runc-task.service.Delete", "if-err-nil#2"},
			"", ""},
		{"stmt:task:runtime.F:a", Point{}, "", "process"},
		{"stmt:shim:runtime.F", Point{}, "", "4 parts"},
		{"stmt:shim:F:a", Point{}, "", "PACKAGE.FUNCTION"},
		{"stmt:shim:runtime.F:a b", Point{}, "", "letters, digits"},
		{"rcp:shim:Task.Shutdown:entry", Point{}, "rpc", "kind"},
		{"rpc:shin:Task.Shutdown:entry", Point{}, "shim", "process"},
		{"rpc:shim:Task.Shutdwon:entry", Point{}, "Task.Shutdown", "name"},
		{"rpc:shim:task.shutdown:entry", Point{}, "Task.Shutdown", "name"},
		{"rpc:shim:Task.Shutdown:enter", Point{}, "entry", "side"},
		{"sys:containerd:umount2:exited", Point{}, "", "process"},
		{"sys:shim:umount:exited", Point{}, "umount2", "name"},
		{"proc:shim:runnin", Point{}, "running", "name"},
		{"", Point{}, "", "kind"},
		{"rpc", Point{}, "", "4 parts"},
		{"rpc:shim:Task.Shutdown", Point{}, "", "for example rpc:containerd:Task.State:entry"},
		{"proc:shim:running:entry", Point{}, "", "3 parts"},
	} {
		got, err := ParsePoint(test.text)
		must.Equal(t, got, test.want, "ParsePoint", test.text)
		if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("ParsePoint(%q): error %v, want one that says %q", test.text, err, test.says)
		}
		var u *spelling.UnknownError
		if errors.As(err, &u) && u.Nearest != test.nearest {
			t.Errorf("ParsePoint(%q) suggests %q, want %q", test.text, u.Nearest, test.nearest)
		}
		if test.nearest != "" && u == nil {
			t.Errorf("ParsePoint(%q): %v suggests nothing, want %q", test.text, err, test.nearest)
		}
	}
}

// Every listed point can be parsed, and takes some action.
func TestPoints(t *testing.T) {
	all := Points()
	want := 0
	for _, r := range rules {
		n := 1
		for _, part := range r.parts {
			n *= len(part.names)
		}
		want += n
		if len(r.kind.Actions()) == 0 {
			t.Errorf("no action can happen at points of the kind %s", r.kind)
		}
	}
	must.Equal(t, len(all), want, "points")
	seen := map[Point]bool{}
	for _, p := range all {
		if seen[p] {
			t.Errorf("%s is listed twice", p)
		}
		seen[p] = true
		must.Equal(t, must.Get(ParsePoint(p.String()))(t), p)
	}
}

func FuzzParsePoint(f *testing.F) {
	for _, p := range Points() {
		f.Add(p.String())
	}
	f.Add("rpc:::")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePoint(text)
		if err == nil && p.String() != text {
			t.Errorf("ParsePoint(%q) = %s", text, p)
		}
	})
}

func TestParseStep(t *testing.T) {
	for _, test := range []struct {
		text string
		want Step
		says string // of the error
	}{
		{"kill shim", Step{Verb: "kill", Who: "shim"}, ""},
		{"  await   removal ", Step{Verb: "await", Who: "removal"}, ""},
		{"start containerd", Step{Verb: "start", Who: "containerd"}, ""},
		{"sleep 1500ms", Step{Verb: "sleep", For: 1500 * time.Millisecond}, ""},
		{"release", Step{Verb: "release"}, ""},
		{"", Step{}, "an empty step"},
		{"kil shim", Step{}, `did you mean "kill"?`},
		{"kill shin", Step{}, `did you mean "shim"?`},
		{"kill", Step{}, "one of shim, containerd, task, sandbox"},
		{"kill shim now", Step{}, "one of shim"},
		{"start shim", Step{}, "object"},
		{"release shim", Step{}, "stands alone"},
		{"sleep", Step{}, "expected a duration"},
		{"sleep long", Step{}, "expected a duration"},
		{"sleep -1s", Step{}, "expected a duration"},
		{"sleep 2h", Step{}, "up to 1h"},
	} {
		got, err := ParseStep(test.text)
		if got != test.want || (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("ParseStep(%q) = %v, %v; want %v, an error that says %q", test.text, got, err, test.want, test.says)
		}
	}
}

func FuzzParseStep(f *testing.F) {
	for _, s := range []string{"kill shim", "await removal", "sleep 2s", "release", "cont containerd",
		"sleep 0.0000000001s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStep(text)
		if err != nil {
			return
		}
		must.Equal(t, must.Get(ParseStep(s.String()))(t), s, "the step of a step's text,", text)
	})
}

func TestFaultCheck(t *testing.T) {
	for _, test := range []struct {
		at, do, while string
		says          string // of the error; "" for none
	}{
		{"rpc:shim:Task.Delete:entry", "2*off->1*crash", "", ""},
		{"rpc:shim:Task.Delete:entry", "error(x)", "", ""},
		{"rpc:shim:Task.Delete:entry", "1*pause", "kill containerd", ""},
		{"proc:shim:running", "1*kill", "", ""},
		{"sys:shim:umount2:exited", "delay(100)", "", ""},
		{"io:root:exited", "1*pressure(4MiB/s,60MiB)", "", ""},
		{"rpc:shim:Task.Delete:entry", "kill", "", "takes off, crash, error"},
		{"rpc:shim:Task.Delete:entry", "1*off->pressure(4MiB/s,60MiB)", "", "not pressure"},
		{"proc:node:exited", "1*kill", "", ""},
		{"proc:node:running", "1*stop", "", ""},
		{"proc:node:running", "1*cont", "", "not cont"},
		{"proc:node:running", "1*reboot", "", ""},
		{"proc:shim:running", "1*reboot", "", "only a node can reboot: proc:node:running"},
		{"proc:shim:running", "crash", "", "takes off, kill, stop, cont"},
		{"sys:shim:umount2:exited", "1*delay(100)", "", "leave out 1*"},
		{"sys:shim:umount2:exited", "off", "", "takes delay"},
		{"io:root:exited", "delay(100)", "", "takes off, pressure"},
		{"rpc:shim:Task.Delete:entry", "1*pause", "", "a pause needs steps"},
		{"rpc:shim:Task.Delete:entry", "1*delay(0)", "", "does nothing"},
		{"sys:shim:umount2:exited", "delay(0s)", "", "does nothing"},
		{"rpc:shim:Task.Delete:entry", "1*crash", "release", "steps need a pause"},
	} {
		do, err := term.Parse(test.do)
		must.Succeed(t, err)
		f := Fault{At: MustPoint(test.at), Do: do}
		if test.while != "" {
			f.Meanwhile = Steps(test.while)
		}
		err = f.Check()
		if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want an error that says %q", f, err, test.says)
		}
	}
}

// The constructors make the faults that their names promise, and Check accepts them.
func TestConstructors(t *testing.T) {
	const at = "rpc:shim:Task.Delete:entry"
	for _, test := range []struct {
		fault Fault
		want  string
	}{
		{Error(at, 2, "x"), at + " 2*error(x)"},
		{Error(at, 0, "x"), at + " error(x)"},
		{Once(at, term.Lose), at + " 1*loseResult"},
		{Crash(at, 1), at + " 1*crash"},
		{Crash(at, 3), at + " 2*off->1*crash"},
		{PauseAt(at, Steps("kill shim", "sleep 2s")...), at + " 1*pause [kill shim, sleep 2s]"},
		{Kill("proc:shim:running"), "proc:shim:running 1*kill"},
		{SlowSyscall("sys:shim:umount2:exited", 2*time.Second), "sys:shim:umount2:exited delay(2000)"},
		{Pressure("io:root:exited", "4MiB/s,60MiB"), "io:root:exited 1*pressure(4MiB/s,60MiB)"},
	} {
		if test.fault.String() != test.want || test.fault.Check() != nil {
			t.Errorf("%s, %v; want %s", test.fault, test.fault.Check(), test.want)
		}
	}
}
