// Package harness defines Cases and their verdicts. A case has a subject (containerd,
// shim and runc), a workload (the client's steps) and a plan (the faults). A Runner runs
// the case in a world: namespaces, a root file system and a containerd of its own. It
// returns the Verdict, which is held, violated or invalid, with the evidence. Suites,
// sweeps, the catalogue and the command line all run Cases; there is no other engine.
package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/spelling"
)

// Case is one experiment. ParseCase reads its text form (YAML), and String returns it.
type Case struct {
	// Name identifies the case in reports: lower-case words joined by dashes.
	Name string
	// About says in a sentence what the case shows.
	About string
	// Issues are the numbers of the containerd issues that the case is about.
	Issues []int
	// Containerd is the containerd under test: a release, bin:DIR (binaries) or src:DIR (a
	// source tree). Empty: the default release.
	Containerd string
	Workload   Workload
	Plan       failpoints.Plan
	// Bugs are the ids of the known bugs that the case shows. They excuse nothing:
	// `shimquake run` still calls such a verdict violated.
	Bugs []string
}

// API is the client's API: containerd's own, used as dockerd does (`task`) or as ctr does
// (`ctr`), or CRI as kubelet does (`cri`). Default: task.
type API string

// The APIs.
const (
	TaskAPI API = "task" // containerd's own API, with a client that retries as dockerd does
	// Ctr is containerd's own API as ctr uses it: the client removes containers only through
	// containerd's Go client library. The library's Task.Delete asks for the task's status
	// first, and sends no delete request if there is no task.
	Ctr API = "ctr"
	CRI API = "cri" // a pod, with a client that retries as kubelet does
)

// Network is the network of a pod.
type Network string

// The networks.
const (
	NodeNetwork Network = "node" // the network namespace of the case's containerd
	PodNetwork  Network = "pod"  // a network namespace of its own, set up by CNI
)

// Workload describes the containers and what the client does with them. The zero value is
// one container that exits with 0. The client creates, starts, waits for and deletes it
// through the task API.
type Workload struct {
	API API `yaml:"api,omitempty"`
	// Containers lists the containers, up to 100. Default: one with exit status 0.
	Containers []Container `yaml:"containers,omitempty"`
	// Script lists the client's steps, such as `create c0`. Default: create, start, end,
	// wait and delete, for each container.
	Script []string `yaml:"script,omitempty"`
	// Grouped makes one shim serve all containers, as in a pod.
	Grouped bool `yaml:"grouped,omitempty"`
	// CallTimeout is the timeout of each call of the client, up to 1h. Default: 10s with
	// the task API (dockerd), 2m with CRI (kubelet's runtime-request-timeout).
	CallTimeout time.Duration `yaml:"callTimeout,omitempty"`
	// TimeLimit is the time limit of the script, and also that of the removal of
	// everything afterwards. Up to 1h each. Default: 60s each.
	TimeLimit time.Duration `yaml:"timeLimit,omitempty"`
	// Settle is the time between the client's last call and the search for leaks, up to
	// 1h. Default: 6s, because containerd may take 5s for the cleanup after a dead shim
	// (shim.cleanup in [timeouts]).
	Settle time.Duration `yaml:"settle,omitempty"`
	// Thorough restarts containerd after the removal of everything, and then runs a whole
	// lifecycle with the first container's id and runc's shim. A CRI case with a fault
	// always restarts containerd, because a leak can make the restart fail.
	Thorough bool `yaml:"thorough,omitempty"`
	// NoRestart omits the restart of containerd before the first container's id is used
	// again. The use then fails if an entry in containerd's memory blocks the id.
	NoRestart bool `yaml:"noRestart,omitempty"`
	// Fakeshim replaces runc's shim with shims/fakeshim, which has these misbehaviours
	// (shims/fakeshim/behaviour). With "plain" it has none. Task API only.
	Fakeshim string `yaml:"fakeshim,omitempty"`
	// Network is the network of pods: the node's (`node`), or one for each pod from CNI
	// (`pod`). With pod a CNI plugin records each call (fixtures/cni). CRI only. Default:
	// node.
	Network Network `yaml:"network,omitempty"`
	// Debug sets the log level of containerd and its shims to debug. At that level, the
	// shims of some releases also create debug sockets. Default: info.
	Debug bool `yaml:"debug,omitempty"`
	// Bystander runs another task, and with CRI also another pod, that no fault targets.
	// Faults must not affect them: see History.Bystanders. Hits in bystanders do not count.
	Bystander bool `yaml:"bystander,omitempty"`
}

// Controllers are the cgroup controllers that cases need.
var Controllers = []Controller{
	// A case with the fake shim also needs this controller, because it uses its id again
	// with runc.
	{"devices", "run containers", func(Case) bool { return true }},
	// A pod's containers have CPU shares, and runc fails without the controller.
	{"cpu", "run pods", func(c Case) bool { return c.Workload.API == CRI }},
	{"freezer", "pause containers", func(c Case) bool {
		steps, _ := c.Workload.Steps() // Case.Check reports the error
		return steps.Uses("pause")
	}},
	{"memory", "limit the memory of containers", func(c Case) bool {
		return slices.ContainsFunc(c.Workload.Containers, func(k Container) bool { return k.Memory > 0 })
	}},
}

// Controller is a cgroup controller.
type Controller struct {
	Name   string
	For    string // the ability that needs it
	Wanted func(Case) bool
}

// WithDefaults returns the workload with the documented defaults filled in.
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
	if w.TimeLimit == 0 {
		w.TimeLimit = time.Minute
	}
	if w.Settle == 0 {
		w.Settle = 6 * time.Second
	}
	return w
}

// Check returns the errors of the case. It runs nothing.
func (c Case) Check() error {
	var errs []error
	for _, p := range c.problems() {
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}

// fieldError is an error of one field, with the field's key path in the text form.
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
	for key, names := range map[string][]string{"name": {c.Name}, "bugs": c.Bugs} {
		for _, name := range names {
			if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
				add(key, fmt.Errorf("%s %q: use only lower-case letters, digits, dots and dashes", key, name))
			}
		}
	}
	if n := len(c.Name); n > maxName {
		add("name", fmt.Errorf("the name has %d letters: at most %d are allowed", n, maxName))
	}
	if apis := []string{string(TaskAPI), string(Ctr), string(CRI)}; w.API != "" && !slices.Contains(apis, string(w.API)) {
		add("workload.api", spelling.Unknown("api", string(w.API), apis))
	}
	for i, ct := range w.Containers {
		for _, err := range ct.problems(i, w) {
			add(fmt.Sprintf("workload.containers[%d]", i), err)
		}
	}
	if w.Fakeshim != "" && w.API == CRI {
		add("workload.fakeshim", errors.New("fakeshim works with the task API only: remove api: cri"))
	}
	if _, err := behaviour.Parse(c.fakeshimWords()); w.Fakeshim != "" {
		add("workload.fakeshim", err)
	}
	for _, d := range []struct {
		key string
		is  time.Duration
	}{{"callTimeout", w.CallTimeout}, {"timeLimit", w.TimeLimit}, {"settle", w.Settle}} {
		if d.is < 0 {
			add("workload."+d.key, fmt.Errorf("%s %s: expected a duration such as 2s", d.key, d.is))
		}
		if d.is > maxTime {
			add("workload."+d.key, fmt.Errorf("%s %s: at most %s is allowed", d.key, d.is, maxTime))
		}
	}
	add("workload.network", w.checkNetwork())
	all = append(all, w.scriptProblems()...)
	for i, f := range c.Plan {
		add(fmt.Sprintf("plan[%d].do", i), f.Check())
		if f.At.Who == "sandbox" && w.API != CRI {
			add(fmt.Sprintf("plan[%d].at", i), fmt.Errorf("%s: only a CRI workload has a sandbox: add api: cri", f.At))
		}
		if f.At.Who == "node" && w.Bystander {
			add(fmt.Sprintf("plan[%d].at", i), fmt.Errorf("%s: a reboot also ends the bystander: remove bystander", f.At))
		}
	}
	return all
}

func (w Workload) checkNetwork() error {
	known := []string{string(NodeNetwork), string(PodNetwork)}
	switch {
	case w.Network != "" && !slices.Contains(known, string(w.Network)):
		return spelling.Unknown("network", string(w.Network), known)
	case w.Network != "" && w.API != CRI:
		return errors.New("network: only a pod has this key: add api: cri")
	}
	return nil
}

// fakeshimWords returns the misbehaviours, or "" for the word "plain".
func (c Case) fakeshimWords() string {
	if c.Workload.Fakeshim == "plain" {
		return ""
	}
	return c.Workload.Fakeshim
}

// RootDisk returns the size in MiB of the disk for containerd's root directory. 0 means
// that the directory is on a tmpfs.
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

// KeepsRunning reports whether a container's payload must keep running until the client
// lets it end. This is so if the script has an `end` step for it, or if a fault happens
// while it runs.
func (c Case) KeepsRunning(i *Instance) bool {
	k := i.Spec
	if c.Workload.Scripted() {
		steps, _ := c.Workload.Steps() // Case.Check reports the error
		of, _ := ObjectNamed(i.Name)
		return k.Stays || steps.Has("end", of)
	}
	return k.Stays || k.OOM != "" || k.TTY && c.Workload.API != CRI ||
		slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return f.At.State() == "running" })
}

// Misbehaviours returns the misbehaviours of the fake shim, one by one.
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

// Faultless reports whether the case has no faults and no misbehaviours of the fake shim.
func (c Case) Faultless() bool { return len(c.Plan) == 0 && len(c.Misbehaviours()) == 0 }

// OnlyProbeFaults reports whether all faults of the plan happen in probes. The hits
// then have the times of all faults.
func (c Case) OnlyProbeFaults() bool {
	return !slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return !f.At.Kind.Probed() })
}
