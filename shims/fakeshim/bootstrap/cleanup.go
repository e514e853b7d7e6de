package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	task "github.com/containerd/containerd/api/runtime/task/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
	"github.com/shimquake/shimquake/shims/fakeshim/record"
	"github.com/shimquake/shimquake/shims/fakeshim/spec"
)

// killTimeout bounds the wait for a process that was sent SIGKILL.
const killTimeout = 10 * time.Second

// Cleanup is the `delete` command, by which containerd cleans up after a shim that has
// ended. It kills the container's first process, if that still runs, and responds with
// the exit that the shim recorded, or with 137. The bundle is the folder with the
// container's id beside the working directory.
func Cleanup(p Params) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	bundle := filepath.Join(filepath.Dir(cwd), p.ID)
	var b behaviour.Behaviour
	// A bundle without a specification is cleaned up, too.
	if s, err := spec.Read(bundle); err == nil {
		if b, err = s.Behaviour(); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := act(b.Cleanup, "cleanup"); err != nil {
		return err
	}
	exit, err := finish(bundle)
	if err != nil {
		return err
	}
	return answerDelete(p.Stdout, b, exit)
}

// finish makes sure that the first process of a bundle has ended, and returns its exit.
func finish(bundle string) (process.Exit, error) {
	exit := process.Exit{Status: 128 + 9, At: time.Now()}
	id, err := record.ReadInit(bundle)
	switch {
	case errors.Is(err, os.ErrNotExist): // the shim ended before it created a process
		return exit, nil
	case err != nil:
		return exit, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if err := kill(ctx, id); err != nil {
		return exit, fmt.Errorf("kill %v: %w", id, err)
	}
	exit.PID, exit.At = id.PID, time.Now()
	noted, err := record.ReadExit(bundle)
	if errors.Is(err, os.ErrNotExist) {
		return exit, nil
	}
	return noted, err
}

// kill ends the process of that identity; an ended process is no error.
func kill(ctx context.Context, id signal.Identity) error {
	h, err := signal.OpenSame(id)
	if err == nil {
		err = errors.Join(h.Kill(ctx), h.Close())
	}
	if errors.Is(err, signal.ErrGone) {
		return nil
	}
	return err
}

func answerDelete(w io.Writer, b behaviour.Behaviour, exit process.Exit) error {
	status, err := proof.Status(b, behaviour.InCleanup, exit.Status)
	if err != nil {
		return err
	}
	out, err := proto.Marshal(
		&task.DeleteResponse{Pid: uint32(exit.PID), ExitStatus: status, ExitedAt: timestamppb.New(exit.At)},
	)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
