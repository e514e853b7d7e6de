package runner

import (
	"context"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// interrupted is a client that is interrupted at the beginning of a step.
type interrupted struct {
	client.Client
	run, reuse func()
}

func (i interrupted) Run(ctx context.Context) error { i.run(); return i.Client.Run(ctx) }

func (i interrupted) Reuse(ctx context.Context, briefly bool) (harness.Use, error) {
	i.reuse()
	return i.Client.Reuse(ctx, briefly)
}

// An interrupted run is invalid, whatever the interrupt breaks.
func TestAnInterruptedRunIsInvalid(t *testing.T) {
	plain := clients[harness.TaskAPI]
	t.Cleanup(func() { clients[harness.TaskAPI] = plain })
	not := func() {}
	for _, at := range []string{"lifecycle", "inventory", "use again"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir()}
		hook := interrupted{run: not, reuse: not}
		switch at {
		case "lifecycle":
			hook.run = cancel
		case "inventory":
			r.Sabotage = func(context.Context, Scene) error { cancel(); return nil }
		default:
			hook.reuse = cancel
		}
		clients[harness.TaskAPI] = func(s *client.Session) client.Client {
			hook.Client = plain(s)
			return hook
		}
		v := r.Run(ctx, harness.Case{Name: "interrupted", Plan: failpoints.Plan{
			failpoints.Error("rpc:shim:Task.Shutdown:entry", 1, "injected"),
		}})
		if v.UnableHere() {
			t.Skip(v.ProblemsText())
		}
		if ctx.Err() == nil || v.Outcome != harness.Invalid || !v.HasProblem(harness.ByEnd) {
			t.Errorf("%s: context %v, %v", at, ctx.Err(), v)
		}
		cancel()
	}
}

// The same holds if the interrupt is the only error of the last stage.
func TestNoteEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := (&Runner{}).begin(ctx, harness.Case{Name: "interrupted"}, false)
	x.noteEnd()
	must.Equal(t, len(x.record.History().Problems), 0, "problems of a run that was not interrupted")
	cancel()
	x.record.Set(func(h *harness.History) {
		h.Before, h.Reached = &inventory.Inventory{}, harness.Completed
		h.After = &harness.Inspection{Inventory: &inventory.Inventory{}}
		h.Reuse = &harness.Reuse{Err: callerr.Of(ctx.Err())}
	})
	if v := judge.Judge(x.record.History(), nil); v.Outcome != harness.Violated {
		t.Errorf("as it was: %v", v)
	}
	x.noteEnd()
	x.noteEnd()
	h := x.record.History()
	if v := judge.Judge(h, nil); v.Outcome != harness.Invalid || len(h.Problems) != 1 {
		t.Errorf("%v, %v", v, h.Problems)
	}
}
