package probe

import (
	"context"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Method returns the name of a ttrpc method in points: the service without its proto
// package and version. "/containerd.task.v3.Task/Create" is "Task.Create".
func Method(full string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	return service[strings.LastIndexByte(service, '.')+1:] + "." + method
}

// Serve surrounds a handler with its entry and exit point. next runs the handler. Before
// that, next calls decoded with the request: this call is the entry point. closeConns
// closes the server's connections.
func Serve(ctx context.Context, fullMethod string, closeConns func(),
	next func(ctx context.Context, decoded func(any) error) (any, error)) (any, error) {
	d := current.Load()
	if d == nil {
		return next(ctx, func(any) error { return nil })
	}
	c := call{decider: *d, name: "rpc:" + self + ":" + Method(fullMethod), ctx: newRootContext(ctx), close: closeConns}
	resp, err := next(c.ctx, func(req any) error {
		c.describe(req)
		return c.pass("entry", nil, nil)
	})
	if exitErr := c.pass("exit", resp, err); exitErr != nil {
		return nil, exitErr
	}
	return resp, err
}

// Call surrounds next with a caller's entry and exit point. next sends the request and
// waits for the reply. closeConn closes the client's connection.
func Call(
	ctx context.Context,
	service, method string,
	req any,
	closeConn func(),
	next func(context.Context) error,
) error {
	d := current.Load()
	if d == nil {
		return next(ctx)
	}
	c := call{
		decider: *d, name: "rpc:" + self + ":" + Method(service+"/"+method), ctx: newRootContext(ctx), close: closeConn,
	}
	c.describe(req)
	if err := c.pass("entry", nil, nil); err != nil {
		return err
	}
	err := next(c.ctx)
	if exitErr := c.pass("exit", nil, err); exitErr != nil {
		return exitErr
	}
	return err
}

type call struct {
	decider decider
	name    string
	ctx     *rootContext
	close   func()
	hit     Hit
	lose    bool
}

func (c *call) describe(req any) {
	c.hit.ID = stringField(req, "ID")
	c.hit.ExecID = stringField(req, "ExecID")
}

// pass reports the hit and takes the action. An error replaces the call's outcome.
func (c *call) pass(where string, resp any, err error) error {
	h := c.hit
	h.Point, h.At = c.name+":"+where, time.Now().UnixNano()
	if err != nil {
		h.Err = err.Error()
	} else if resp != nil {
		h.Status = uint32Field(resp, "ExitStatus")
		if pid := uint32Field(resp, "Pid"); pid != nil {
			h.ReplyPID = *pid
		}
	}
	if !c.decider.armed(h.Point) {
		c.decider.seen(h)
	} else if err := c.do(c.decider.ask(h), where); err != nil {
		return err
	}
	if where == "exit" && c.lose {
		return c.never()
	}
	return nil
}

func (c *call) do(a Decision, where string) error {
	clause := term.Clause{Action: term.Action(a.Do), Arg: a.Arg}
	switch clause.Action {
	case term.Error:
		return injected(clause, true)
	case term.Panic:
		panic(clause.Text())
	case term.Delay:
		time.Sleep(clause.Delay()) //nolint:forbidigo // a fault's purpose, not a wait for an event
	case term.Crash:
		Crash()
	case term.Cancel, term.Deadline:
		end := context.Canceled
		if clause.Action == term.Deadline {
			end = context.DeadlineExceeded
		}
		if where == "exit" {
			return end
		}
		c.ctx.end(end)
	case term.Hang:
		return c.never()
	case term.Lose:
		c.lose = true
	case term.Close:
		c.close()
	case term.Pause:
		// The pause is over. The call fails if its context has ended meanwhile, as in a
		// server that waits for a lock with its request's context.
		return c.ctx.Err()
	}
	return nil
}

// never blocks until the caller has given up.
func (c *call) never() error {
	<-c.ctx.Done()
	return c.ctx.Err()
}

// Crash ends this process as SIGKILL does, at once.
func Crash() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// Messages are read by reflection: releases generate them with gogo or with protobuf-go,
// and both give the fields the same names.
func field(message any, name string) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(message))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

func stringField(message any, name string) string {
	if f := field(message, name); f.IsValid() && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}

func uint32Field(message any, name string) *uint32 {
	f := field(message, name)
	if !f.IsValid() || f.Kind() != reflect.Uint32 {
		return nil
	}
	v := uint32(f.Uint())
	return &v
}
