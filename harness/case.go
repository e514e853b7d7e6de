// Package harness runs Cases: a subject (which containerd, shim and runc), a workload
// (what the client does) and a plan (what breaks). A Runner returns the Verdict: held,
// violated or invalid, with the evidence. There is no other engine: suites, sweeps, the
// catalogue and the command line all run Cases.
package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Case is one experiment. A Case has a text form (YAML), see ParseCase and String.
type Case struct {
	// Name identifies the case in reports: lower-case words joined by dashes.
	Name string
	// About says in a sentence what the case shows.
	About string
	// Issues are containerd's issues that it belongs to, by number.
	Issues []int
	// Containerd is the subject: a release, bin:DIR or src:DIR. Empty: the default release.
	Containerd string
	Workload   Workload
	Plan       failpoints.Plan
	// Bad are the releases that are known to violate the case.
	Bad []Bad
}

// API is the client's way to containerd.
type API string

// The ways.
const (
	TaskAPI API = "task" // containerd's own API, with a client that retries as dockerd does
	CRI     API = "cri"  // a pod, with a client that retries as kubelet does
)

// Network is the network that a pod is in.
type Network string

// The networks.
const (
	NodeNetwork Network = "node" // the world's own
	PodNetwork  Network = "pod"  // a network namespace of its own, which CNI sets up
)

// OOM is which process of a container is OOM-killed.
type OOM string

// The processes.
const (
	OOMInit  OOM = "init"  // the container ends with it, by SIGKILL (137)
	OOMChild OOM = "child" // the container runs on, and ends by its own exit
)

// Workload is what the client does: create, start, wait, delete. The zero value is one
// container that exits with 0, by the task API.
type Workload struct {
	API        API         `yaml:"api,omitempty"`
	Containers []Container `yaml:"containers,omitempty"`
	// Grouped puts the containers of a task workload behind one shim, as those of a pod are.
	Grouped bool `yaml:"grouped,omitempty"`
	// CallTimeout is how long the client gives each of its calls, until it gives up and
	// comes back. Default: 10s for the task API (dockerd), 2m for CRI (kubelet's
	// runtime-request-timeout).
	CallTimeout time.Duration `yaml:"callTimeout,omitempty"`
	// Deadline is how long the lifecycle may take, and how long the client then tries to get
	// everything removed. Default: 60s each.
	Deadline time.Duration `yaml:"deadline,omitempty"`
	// Settle is how long the oracle waits for what is still there after the client's last
	// call, before it calls it leaked. Default: 6s, one more than containerd gives its own
	// clean-up of a dead shim (shim.cleanup of [timeouts]).
	Settle time.Duration `yaml:"settle,omitempty"`
	// Thorough looks at liveness at the price of another lifecycle: the first id is used
	// again with runc's shim and not with the fake one, and containerd is restarted before,
	// as it always is for CRI, where a failed restart is how a leak shows itself.
	Thorough bool `yaml:"thorough,omitempty"`
	// NoRestart uses the first id again without that restart of containerd: what containerd
	// itself remembers of it may be in the way.
	NoRestart bool `yaml:"noRestart,omitempty"`
	// Restart restarts containerd (SIGTERM) when all containers have run, while the first
	// still does and the others have exited and are not deleted yet.
	Restart bool `yaml:"restart,omitempty"`
	// Loops is how often each container of a pod is created, run and removed while the pod
	// lives on, as in a crash loop; what each round has left is looked at. CRI only, up to
	// 100. Default: 0, the containers are removed with their pod.
	Loops int `yaml:"loops,omitempty"`
	// Deleters is how many clients delete each container of a task workload, at once.
	// Default: 1.
	Deleters int `yaml:"deleters,omitempty"`
	// LibraryDelete has the client delete with the Go library's Task.Delete alone, as ctr
	// does: that asks for the task's status first, and sends nothing where there is none.
	// Task API only. Default: what has failed is sent again as the tasks service's Delete.
	LibraryDelete bool `yaml:"libraryDelete,omitempty"`
	// Fakeshim runs the workload on shims/fakeshim with these words (misbehaviours) in place
	// of the runc shim. Task API only. "plain" is the shim without any.
	Fakeshim string `yaml:"fakeshim,omitempty"`
	// Network is node (the default) or pod: each pod has a network namespace of its own, and
	// a CNI plugin that notes each call (fixtures/cni). CRI only.
	Network Network `yaml:"network,omitempty"`
	// Bystander runs a task before, through and after the faults, and with CRI a pod, too,
	// which nothing may touch: see History.Bystanders. Its hits are not counted.
	Bystander bool `yaml:"bystander,omitempty"`
}

// Container is a container with a known end.
type Container struct {
	// Exit is the status that its payload exits with by itself.
	Exit int `yaml:"exit,omitempty"`
	// Signal, in place of Exit, is sent by the client: SIGKILL ends the payload (137),
	// SIGTERM lets it exit with 143.
	Signal string `yaml:"signal,omitempty"`
	// HoldStdout leaves a child behind that holds the standard output.
	HoldStdout bool `yaml:"holdStdout,omitempty"`
	// Floods has the payload write to its standard output without end. CRI only: a task's
	// is read by nobody but with Lines.
	Floods bool `yaml:"floods,omitempty"`
	// IgnoresTerm has the payload ignore SIGTERM. After StopGrace it is killed: by CRI's
	// StopContainer itself, by the client of the task API as `docker stop` does. It needs
	// signal: SIGTERM.
	IgnoresTerm bool `yaml:"ignoresTerm,omitempty"`
	// Children is how many processes the payload leaves to themselves, which only SIGKILL
	// ends, or the end of their PID namespace.
	Children int `yaml:"children,omitempty"`
	// SharedPID puts the container in the PID namespace of its node, or, with CRI, all
	// of the pod in that of the sandbox: its children outlive its init there, and must
	// be killed.
	SharedPID bool `yaml:"sharedPID,omitempty"`
	// Held keeps the payload, which may exit else before its Start is answered, until the
	// client lets it come to its end.
	Held bool `yaml:"held,omitempty"`
	// TTY gives the container a terminal, whose other end its shim holds. CRI only.
	TTY bool `yaml:"tty,omitempty"`
	// Lines is how many numbered lines the payload writes to its standard output, and as
	// many to its standard error, before it ends by itself or by SIGTERM, all at once; its
	// Exec does so, too. They are read: by FIFOs, or of CRI from the container's log and the
	// answer of ExecSync. Up to 20000.
	Lines int `yaml:"lines,omitempty"`
	// Exec, from 1, has a second process run in the container, which exits with that status,
	// is waited for and deleted before the container ends. By CRI it is one ExecSync.
	Exec int `yaml:"exec,omitempty"`
	// TimedExec has one run there by ExecSync that does not end by itself, with a timeout of
	// ExecTimeout, with which it is to be killed. CRI only, and not beside Exec.
	TimedExec bool `yaml:"timedExec,omitempty"`
	// HeldExec has one run there until the container's end, with which it is killed. Task
	// API only.
	HeldExec bool `yaml:"heldExec,omitempty"`
	// Pause has the container paused and resumed before it ends. Task API only.
	Pause bool `yaml:"pause,omitempty"`
	// Memory is how many MiB of memory the container may have, from 16 to 256, without any
	// swap. Default: no limit of its own. Not with fakeshim.
	Memory int `yaml:"memory,omitempty"`
	// OOM is init or child: that process takes more than Memory, at the end of the container
	// or before it, and the kernel kills it.
	OOM OOM `yaml:"oom,omitempty"`
}

// Controllers are the cgroup controllers that cases take of the machine.
var Controllers = []Controller{
	// A case with the fake shim, too: it uses its id again with runc.
	{"devices", "run containers", func(Case) bool { return true }},
	// A pod's containers have CPU shares, which runc refuses to drop.
	{"cpu", "run pods", func(c Case) bool { return c.Workload.API == CRI }},
	{"freezer", "pause containers", func(c Case) bool {
		return slices.ContainsFunc(c.Workload.Containers, func(k Container) bool { return k.Pause })
	}},
	{"memory", "limit the memory of containers", func(c Case) bool {
		return slices.ContainsFunc(c.Workload.Containers, func(k Container) bool { return k.Memory > 0 })
	}},
}

// Controller is a cgroup controller.
type Controller struct {
	Name   string
	For    string // what the machine cannot do without it
	Wanted func(Case) bool
}

// ExecTimeout is what TimedExec gives its exec: the shortest that CRI knows.
const ExecTimeout = time.Second

// StopGrace is how long a payload that ignores SIGTERM is given.
const StopGrace = time.Second

// Want is the exit status that the payload has unless a fault kills it.
func (c Container) Want() uint32 {
	switch {
	case c.Signal == "SIGKILL" || c.IgnoresTerm || c.OOM == OOMInit:
		return 128 + uint32(unix.SIGKILL)
	case c.Signal == "SIGTERM":
		return 128 + uint32(unix.SIGTERM)
	}
	return uint32(c.Exit)
}

// Signals are those that a container can be ended with.
var Signals = map[string]unix.Signal{"SIGKILL": unix.SIGKILL, "SIGTERM": unix.SIGTERM}

// WithDefaults fills the documented defaults in.
func (w Workload) WithDefaults() Workload {
	if w.API == "" {
		w.API = TaskAPI
	}
	if len(w.Containers) == 0 {
		w.Containers = []Container{{}}
	}
	if w.CallTimeout == 0 {
		w.CallTimeout = 10 * time.Second
		if w.API == CRI {
			w.CallTimeout = 2 * time.Minute
		}
	}
	if w.Deadline == 0 {
		w.Deadline = time.Minute
	}
	if w.Settle == 0 {
		w.Settle = 6 * time.Second
	}
	return w
}

// Check reports what is wrong with the case before anything runs.
func (c Case) Check() error {
	var errs []error
	for _, p := range c.problems() {
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}

// fieldError is what is wrong with one field, by its path in the text form.
type fieldError struct {
	path string
	err  error
}

func (c Case) problems() (all []fieldError) {
	add := func(path string, err error) {
		if err != nil {
			all = append(all, fieldError{path, err})
		}
	}
	w := c.Workload
	if c.Name == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		add("name", fmt.Errorf("name %q: lower-case letters, digits, dots and dashes are needed", c.Name))
	}
	if apis := []string{string(TaskAPI), string(CRI)}; w.API != "" && !slices.Contains(apis, string(w.API)) {
		add(
			"workload.api",
			&failpoints.UnknownError{
				What:    "api",
				Name:    string(w.API),
				Nearest: failpoints.Nearest(string(w.API), apis),
				Known:   apis,
			},
		)
	}
	for i, ct := range w.Containers {
		add(fmt.Sprintf("workload.containers[%d]", i), ct.check(i))
		if ct.Floods && w.API != CRI {
			add(fmt.Sprintf("workload.containers[%d]", i), errors.New("floods: only a pod has a log here: add api: cri"))
		}
		if ct.Memory > 0 && w.Fakeshim != "" {
			add(fmt.Sprintf("workload.containers[%d]", i), errors.New("memory: by runc's shim only: leave out fakeshim"))
		}
		add(fmt.Sprintf("workload.containers[%d]", i), ct.checkBesides(w))
		if ct.TTY && w.API != CRI {
			add(fmt.Sprintf("workload.containers[%d]", i), errors.New("tty: only a pod has one here: add api: cri"))
		}
	}
	if w.Fakeshim != "" && w.API == CRI {
		add("workload.fakeshim", errors.New("fakeshim serves the task API only: leave out api: cri"))
	}
	if _, err := behaviour.Parse(c.fakeshimWords()); w.Fakeshim != "" {
		add("workload.fakeshim", err)
	}
	for _, d := range []struct {
		key string
		is  time.Duration
	}{{"callTimeout", w.CallTimeout}, {"deadline", w.Deadline}, {"settle", w.Settle}} {
		if d.is < 0 {
			add("workload."+d.key, fmt.Errorf("%s %s: expected a duration such as 2s", d.key, d.is))
		}
	}
	if w.Deleters < 0 || w.Deleters > 1 && w.API == CRI {
		add("workload.deleters", fmt.Errorf("deleters: %d: a number of clients of the task API is needed", w.Deleters))
	}
	if w.LibraryDelete && w.API == CRI {
		add("workload.libraryDelete", errors.New("libraryDelete: a pod's tasks are deleted by CRI: leave out api: cri"))
	}
	add("workload.loops", w.checkLoops())
	add("workload.network", w.checkNetwork())
	for i, f := range c.Plan {
		add(fmt.Sprintf("plan[%d].do", i), f.Check())
		if f.At.Who == "sandbox" && w.API != CRI {
			add(fmt.Sprintf("plan[%d].at", i), fmt.Errorf("%s: only a CRI workload has a sandbox (api: cri)", f.At))
		}
	}
	for i, b := range c.Bad {
		add(fmt.Sprintf("bad[%d]", i), b.check())
	}
	return all
}

// mostLoops bounds a crash loop: a round takes some 100 ms.
const mostLoops = 100

func (w Workload) checkLoops() error {
	switch {
	case w.Loops < 0 || w.Loops > mostLoops:
		return fmt.Errorf("loops: %d: from 1 to %d rounds can be run", w.Loops, mostLoops)
	case w.Loops > 0 && w.API != CRI:
		return errors.New("loops: only the containers of a pod are removed while it lives on: add api: cri")
	}
	return nil
}

func (w Workload) checkNetwork() error {
	known := []string{string(NodeNetwork), string(PodNetwork)}
	switch {
	case w.Network != "" && !slices.Contains(known, string(w.Network)):
		return failpoints.Unknown("network", string(w.Network), known)
	case w.Network != "" && w.API != CRI:
		return errors.New("network: only a pod has one here: add api: cri")
	}
	return nil
}

// fakeshimWords are the misbehaviours, without the word that stands for none.
func (c Case) fakeshimWords() string {
	if c.Workload.Fakeshim == "plain" {
		return ""
	}
	return c.Workload.Fakeshim
}

// maxChildren is few enough for a world's limit on processes.
const maxChildren = 20

func (c Container) check(i int) error {
	if c.Exit < 0 || c.Exit > 255 {
		return fmt.Errorf("containers[%d]: exit %d is not between 0 and 255", i, c.Exit)
	}
	if _, ok := Signals[c.Signal]; c.Signal != "" && !ok {
		return fmt.Errorf("containers[%d]: signal %q: SIGKILL and SIGTERM are sent", i, c.Signal)
	}
	if c.Exec < 0 || c.Exec > 255 {
		return fmt.Errorf("containers[%d]: exec: %d: an exit status from 1 to 255 is needed", i, c.Exec)
	}
	if c.Signal != "" && c.Exit != 0 {
		return fmt.Errorf("containers[%d]: it ends by exit or by signal, not by both", i)
	}
	if c.IgnoresTerm && c.Signal != "SIGTERM" {
		return fmt.Errorf("containers[%d]: ignoresTerm needs the signal that is ignored: signal: SIGTERM", i)
	}
	if c.Held && c.Signal != "" {
		return fmt.Errorf("containers[%d]: held: only one that ends by itself can be, and %s ends it", i, c.Signal)
	}
	if c.Floods && (c.Signal != "" || c.HoldStdout) {
		return fmt.Errorf("containers[%d]: floods: only one that ends by itself: leave out signal and holdStdout", i)
	}
	if c.Lines < 0 || c.Lines > payload.MaxLines || c.Lines > 0 && (c.HoldStdout || c.Floods || c.TTY) {
		return fmt.Errorf("containers[%d]: lines: %d: 1 to %d, and not with holdStdout, floods or tty", i, c.Lines,
			payload.MaxLines)
	}
	if c.Children < 0 || c.Children > maxChildren || c.Children > 0 && c.HoldStdout {
		return fmt.Errorf("containers[%d]: children: %d: 1 to %d, and not with holdStdout", i, c.Children, maxChildren)
	}
	return c.checkMemory(i)
}

// What a container may be limited to: runc itself needs some MiB in it, and a world has
// 2 GiB for all.
const minMemory, maxMemory = 16, 256

func (c Container) checkMemory(i int) error {
	known := []string{string(OOMInit), string(OOMChild)}
	switch {
	case c.Memory != 0 && (c.Memory < minMemory || c.Memory > maxMemory):
		return fmt.Errorf("containers[%d]: memory: %d: %d to %d MiB can be given", i, c.Memory, minMemory, maxMemory)
	case c.OOM == "":
		return nil
	case !slices.Contains(known, string(c.OOM)):
		return failpoints.Unknown("oom", string(c.OOM), known)
	case c.Memory == 0:
		return fmt.Errorf("containers[%d]: oom needs a limit that it comes to, such as memory: 32", i)
	case c.Signal != "" || c.Floods || c.HoldStdout:
		return fmt.Errorf("containers[%d]: oom: only one that ends by itself: leave out signal, floods, holdStdout", i)
	case c.OOM == OOMInit && c.Exit != 0:
		return fmt.Errorf("containers[%d]: oom: init is killed, and exits with nothing: leave out exit", i)
	}
	return nil
}

// besides reports whether something is done to a container while it runs.
func (c Container) besides() bool { return c.Exec != 0 || c.HeldExec || c.TimedExec || c.Pause }

// checkBesides reports what the client or the shim of a workload cannot do.
func (c Container) checkBesides(w Workload) error {
	switch {
	case (c.besides() || c.Lines > 0) && w.Fakeshim != "":
		return errors.New("exec, heldExec, timedExec, pause, lines: by runc's shim only: leave out fakeshim")
	case (c.HeldExec || c.Pause) && w.API == CRI:
		return errors.New("heldExec, pause: by the task API only: leave out api: cri")
	case c.TimedExec && (w.API != CRI || c.Exec != 0):
		return errors.New("timedExec: only CRI's ExecSync has a timeout: add api: cri, and leave out exec")
	}
	return nil
}

// RootDisk is the size in MiB of the disk that containerd's root needs, or 0 for a tmpfs.
func (c Case) RootDisk() int {
	for _, f := range c.Plan {
		if f.At.Kind != failpoints.IO {
			continue
		}
		_, dirty, err := term.ParsePressure(f.Do.At(1).Arg)
		if err == nil {
			return 128 + int(dirty>>20)
		}
	}
	return 0
}

// Holds reports whether the payload of a container must stay until a fault of the running
// state, or a restart, has happened, or until it is let go.
func (c Case) Holds(k Container) bool {
	return k.Held || k.besides() || k.OOM != "" || c.Workload.Restart ||
		slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return f.At.State() == "running" })
}

// Misbehaviours are the words that the fake shim is asked for, one by one.
func (c Case) Misbehaviours() []string {
	if c.fakeshimWords() == "" {
		return nil
	}
	words := strings.Split(c.fakeshimWords(), ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// Faultless reports that nothing is to be broken: the case must go as a plain lifecycle
// does.
func (c Case) Faultless() bool { return len(c.Plan) == 0 && len(c.Misbehaviours()) == 0 }

// OnlyProbed reports whether probes decide all faults of the plan, so that their moments
// are among the hits.
func (c Case) OnlyProbed() bool {
	return !slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return !f.At.Kind.Probed() })
}
