package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

const (
	taskDir    = "/run/containerd/io.containerd.runtime.v2.task/"
	workDir    = "/var/lib/containerd/io.containerd.runtime.v2.task/"
	criDir     = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/"
	sock       = "/run/containerd/containerd.sock"
	podShim    = 41
	podInit    = 42
	inContInit = 43
)

// process returns a running process.
func process(pid, parent int, start uint64) Process {
	return Process{Inner: pid, Process: inventory.Process{PID: pid, Parent: parent, Start: start, State: "S"}}
}

// shim returns a shim, or with an action one of its helpers.
func shim(id string, pid, parent int, age time.Duration, action string) Process {
	p := process(pid, parent, 100)
	p.Age, p.Shim = age, &scan.ShimArgs{ID: id, Namespace: "k8s.io", Action: action, Address: sock}
	if action == "" {
		p.Cwd = taskDir + "k8s.io/" + id
	}
	return p
}

func task(pid int, status string) *inventory.Task { return &inventory.Task{PID: pid, Status: status} }

// setTask changes the task of a container, or removes it (nil).
func (v *View) setTask(k Key, t *inventory.Task) {
	is := v.Known[k]
	is.Task = t
	v.Known[k] = is
}

// setCRI changes the state that CRI lists, or removes it from CRI's list ("").
func (v *View) setCRI(k Key, state string) {
	is := v.Known[k]
	is.CRI = state
	v.Known[k] = is
}

func socket(name string, listening bool) inventory.Socket {
	return inventory.Socket{Path: name, Listening: listening}
}

// socketFile returns the path of the socket of a shim.
func socketFile(id string) string { return "/run/containerd/s/" + socketName(sock, Key{"k8s.io", id}) }

// healthy is a node with a pod of two containers: the pause container p1, and c1, which
// the pod's shim serves, too.
func healthy() *Node {
	bundle := func(id string) scan.Bundle {
		return scan.Bundle{
			Path: taskDir + "k8s.io/" + id, Namespace: "k8s.io", ID: id, Address: "unix://" + socketFile("p1"),
		}
	}
	p1, c1 := Key{"k8s.io", "p1"}, Key{"k8s.io", "c1"}
	served := shim("p1", podShim, 1, time.Hour, "")
	served.Listens, served.Children = []string{socketFile("p1")}, []int{podInit, inContInit}
	v := &View{
		Complete: true,
		Daemons:  []Daemon{{PID: 7, Address: sock, Places: usualPlaces[0], Version: "v2.3.7", Answered: true, CRI: true}},
		Processes: []Process{
			process(1, 0, 0), served, process(podInit, podShim, 101), process(inContInit, podShim, 102),
		},
		Sockets: []inventory.Socket{socket(socketFile("p1"), true)},
		Bundles: []scan.Bundle{
			bundle("p1"), bundle("c1"),
			{Path: workDir + "k8s.io/c1", Namespace: "k8s.io", ID: "c1", Work: true},
		},
		RuncStates: []State{{PID: inContInit, Start: 102,
			RuncState: scan.RuncState{Path: "/run/containerd/runc/k8s.io/c1", Namespace: "k8s.io", ID: "c1"}}},
		Mounts: []inventory.Mount{
			{Point: taskDir + "k8s.io/c1/rootfs", Type: "overlay"}, {Point: criDir + "p1/shm", Type: "tmpfs"},
			{Point: "/run/netns/cni-1", Type: "nsfs", Root: "net:[9]"},
		},
		Cgroups:    []Cgroup{{Path: "/sys/fs/cgroup/kubepods/podx/c1", Key: Key{"", "c1"}}},
		Namespaces: map[string]bool{"k8s.io": true},
		Known: map[Key]Known{
			p1: {Container: &inventory.ContainerDetails{Kind: "sandbox", NetNS: "/var/run/netns/cni-1"},
				Task: task(podInit, "RUNNING"), Sandbox: true, CRI: "SANDBOX_READY"},
			c1: {Container: &inventory.ContainerDetails{Kind: "container"},
				Task: task(inContInit, "RUNNING"), CRI: "CONTAINER_RUNNING"},
		},
	}
	return &Node{Views: []*View{v}}
}

func TestCompare(t *testing.T) {
	p1, c1 := Key{"k8s.io", "p1"}, Key{"k8s.io", "c1"}
	forget := func(v *View, k Key) { delete(v.Known, k) }
	forgetAll := func(v *View) { forget(v, p1); forget(v, c1) }
	for _, test := range []struct {
		name  string
		spoil func(*View)
		want  []string // kind sure id facts
	}{
		{"healthy", func(*View) {}, nil},
		{"a stopped pod keeps its records", func(v *View) {
			v.setCRI(p1, "SANDBOX_NOTREADY")
			v.setCRI(c1, "CONTAINER_EXITED")
			v.setTask(p1, nil)
			v.setTask(c1, nil)
			v.Processes, v.Bundles, v.RuncStates, v.Cgroups, v.Sockets = nil, nil, nil, nil, nil
			v.Mounts = v.Mounts[2:]
		}, nil},
		{"the pause container is gone, another of its pod runs", func(v *View) {
			v.Known[p1] = Known{Container: v.Known[p1].Container, CRI: v.Known[p1].CRI}
		}, nil},
		{"no bundle names the pod's shim, but the task is its child", func(v *View) {
			v.Known[p1] = Known{Container: v.Known[p1].Container, CRI: v.Known[p1].CRI}
			v.Bundles = nil
		}, nil},
		{"a shim that lives on", func(v *View) {
			lost := shim("x", 50, 1, time.Second, "")
			lost.Cwd, lost.Listens = lost.Cwd+" (deleted)", []string{"/run/containerd/s/cd"}
			v.Processes = append(v.Processes, lost)
			v.Sockets = append(v.Sockets, socket("/run/containerd/s/cd", true))
		}, []string{"shim certain x task=none bundle=gone socket=listening children=none"}},
		{"a young shim with its bundle may be on its way", func(v *View) {
			v.Processes = append(v.Processes, shim("x", 50, 1, time.Second, ""))
		}, []string{"shim likely x task=none bundle=there socket=none children=none"}},
		{"a helper that hangs", func(v *View) {
			v.Processes = append(v.Processes, shim("x", 50, 7, time.Hour, "start"))
		}, []string{"shim likely x task=none children=none helper=start"}},
		{"a helper that has just begun", func(v *View) {
			v.Processes = append(v.Processes, shim("x", 50, 7, time.Second, "start"))
		}, nil},
		{"a whole pod that containerd has forgotten is one suspect and its container another", forgetAll, []string{
			"shim certain p1 task=none bundle=there socket=listening children=some",
			"process certain c1 task=none owner=container parent=shim",
			"mount likely  type=nsfs",
		}},
		{"containerd is down: a shim with a bundle will be found again", func(v *View) {
			forgetAll(v)
			v.Complete, v.Daemons = false, nil
		}, nil},
		{"containerd is down: one without will not", func(v *View) {
			forgetAll(v)
			v.Complete, v.Daemons, v.Bundles = false, nil, nil
			v.Processes[1].Cwd += deleted
		}, []string{"shim likely p1 task=not-asked bundle=gone socket=listening children=some"}},
		{"a container that containerd has forgotten is the child of another process", func(v *View) {
			v.Processes = append(v.Processes, process(60, 1, 0))
			v.Processes[3].Parent, v.Processes[1].Children = 60, []int{podInit}
			forget(v, c1)
		}, []string{
			"process certain c1 task=none owner=container parent=process",
		}},
		{"the shim was killed, and its container runs on", func(v *View) {
			v.Processes = slices.Delete(v.Processes, 1, 2)
			v.Processes[1].Parent, v.Processes[2].Parent = 1, 1
			v.Sockets[0].Listening = false
			forgetAll(v)
		}, []string{
			"process certain c1 task=none owner=container parent=init",
			"bundle certain p1 task=none shim=none",
			"mount likely  type=nsfs",
		}},
		{"a task without a process", func(v *View) { v.Processes = v.Processes[:3] },
			[]string{"task certain c1 task=RUNNING process=none"}},
		{"a task without a shim", func(v *View) {
			v.Processes = slices.Delete(v.Processes, 1, 2)
			v.Sockets = nil
			v.setTask(p1, task(0, "UNKNOWN"))
			v.setTask(c1, task(0, "UNKNOWN"))
		}, []string{"task certain c1 task=UNKNOWN shim=none", "task certain p1 task=UNKNOWN shim=none"}},
		{"a shim that was started after the processes were listed", func(v *View) {
			v.Processes = slices.Delete(v.Processes, 1, 2)
			v.Sockets = nil
		}, nil},
		{"a task whose shim is elsewhere", func(v *View) {
			v.Processes = slices.Delete(v.Processes, 1, 2)
			v.Sockets = nil
			for i := range v.Bundles {
				v.Bundles[i].Address = "vsock://3:1024"
			}
		}, nil},
		{"a shim that does not answer", func(v *View) { v.setTask(p1, task(0, "UNKNOWN")) },
			[]string{"task likely p1 task=UNKNOWN"}},
		{"a shim that a signal has stopped", func(v *View) {
			v.setTask(p1, task(0, "UNKNOWN"))
			v.Processes[1].State = "T"
		}, []string{"task certain p1 task=UNKNOWN state=stopped"}},
		{"a stopped task whose process runs", func(v *View) { v.setTask(c1, task(inContInit, "STOPPED")) },
			[]string{"process certain c1 task=STOPPED owner=container parent=shim"}},
		{"a pid that was given anew is not the container's", func(v *View) {
			v.setTask(c1, task(0, "STOPPED"))
			v.RuncStates[0].Start = 99
		}, nil},
		{"a zombie that its shim does not reap", func(v *View) {
			zombie := process(60, podShim, 0)
			zombie.State, zombie.Comm = "Z", "runc"
			v.Processes = append(v.Processes, zombie)
		}, []string{"process likely  parent=shim state=zombie"}},
		{"a socket whose shim is about to exit", func(v *View) {
			v.Sockets[0].Listening = false
		}, nil},
		{"a socket that a helper cleans up after", func(v *View) {
			v.Sockets = append(v.Sockets, socket(socketFile("p9"), false))
			v.Processes = append(v.Processes, shim("p9", 61, 1, time.Second, "delete"))
		}, nil},
		{"a silent socket", func(v *View) { v.Sockets = append(v.Sockets, socket("/run/containerd/s/ef", false)) },
			[]string{"socket certain  socket=silent"}},
		{"a hidden bundle, which a containerd that hangs may be removing", func(v *View) {
			v.Complete = false
			v.Bundles = append(v.Bundles, scan.Bundle{Path: taskDir + "k8s.io/.x", Namespace: "k8s.io", ID: "x",
				Hidden: true})
		}, []string{"bundle likely x task=not-asked bundle=hidden shim=none"}},
		{"a hidden bundle while containerd is down", func(v *View) {
			v.Complete, v.Daemons = false, nil
			v.Bundles = append(v.Bundles, scan.Bundle{Path: taskDir + "k8s.io/.x", Namespace: "k8s.io", ID: "x",
				Hidden: true})
		}, []string{"bundle certain x task=not-asked bundle=hidden shim=none"}},
		{"a bundle alone", func(v *View) {
			v.Bundles = append(v.Bundles, scan.Bundle{Path: taskDir + "k8s.io/x", Namespace: "k8s.io", ID: "x"})
		}, []string{"bundle certain x task=none shim=none"}},
		{"a bundle that has just been made", func(v *View) { // the node has the zero time
			v.Bundles = append(v.Bundles, scan.Bundle{Path: taskDir + "k8s.io/x", Namespace: "k8s.io", ID: "x"})
			v.Changed = map[string]time.Time{taskDir + "k8s.io/x": time.Time{}.Add(-time.Second)}
		}, []string{"bundle likely x task=none shim=none"}},
		{"a bundle whose shim is being started", func(v *View) {
			v.Bundles = append(v.Bundles, scan.Bundle{Path: taskDir + "k8s.io/x", Namespace: "k8s.io", ID: "x"})
			v.Processes = append(v.Processes, shim("x", 50, 7, time.Second, "start"))
		}, nil},
		{"a work directory alone", func(v *View) {
			v.Bundles = append(v.Bundles, scan.Bundle{Path: workDir + "k8s.io/x", Namespace: "k8s.io", ID: "x",
				Work: true})
		}, []string{"bundle certain x task=none bundle=gone shim=none kind=work-directory"}},
		{"a cgroup in many hierarchies", func(v *View) {
			for _, h := range []string{"cpu", "memory"} {
				v.Cgroups = append(v.Cgroups, Cgroup{Path: "/sys/fs/cgroup/" + h + "/k8s.io/x", Key: Key{"k8s.io", "x"}})
			}
		}, []string{"cgroup certain x task=none procs=none"}},
		{"a cgroup whose namespace nobody tells", func(v *View) {
			v.Cgroups = append(v.Cgroups, Cgroup{Path: "/x", Key: Key{"", "x"}})
		}, []string{"cgroup likely x task=none procs=none"}},
		{"a process in the cgroup of nobody", func(v *View) {
			v.Processes = append(v.Processes, process(70, 1, 0))
			v.Cgroups = append(v.Cgroups, Cgroup{Path: "/k8s.io/x", Key: Key{"k8s.io", "x"}, Procs: []int{70}})
		}, []string{"process certain x task=none owner=container parent=init"}},
		{"a runc state alone", func(v *View) {
			v.RuncStates = append(v.RuncStates,
				State{RuncState: scan.RuncState{Path: "/r/k8s.io/x", Namespace: "k8s.io", ID: "x"}})
		}, []string{"runc-state certain x task=none"}},
		{"a root file system alone", func(v *View) {
			v.Mounts = append(v.Mounts, inventory.Mount{Point: taskDir + "k8s.io/x/rootfs", Type: "overlay"})
		}, []string{"mount certain x task=none bundle=gone type=overlay"}},
		{"CRI has forgotten a container", func(v *View) { v.setCRI(c1, "") },
			[]string{"container certain c1 task=RUNNING listed=not-by-cri"}},
		{"CRI says running, and there is no task", func(v *View) {
			v.setTask(c1, nil)
			v.Bundles, v.RuncStates, v.Mounts = nil, nil, v.Mounts[1:]
			v.Cgroups = nil
			v.Processes = v.Processes[:3]
		}, []string{"container certain c1 task=none"}},
		{"no CRI", func(v *View) {
			v.setCRI(p1, "")
			v.setCRI(c1, "")
			v.Daemons[0].CRI = false
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := healthy()
			test.spoil(n.Views[0])
			var got []string
			for _, s := range Compare(n) {
				got = append(got, strings.TrimSpace(strings.Join([]string{string(s.Kind), string(s.Sure), s.ID,
					s.Facts.String()}, " ")))
				if _, err := finding.ParseMatch(finding.Match{Class: s.Kind, Facts: s.Facts}.String()); err != nil {
					t.Errorf("%s %v: the catalogue does not know it: %v", s.Kind, s.Facts, err)
				}
				if _, do := s.advice(); do == "" || len(s.Missing) == 0 || s.String() == "" {
					t.Errorf("%+v says too little", s)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

// The age of a suspect is the time since the last change of its file.
func TestTheAgeOfASuspect(t *testing.T) {
	n := healthy()
	n.Taken = time.Now()
	v, changed := n.Views[0], n.Taken.Add(-time.Hour)
	v.Changed = map[string]time.Time{"/r/k8s.io/x": changed}
	v.RuncStates = append(v.RuncStates,
		State{RuncState: scan.RuncState{Path: "/r/k8s.io/x", Namespace: "k8s.io", ID: "x"}})
	if s := Compare(n); len(s) != 1 || s[0].Age != time.Hour || s[0].Changed != changed {
		t.Errorf("%+v", s)
	}
}

// A container that is a node has containers of its own, whose cgroups the node sees, too.
func TestACgroupOfANodeInANode(t *testing.T) {
	n := healthy()
	inner := healthy().Views[0]
	inner.setTask(Key{"k8s.io", "inner"}, task(podInit, "RUNNING"))
	inner.Daemons[0].PID = 77
	n.Views = append(n.Views, inner)
	n.Views[0].Peers = []int{77}
	n.Views[0].Cgroups = append(n.Views[0].Cgroups, Cgroup{Path: "/x/inner", Key: Key{"", "inner"}})
	if found := Compare(n); len(found) != 0 {
		t.Errorf("%v", found)
	}
	inner.setTask(Key{"k8s.io", "inner"}, nil)
	if found := Compare(n); len(found) != 1 || found[0].Kind != finding.ClassCgroup {
		t.Errorf("nobody has it: %v", found)
	}
	inner.Complete = false
	if found := Compare(n); len(found) != 0 {
		t.Errorf("the one who may have it does not answer: %v", found)
	}
}

// A suspect that only one look found is kept as likely if the other look read less.
func TestASuspectOfOneLook(t *testing.T) {
	dir := Suspect{Kind: finding.ClassBundle, Sure: Certain, Subject: finding.Subject{ID: "y", Path: "/y"}}
	shim := Suspect{Kind: finding.ClassShim, Sure: Certain, Subject: finding.Subject{ID: "x", PID: 5, Start: 9}}
	look := func(v View) *Node { return &Node{Views: []*View{&v}} }
	shims := func(start uint64) []Process { return []Process{process(5, 1, start)} }
	for name, test := range map[string]struct {
		of    Suspect
		other *Node
		want  bool
	}{
		"that read everything":          {dir, look(View{Complete: true}), false},
		"that was cut":                  {dir, look(View{cut: true}), true},
		"without a containerd's answer": {dir, look(View{}), true},
		"that could not read a process": {dir, look(View{Complete: true, Blind: true}), true},
		"that took too long":            {dir, &Node{late: true}, true},
		"of a root that is gone":        {dir, &Node{}, false},
		"of another root":               {dir, &Node{late: true, Views: []*View{{Name: "in the container"}}}, true},
		"with the process":              {shim, look(View{cut: true, Processes: shims(9)}), true},
		"without the process":           {shim, look(View{cut: true, Processes: shims(10)}), false},
	} {
		this := look(View{Complete: true})
		got, once := both([]Suspect{test.of}, nil, this, test.other)
		if len(got) != once || (once == 1) != test.want || test.want && got[0].Sure != Likely {
			t.Errorf("the second is one %s: %v", name, got)
		}
		if test.of.PID != 0 {
			continue // a process that only the second look has is new, or was not read before
		}
		got, once = both(nil, []Suspect{test.of}, test.other, this)
		if len(got) != once || (once == 1) != test.want || test.want && got[0].Sure != Likely {
			t.Errorf("the first is one %s: %v", name, got)
		}
	}
}

// An object that changes between the two scans is not reported. A suspect that is only
// likely in one scan is not certain.
func TestBoth(t *testing.T) {
	shim := Suspect{Kind: finding.ClassShim, Sure: Likely, Subject: finding.Subject{ID: "x", PID: 5, Start: 9},
		Age: time.Second}
	later := shim
	later.Sure, later.Age = Certain, 4*time.Second
	again := later
	again.Start = 10
	dir := Suspect{Kind: finding.ClassBundle, Sure: Certain, Subject: finding.Subject{ID: "y", Path: "/y"},
		Changed: time.Unix(5, 0)}
	otherDir := dir
	otherDir.Changed = time.Unix(7, 0)
	for _, test := range []struct {
		name          string
		before, after []Suspect
		want          []Certainty
	}{
		{"the same", []Suspect{shim}, []Suspect{later}, []Certainty{Likely}},
		{"gone", []Suspect{shim}, nil, nil},
		{"new", nil, []Suspect{shim}, nil},
		{"another process of that pid", []Suspect{shim}, []Suspect{again}, nil},
		{"the same directory", []Suspect{dir}, []Suspect{dir}, []Certainty{Certain}},
		{"a directory made anew", []Suspect{dir}, []Suspect{otherDir}, nil},
	} {
		var got []Certainty
		look := &Node{Views: []*View{{Complete: true}}}
		all, _ := both(test.before, test.after, look, look)
		for _, s := range all {
			got = append(got, s.Sure)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
