// Package daemon is the long-running process of a fake shim. It serves the task API on
// its inherited socket until its shutdown.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/ttrpc"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/events"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
	"github.com/shimquake/shimquake/shims/fakeshim/service"
)

const (
	replyTimeout = time.Second     // for the reply to Shutdown to be written
	flushTimeout = 5 * time.Second // for the last events, as in containerd's own shims
)

// Params are the parameters of the daemon. It runs in the bundle of its first container.
type Params struct {
	Namespace    string
	ID           string
	Socket       string   // Socket is the path of the listening socket, which is removed at the end.
	Listener     *os.File // Listener is that socket.
	TTRPCAddress string   // TTRPCAddress is the address for events.
	Behaviour    behaviour.Behaviour
}

// Run serves until Shutdown or a signal. It returns an error if it cannot serve or could
// not publish its last events.
func Run(p Params) error {
	b := p.Behaviour
	logger := log.New(openLog(), "fakeshim "+p.Namespace+"/"+p.ID+": ", log.LstdFlags|log.Lmicroseconds|log.Lmsgprefix)
	inherited, err := net.FileListener(p.Listener)
	if err != nil {
		return fmt.Errorf("the inherited socket: %w", err)
	}
	_ = p.Listener.Close()

	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	l := &listener{Listener: inherited, conns: map[*conn]bool{}, end: end}
	server, err := ttrpc.NewServer(ttrpc.WithUnaryServerInterceptor(serve(l)))
	if err != nil {
		return err
	}
	publisher := events.New(p.TTRPCAddress, p.Namespace, b.Events, logger.Printf)
	service.New(service.Params{
		Behaviour: b,
		Publish:   publisher.Publish,
		Log:       logger.Printf,
		Stop: func() {
			l.endAfterReply()
			time.AfterFunc(replyTimeout, end)
		},
	}).Register(server)

	signals := make(chan os.Signal, 4)
	signal.Ignore(syscall.SIGPIPE) // the reader of the log ends with containerd
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(context.Background(), l) }()
	for served := true; served; {
		select {
		case <-over:
			served = false
		case s := <-signals:
			logger.Printf("%v", s)
			if served = b.SIGTERM == "ignore"; served {
				if err := proof.Note("sigterm", "ignored %v", s); err != nil {
					return err
				}
			}
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	err = publisher.Close(ctx)
	if b.Socket == "leave" {
		return errors.Join(err, proof.Note("socket", "left %s", p.Socket))
	}
	return errors.Join(err, os.Remove(p.Socket))
}

// serve runs every method between the entry and exit points of the probe.
func serve(l *listener) ttrpc.UnaryServerInterceptor {
	return func(ctx context.Context, decode ttrpc.Unmarshaler, info *ttrpc.UnaryServerInfo, method ttrpc.Method) (any,
		error) {
		return probe.Serve(
			ctx,
			info.FullMethod,
			l.closeConns,
			func(ctx context.Context, decoded func(any) error) (any, error) {
				return method(ctx, func(req any) error {
					if err := decode(req); err != nil {
						return err
					}
					return decoded(req)
				})
			},
		)
	}
}

// openLog opens containerd's FIFO without waiting for a reader, or returns stderr.
func openLog() *os.File {
	f, err := os.OpenFile("log", os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return os.Stderr
	}
	// A panic of the runtime belongs into the log as well.
	_ = syscall.Dup3(int(f.Fd()), int(os.Stderr.Fd()), 0)
	return f
}
