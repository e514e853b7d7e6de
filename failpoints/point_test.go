package failpoints

import (
	"fmt"

	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

func TestParsePoint(t *testing.T) {
	must.Table(t, "testdata/points.txt", func(text string) string {
		p, err := ParsePoint(text)
		if err != nil {
			must.Equal(t, p, Point{}, text)
			return err.Error()
		}
		return fmt.Sprintf("%q %q %q %q", string(p.Kind), p.Who, p.What, p.Where)
	})
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
	must.Table(t, "testdata/steps.txt", func(text string) string {
		step, err := ParseStep(text)
		if err != nil {
			must.Equal(t, step, Step{}, text)
			return err.Error()
		}
		return fmt.Sprintf("%q %q %v", step.Verb, step.Who, step.For)
	})
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
	must.Table(t, "testdata/faults.txt", func(text string) string {
		words := strings.SplitN(text, " ", 3)
		f := Fault{At: MustPoint(words[0]), Do: must.Get(term.Parse(words[1]))(t)}
		if len(words) > 2 {
			f.Meanwhile = Steps(words[2])
		}
		return fmt.Sprint(f.Check())
	})
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
