package stacks

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
)

// containerd writes its goroutines, and runs on.
func TestTheGoroutinesOfContainerd(t *testing.T) {
	if err := world.Check(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // a first build takes minutes
	defer cancel()
	cache := must.Get(containerd.CacheDir())(t)
	subject := must.Get(containerd.Resolve(ctx, "", containerd.Options{Cache: cache, Log: t.Output()}))(t)
	w := must.Get(world.New(ctx, world.Config{Cache: cache}))(t)
	defer func() { must.Succeed(t, w.Close()) }()
	d := must.Get(daemon.Start(ctx, daemon.Params{Subject: subject, World: w}))(t)
	defer d.Close()
	r := must.Get(audit.Run(ctx, audit.Options{PID: w.InitPID(), Settle: time.Millisecond}))(t)
	must.Len(t, r.Daemons, 1)
	files := Take(ctx, r)
	pid := r.Daemons[0].PID
	if text := string(files[name(pid, "goroutines")]); !strings.Contains(text, "goroutine 1 [") {
		t.Errorf("goroutines: %.300s", text)
	}
	if text := string(files[name(pid, "kernel")]); strings.Count(text, "/stack\n") < 2 {
		t.Errorf("kernel stacks: %.300s", text)
	}
	again := must.Get(audit.Run(ctx, audit.Options{PID: w.InitPID(), Settle: time.Millisecond}))(t)
	if len(again.Daemons) != 1 || again.Daemons[0].PID != pid || !again.Daemons[0].Answered {
		t.Errorf("after the signal: %v", again)
	}
}

// A program that is not known to handle the signal does not get it: this test would end.
func TestAnUnknownProgramGetsNoSignal(t *testing.T) {
	r := &audit.Report{
		Daemons: []audit.Daemon{{PID: os.Getpid(), Answered: true}},
		Suspects: []audit.Suspect{
			{Kind: finding.ClassShim, Subject: finding.Subject{PID: os.Getppid()}},
			{Kind: finding.ClassSocket}, {Kind: finding.ClassProcess, Subject: finding.Subject{PID: 1}},
		},
	}
	files := Take(t.Context(), r)
	must.Equal(t, len(files), 5, "files of two processes, and the journal")
	for _, pid := range []int{os.Getpid(), os.Getppid()} {
		if text := string(files[name(pid, "goroutines")]); !strings.HasPrefix(text, "no signal was sent") {
			t.Errorf("%d: %s", pid, text)
		}
	}
	// Nothing may read the log of a shim while containerd does not answer.
	r.Daemons[0].Answered = false
	text := string(Take(t.Context(), r)[name(os.Getppid(), "goroutines")])
	if !strings.Contains(text, "perhaps nothing reads") {
		t.Error(text)
	}
}
