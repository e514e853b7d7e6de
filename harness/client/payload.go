package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// MountedTruth is the mount point, in each container, of the folder in which payloads
// write their records.
const MountedTruth = "/shimquake"

// truthFile is the suffix of a payload's record.
const truthFile = ".truth"

// Payload returns the record of a container's payload. The harness creates the file
// before the container, so a missing file is an error (fs.ErrNotExist).
func (s *Session) Payload(name string) (payload.Truth, error) {
	text, err := s.Truth.Read(name+truthFile, maxTruth)
	if err != nil {
		return payload.Truth{}, fmt.Errorf("read the payload's record: %w", err)
	}
	t, err := payload.ParseTruth(string(text))
	if err != nil {
		return payload.Truth{}, fmt.Errorf("%s: %w", s.Truth.Path(name+truthFile), err)
	}
	return t, nil
}

// maxTruth is the size limit of a payload's record, in bytes. A record has some 300.
const maxTruth = 1 << 20

// Heartbeats returns the number of heartbeats of a container's payload or of an exec.
func (s *Session) Heartbeats(name string) int {
	info, err := s.Truth.Describe(name + ".beat")
	if err != nil {
		return 0 // the payload has not begun
	}
	return int(info.Size())
}

// exitTimeout is how long Exited waits. If the container is not started yet, its exit
// cannot come, and the case must not wait for ever.
const exitTimeout = 10 * time.Second

// Exited waits until the payload of the first container has recorded its exit.
func (s *Session) Exited(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	return Until(ctx, func(context.Context) error {
		own, err := s.Payload("c0")
		if err == nil && !own.Exited {
			err = errors.New("c0 has not ended")
		}
		return err
	})
}

// CreateRecord creates the file for the record of a container's payload, or of an exec.
func (s *Session) CreateRecord(name string) error { return s.Truth.Touch(name+truthFile, 0o666) }

// Release lets the payload of a container end. It first waits until containerd is up, so
// that the case does not depend on how fast a killed containerd is back. To end a payload
// while containerd is down, use two faults: proc:containerd:running, and then
// proc:task:running.
func (s *Session) Release(ctx context.Context, i *harness.Instance) {
	s.tell(ctx, i.Name, endFile, "end")
}

// ReleaseExec lets the payload of an exec end.
func (s *Session) ReleaseExec(ctx context.Context, i *harness.Instance, e harness.Exec) {
	s.tell(ctx, i.Record(e), endFile, "end")
}

// endFile is the suffix of the file that lets a payload end.
const endFile = ".end"

// tell waits until containerd is up, and creates the file that a payload waits for. If
// containerd is not up, tell records a note with the text what.
func (s *Session) tell(ctx context.Context, name, suffix, what string) {
	if _, _, err := s.Connect(ctx); err != nil {
		s.Record.Failed("client", "containerd is not up, although "+name+" may now "+what, err)
	}
	s.Record.Problem(harness.ByHarness, s.Truth.Touch(name+suffix, 0o644))
}

// linger is how long a pod's payload runs on after SIGTERM. If CRI did not wait for the
// grace period, SIGKILL would end the payload within this time: runc sends a signal in
// some 10 ms.
const linger = 30 * time.Millisecond

// Command returns the command line of a container's payload.
func (s *Session) Command(i *harness.Instance) []string {
	args := []string{payload.Program}
	switch spec := i.Spec; {
	case spec.NoSuchCommand:
		return []string{harness.AbsentCommand}
	case s.Beside != nil:
		args = append(args, "write", fmt.Sprint(spec.Exit))
	case spec.IgnoresTerm:
		args = append(args, "ignore-term")
	case spec.Signal != "":
		args = append(args, "wait")
		if spec.Signal == payload.StopSignal {
			args = append(args, "-exit", fmt.Sprint(spec.Want()))
		}
	case spec.OOM == harness.OOMInit:
		args = append(args, "hog", fmt.Sprint(hogs*spec.Memory))
	case spec.Floods:
		args = append(args, "flood", fmt.Sprint(spec.Exit))
	case spec.HoldStdout:
		args = append(args, "hold-stdout", fmt.Sprint(spec.Exit))
	case spec.Stdin > 0:
		args = append(args, "copy", fmt.Sprint(spec.Exit), filepath.Join(MountedTruth, i.Name+inputFile))
	case spec.Segfault != "":
		args = append(args, "segfault", string(spec.Segfault))
	default:
		args = append(args, "exit", fmt.Sprint(spec.Exit))
	}
	if s.Case.Workload.API == harness.CRI && i.Spec.Signal == "SIGTERM" && !i.Spec.IgnoresTerm {
		args = append(args, "-linger", linger.String())
	}
	if i.Spec.Children > 0 {
		args = append(args, "-children", fmt.Sprint(i.Spec.Children))
	}
	args = append(args, lines(i.Spec)...)
	if i.Spec.OOM == harness.OOMChild {
		args = append(args, "-hog", fmt.Sprint(hogs*i.Spec.Memory), "-cue", filepath.Join(MountedTruth, i.Name+hogFile))
	}
	endsByInput := i.Spec.Stdin > 0 && (i.Input == nil || !i.Input.Open)
	if i.Spec.Signal == "" && !endsByInput && s.KeepsRunning(i) {
		args = append(args, "-trigger", filepath.Join(MountedTruth, i.Name+endFile))
	}
	return args
}

// ExecCommand returns the command line of an exec. If the exec has a timeout, or its
// client goes away, it writes heartbeats as long as it runs.
func ExecCommand(i *harness.Instance, e harness.Exec) []string {
	switch {
	case e.Absent:
		return []string{harness.AbsentCommand}
	case e.Held, e.Stays:
		return []string{payload.Program, "wait"}
	case e.Triggered:
		return []string{payload.Program, "exit", fmt.Sprint(e.Want),
			"-trigger", filepath.Join(MountedTruth, i.Record(e)+endFile)}
	case e.LeavesChild:
		return []string{payload.Program, "hold-stdout", fmt.Sprint(e.Want)}
	case e.Signal != 0:
		args := []string{payload.Program, "wait", "-exit", fmt.Sprint(e.Want)} // at SIGUSR1
		return append(args, lines(i.Spec)...)
	}
	var heart []string
	if e.Timed() || e.Orphaned() {
		heart = []string{"-beat", filepath.Join(MountedTruth, i.Record(e)+".beat")}
	}
	if i.Spec.Stdin > 0 {
		args := []string{payload.Program, "copy", fmt.Sprint(e.Want), filepath.Join(MountedTruth, i.Record(e)+inputFile)}
		return append(args, heart...)
	}
	if heart != nil {
		return append([]string{payload.Program, "wait"}, heart...)
	}
	return append([]string{payload.Program, "exit", fmt.Sprint(e.Want)}, lines(i.Spec)...)
}

// lines returns the payload's arguments for Container.Lines.
func lines(spec harness.Container) (args []string) {
	if spec.Lines > 0 {
		args = append(args, "-lines", fmt.Sprint(spec.Lines))
	}
	return args
}

// Env returns the environment variable that tells a payload the path of its record.
func Env(of string) (name, value string) {
	return payload.TruthEnv, MountedTruth + "/" + of + ".truth"
}

// Spec returns the OCI specification of a container of the task API. It runs a payload,
// and mounts the folder with the record of that name.
func Spec(of, truthDir string, command []string) []oci.SpecOpts {
	name, value := Env(of)
	return []oci.SpecOpts{
		oci.WithDefaultSpec(), oci.WithRootFSPath("rootfs"), oci.WithProcessArgs(command...),
		oci.WithEnv([]string{name + "=" + value}),
		oci.WithMounts([]specs.Mount{
			{Source: truthDir, Destination: MountedTruth, Type: "bind", Options: []string{"rbind", "rw"}},
		}),
	}
}

// lookEvery is the time between two reads of a payload's record. startTimeout is how long
// a started payload may take to write its first line. It takes some 3 ms.
const (
	lookEvery    = time.Millisecond
	startTimeout = 2 * time.Second
)

// awaitPayload waits until the payload of a started container runs. If the client will
// send it a signal, it also waits until the payload handles signals.
func (s *Session) awaitPayload(ctx context.Context, i *harness.Instance) {
	s.AwaitRecord(ctx, i.Name, i.Spec.Signal != "")
}

// AwaitRecord waits until a started process has recorded that it runs and, if ready is
// set, that it handles signals. Start returns before the payload's program is loaded, and
// the real exit status of a payload that is killed before its first line is unknown.
// AwaitRecord gives up after startTimeout.
func (s *Session) AwaitRecord(ctx context.Context, name string, ready bool) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	_ = poll.Until(ctx, lookEvery, func() (bool, error) { // the judge reports a payload that does not run
		own, err := s.Payload(name)
		return err == nil && own.Runs > 0 && (!ready || !own.ReadyAt.IsZero()), nil
	})
}

// CheckReuse returns an error unless containerd reported the right exit status of a
// container that ended without a fault.
func CheckReuse(i *harness.Instance) error {
	if !i.Reported {
		return errors.New("containerd never reported its exit")
	}
	if i.Status != i.Spec.Want() {
		return fmt.Errorf("containerd reported the exit status %d, and not %d", i.Status, i.Spec.Want())
	}
	return nil
}
