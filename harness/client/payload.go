package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// MountedTruth is where a container finds the world's folder for the records of payloads.
const MountedTruth = "/shimquake"

// truthFile is the suffix of a payload's record.
const truthFile = ".truth"

// Payload is what the payload of a container has noted.
func (s *Session) Payload(name string) (payload.Truth, error) {
	return ReadTruth(s.Truth, name+truthFile)
}

// mostTruth is how long a payload's record may be, in bytes. It has some 300.
const mostTruth = 1 << 20

// ReadTruth reads the record of a payload. One that is not there is fs.ErrNotExist,
// because the harness makes the file before the container.
func ReadTruth(dir *foreign.Dir, name string) (payload.Truth, error) {
	text, err := dir.Read(name, mostTruth)
	if err != nil {
		return payload.Truth{}, fmt.Errorf("read the payload's truth: %w", err)
	}
	t, err := payload.ParseTruth(string(text))
	if err != nil {
		return payload.Truth{}, fmt.Errorf("%s: %w", dir.Path(name), err)
	}
	return t, nil
}

// Beats is how often the heart of a container's payload, or of an exec's, has beaten.
func (s *Session) Beats(name string) int {
	info, err := s.Truth.Describe(name + ".beat")
	if err != nil {
		return 0 // it has not begun
	}
	return int(info.Size())
}

// exitPatience is how long a step waits for an exit: one that cannot come, because the
// container is not started yet, must end the case.
const exitPatience = 10 * time.Second

// Exited waits until the payload of the first container has noted its exit.
func (s *Session) Exited(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exitPatience)
	defer cancel()
	return Until(ctx, func(context.Context) error {
		own, err := s.Payload("c0")
		if err == nil && !own.Exited {
			err = errors.New("c0 has not ended")
		}
		return err
	})
}

// Expect makes the file that the payload of a container writes to.
func (s *Session) Expect(name string) error { return s.Truth.Touch(name+truthFile, 0o666) }

// Release lets the payload of a container come to its end, as soon as containerd is up:
// whether one that was killed is back by then must not be a matter of luck. What ends
// while containerd is down is ended by a fault, proc:task:running after
// proc:containerd:running.
func (s *Session) Release(ctx context.Context, i *harness.Instance) {
	s.tell(ctx, i.Name, endFile, "end")
}

// ReleaseExec lets the payload of an exec come to its end.
func (s *Session) ReleaseExec(ctx context.Context, i *harness.Instance, e harness.Exec) {
	s.tell(ctx, i.Record(e), endFile, "end")
}

// endFile is the suffix of the file that lets a payload come to its end.
const endFile = ".end"

// tell makes the file that a payload waits for before it does something.
func (s *Session) tell(ctx context.Context, name, suffix, what string) {
	if _, _, err := s.Up(ctx); err != nil {
		s.Record.Failed("client", "containerd is not up when "+name+" is to "+what, err)
	}
	s.Record.Problem(harness.ByHarness, s.Truth.Touch(name+suffix, 0o644))
}

// linger is how long the payload of a pod takes to end after SIGTERM, so that it can be
// seen whether it is given time: a signal takes runc some 10 ms to send.
const linger = 30 * time.Millisecond

// Command is what a container's payload is asked to do.
func (s *Session) Command(i *harness.Instance) []string {
	args := []string{payload.Program}
	switch spec := i.Spec; {
	case spec.NoSuchCommand:
		return []string{harness.AbsentCommand}
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
	if i.Spec.Signal == "" && !endsByInput && s.Case.Holds(i) {
		args = append(args, "-trigger", filepath.Join(MountedTruth, i.Name+endFile))
	}
	return args
}

// BackgroundExit is the exit status of an exec that leaves a child behind.
const BackgroundExit = 9

// ExecCommand is what an exec of a container is asked to do. The heart of one whose time
// is limited, or whose client goes, beats as long as it lives.
func ExecCommand(i *harness.Instance, e harness.Exec) []string {
	switch {
	case e.Absent:
		return []string{harness.AbsentCommand}
	case e.Held, e.Stays:
		return []string{payload.Program, "wait"}
	case e.Triggered:
		return []string{payload.Program, "exit", fmt.Sprint(e.Want),
			"-trigger", filepath.Join(MountedTruth, i.Record(e)+endFile)}
	case e.Background:
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

// lines are the words that ask for the lines of a container.
func lines(spec harness.Container) (args []string) {
	if spec.Lines > 0 {
		args = append(args, "-lines", fmt.Sprint(spec.Lines))
	}
	return args
}

// Env tells the payload of a name where to note its life.
func Env(of string) (name, value string) {
	return payload.TruthEnv, MountedTruth + "/" + of + ".truth"
}

// Spec is the OCI specification of a container of the task API: a payload with a name,
// and its record mounted from the world's folder.
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

// PodNamespaces are those that kubelet asks for. Each container is in a PID namespace of
// its own, so that none dies just because the sandbox does, unless one is to share it.
func PodNamespaces(network harness.Network, sharedPID bool) *api.NamespaceOption {
	opts := &api.NamespaceOption{Network: api.NamespaceMode_NODE, Pid: api.NamespaceMode_CONTAINER}
	if network == harness.PodNetwork {
		opts.Network = api.NamespaceMode_POD
	}
	if sharedPID {
		opts.Pid = api.NamespaceMode_POD
	}
	return opts
}

// lookEvery is how often the record of a payload that has been started is looked at;
// patience is how long it may take to write its first line. It needs some 3 ms here.
const (
	lookEvery = time.Millisecond
	patience  = 2 * time.Second
)

// awaitPayload waits until the payload of a container whose Start has succeeded runs, and
// handles signals if it is sent one.
func (s *Session) awaitPayload(ctx context.Context, i *harness.Instance) {
	s.AwaitRecord(ctx, i.Name, i.Spec.Signal != "")
}

// AwaitRecord waits until a process whose Start has succeeded has noted that it runs, and
// that it handles signals: Start returns when the payload's program is about to be
// loaded, and of a payload that is killed before its first line nobody could say how it
// ended. It gives up on one that does not come to it.
func (s *Session) AwaitRecord(ctx context.Context, name string, ready bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = poll.Until(ctx, lookEvery, func() (bool, error) { // that it does not run is the judge's business
		own, err := s.Payload(name)
		return err == nil && own.Runs > 0 && (!ready || !own.ReadyAt.IsZero()), nil
	})
}

// CheckReuse judges the exit of a container that was to end without a fault.
func CheckReuse(i *harness.Instance) error {
	if !i.Reported {
		return errors.New("its exit was never reported")
	}
	if i.Status != i.Spec.Want() {
		return fmt.Errorf("it ends with %d, and %d was reported", i.Spec.Want(), i.Status)
	}
	return nil
}
