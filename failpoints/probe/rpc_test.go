package probe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

// script is a decider with prepared decisions for armed points. It records all hits.
type script struct {
	mu      sync.Mutex
	answers map[string]Decision
	hits    []Hit
	// meanwhile is called while a hit waits for its decision.
	meanwhile func()
}

func (s *script) seen(h Hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = append(s.hits, h)
}

func (s *script) ask(h Hit) Decision {
	h.Ask = true
	s.seen(h)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return s.answers[h.Point]
}

func (s *script) armed(point string) bool {
	_, ok := s.answers[point]
	return ok
}

func (s *script) begin() {}

func (s *script) points() []string {
	var all []string
	for _, h := range s.hits {
		all = append(all, h.Point)
	}
	return all
}

// decide makes a script the decider of this process until the test ends.
func decide(t *testing.T, s *script) {
	t.Helper()
	var d decider = s
	old := current.Swap(&d)
	t.Cleanup(func() { current.Store(old) })
}

type request struct{ ID, ExecID string }

type reply struct {
	Pid, ExitStatus uint32
}

const method = "/containerd.task.v3.Task/Delete"

const (
	atEntry = "rpc:containerd:Task.Delete:entry" // a test's binary is no shim
	atExit  = "rpc:containerd:Task.Delete:exit"
)

// outcome is the result of a request.
type outcome struct {
	resp   any
	err    error
	ran    bool  // the handler
	inside error // the error of the handler's context
	closed bool
	panics any
}

// serve runs a request through Serve.
func serve(ctx context.Context) (o outcome) {
	defer func() { o.panics = recover() }()
	o.resp, o.err = Serve(
		ctx,
		method,
		func() { o.closed = true },
		func(ctx context.Context, decoded func(any) error) (any, error) {
			if err := decoded(&request{"c1", "e1"}); err != nil {
				return nil, err
			}
			o.ran, o.inside = true, ctx.Err()
			return &reply{Pid: 41, ExitStatus: 7}, nil
		},
	)
	return o
}

// call1 runs a request through Call.
func call1(ctx context.Context) (o outcome) {
	defer func() { o.panics = recover() }()
	o.err = Call(
		ctx,
		"containerd.task.v3.Task",
		"Delete",
		request{"c1", ""},
		func() { o.closed = true },
		func(ctx context.Context) error {
			o.ran, o.inside = true, ctx.Err()
			return nil
		},
	)
	return o
}

func TestActions(t *testing.T) {
	short := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for _, test := range []struct {
		name, at string
		do       Decision
		ran      bool   // the handler, or the call, must have run
		err      string // "" for none
		inside   error
		closed   bool
		panics   any
	}{
		{"off", atEntry, Decision{Do: "off"}, true, "", nil, false, nil},
		{"an answer that does not come", atEntry, Decision{}, true, "", nil, false, nil},
		{"error at entry", atEntry, Decision{Do: "error", Arg: "boo"}, false, "boo", nil, false, nil},
		{"error without text", atExit, Decision{Do: "error"}, true, "injected by shimquake", nil, false, nil},
		{"panic at entry", atEntry, Decision{Do: "panic", Arg: "boo"}, false, "", nil, false, "boo"},
		{"panic at exit", atExit, Decision{Do: "panic", Arg: "boo"}, true, "", nil, false, "boo"},
		{"cancel at entry", atEntry, Decision{Do: "cancel"}, true, "", context.Canceled, false, nil},
		{"cancel at exit", atExit, Decision{Do: "cancel"}, true, "context canceled", nil, false, nil},
		{"deadline at entry", atEntry, Decision{Do: "deadline"}, true, "", context.DeadlineExceeded, false, nil},
		{"deadline at exit", atExit, Decision{Do: "deadline"}, true, "context deadline exceeded", nil, false, nil},
		{"hang at entry", atEntry, Decision{Do: "hang"}, false, "context deadline exceeded", nil, false, nil},
		{"hang at exit", atExit, Decision{Do: "hang"}, true, "context deadline exceeded", nil, false, nil},
		{"lose at entry", atEntry, Decision{Do: "loseResult"}, true, "context deadline exceeded", nil, false, nil},
		{"lose at exit", atExit, Decision{Do: "loseResult"}, true, "context deadline exceeded", nil, false, nil},
		{"close at entry", atEntry, Decision{Do: "close"}, true, "", nil, true, nil},
		{"close at exit", atExit, Decision{Do: "close"}, true, "", nil, true, nil},
		{"a pause that was released", atEntry, Decision{Do: "pause"}, true, "", nil, false, nil},
	} {
		for side, pass := range map[string]func(context.Context) outcome{"handler": serve, "caller": call1} {
			t.Run(test.name+", "+side, func(t *testing.T) {
				s := &script{answers: map[string]Decision{test.at: test.do}}
				decide(t, s)
				o := pass(short(t))
				text := ""
				if o.err != nil {
					text = o.err.Error()
				}
				if o.ran != test.ran || text != test.err || !errors.Is(o.inside, test.inside) || o.closed != test.closed ||
					o.panics != test.panics {
					t.Errorf("%+v, want %+v", o, test)
				}
				if !slices.Contains(s.points(), test.at) {
					t.Errorf("hits %v", s.points())
				}
			})
		}
	}
}

func TestDelayHoldsTheCall(t *testing.T) {
	decide(t, &script{answers: map[string]Decision{atEntry: {Do: "delay", Arg: "60"}}})
	begun := time.Now()
	if o := serve(t.Context()); !o.ran || o.err != nil || time.Since(begun) < 60*time.Millisecond {
		t.Errorf("%+v after %s", o, time.Since(begun))
	}
}

// A request is dropped if its caller goes away during the pause.
func TestPausedUntilTheCallerIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &script{answers: map[string]Decision{atEntry: {Do: "pause"}}}
	c := call{decider: s, name: "rpc:containerd:Task.Delete", ctx: newRootContext(ctx)}
	must.Equal(t, c.pass("entry", nil, nil), nil, "released while its caller waits")
	s.meanwhile = func() { cancel(); <-c.ctx.Done() }
	must.Is(t, c.pass("entry", nil, nil), context.Canceled, "released when its caller has gone")
}

func TestFieldsOfHits(t *testing.T) {
	s := &script{answers: map[string]Decision{}}
	decide(t, s)
	if o := serve(t.Context()); o.err != nil || o.resp.(*reply).ExitStatus != 7 {
		t.Fatalf("%+v", o)
	}
	if want := []string{atEntry, atExit}; !slices.Equal(s.points(), want) {
		t.Fatalf("hits %v, want %v", s.points(), want)
	}
	in, out := s.hits[0], s.hits[1]
	if in.ID != "c1" || in.ExecID != "e1" || in.Status != nil || in.At == 0 {
		t.Errorf("entry %+v", in)
	}
	if out.ID != "c1" || out.Status == nil || *out.Status != 7 || out.ReplyPID != 41 || out.Err != "" {
		t.Errorf("exit %+v", out)
	}
	boo := errors.New("boo")
	_, err := Serve(t.Context(), method, nil, func(context.Context, func(any) error) (any, error) { return nil, boo })
	if last := s.hits[len(s.hits)-1]; !errors.Is(err, boo) || last.Err != "boo" || last.Status != nil {
		t.Errorf("%v, %+v", err, last)
	}
}

// A request that does not decode never reaches the entry point. A request costs nothing
// without a decider.
func TestWithoutADecider(t *testing.T) {
	old := current.Swap(nil)
	t.Cleanup(func() { current.Store(old) })
	if o := serve(t.Context()); !o.ran || o.err != nil {
		t.Errorf("%+v", o)
	}
	if o := call1(t.Context()); !o.ran || o.err != nil {
		t.Errorf("%+v", o)
	}
}

func TestMethod(t *testing.T) {
	for full, want := range map[string]string{
		"/containerd.task.v2.Task/Create": "Task.Create", "containerd.task.v3.Task/Create": "Task.Create",
		"/containerd.runtime.sandbox.v1.Sandbox/StopSandbox":  "Sandbox.StopSandbox",
		"/containerd.services.events.ttrpc.v1.Events/Forward": "Events.Forward", "Task/State": "Task.State",
	} {
		must.Equal(t, Method(full), want, "Method", full)
	}
}

func TestMessagesWithoutTheFields(t *testing.T) {
	var none *request
	for _, m := range []any{nil, 7, none, struct{ ID int }{7}, &struct{ Pid string }{"x"}} {
		if stringField(m, "ID") != "" || uint32Field(m, "Pid") != nil {
			t.Errorf("%v has fields", m)
		}
	}
}
