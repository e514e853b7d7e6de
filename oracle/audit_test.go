package oracle

import "testing"

// node is a healthy one: a pod of two containers, whose one shim has the pod's id.
func node() Inventory {
	const socket = "/run/containerd/s/ab12"
	bundle := func(id string) Bundle {
		return Bundle{Path: taskDir + "/k8s.io/" + id, Namespace: "k8s.io", ID: id, Address: "unix://" + socket}
	}
	task := func(id string) Task { return Task{Namespace: "k8s.io", ID: id, Status: "RUNNING"} }
	return Inventory{
		Processes: []Process{{
			PID: 41, State: "S", Argv: []string{"containerd-shim-runc-v2"},
			Shim: &ShimArgs{ID: "p1", Namespace: "k8s.io"}, SocketInodes: []uint64{7},
		}},
		Sockets: []Socket{{Path: socket, Listening: true, Inode: 7}},
		Bundles: []Bundle{
			bundle("p1"),
			bundle("c1"),
			{Path: "/root/k8s.io/c1", Namespace: "k8s.io", ID: "c1", Work: true},
		},
		Mounts:     []Mount{{Point: taskDir + "/k8s.io/c1/rootfs", Type: "overlay"}, {Point: "/home", Type: "ext4"}},
		RuncStates: []RuncState{{Path: "/runc/k8s.io/c1", Namespace: "k8s.io", ID: "c1"}},
		Daemon:     &Daemon{Tasks: []Task{task("p1"), task("c1")}, Leases: []Ref{{"k8s.io", "pull"}}},
	}
}

func TestSuspicious(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*Inventory)
		want  []string
	}{
		{"healthy", func(*Inventory) {}, nil},
		{"healthy, containerd not asked", func(n *Inventory) { n.Daemon = nil }, nil},
		{"the pod's own task is gone, a container's is not", func(n *Inventory) { n.Daemon.Tasks = n.Daemon.Tasks[1:] },
			nil},
		{"a shim without a task", func(n *Inventory) { n.Daemon.Tasks = nil }, []string{"leak shim: shim process 41"}},
		{"a shim of a containerd within a container", func(n *Inventory) {
			n.Daemon.Tasks = nil
			n.Processes[0].Foreign = true
		}, nil},
		{"no shim", func(n *Inventory) { n.Processes, n.Sockets = nil, nil },
			[]string{taskDir + "/k8s.io/p1: ", taskDir + "/k8s.io/c1: "}},
		{"a dead socket", func(n *Inventory) { n.Sockets = append(n.Sockets, Socket{Path: "/run/containerd/s/cd34"}) },
			[]string{"cd34: socket file is there and nobody listens"}},
		{"a hidden bundle", func(n *Inventory) {
			n.Bundles = append(n.Bundles, Bundle{Path: taskDir + "/k8s.io/.c2", Namespace: "k8s.io", ID: "c2", Hidden: true})
		}, []string{".c2: "}},
		{"a work directory alone", func(n *Inventory) { n.Bundles[2].ID = "c2" }, []string{"work directory"}},
		{"a mount alone", func(n *Inventory) { n.Mounts[0].Point = taskDir + "/k8s.io/c2/rootfs" },
			[]string{"still mounted for k8s.io/c2"}},
		{"a runc state alone", func(n *Inventory) { n.RuncStates[0].ID = "c2" }, []string{"leak runc-state"}},
		{"a process that containerd does not know", func(n *Inventory) {
			n.Processes = append(n.Processes, Process{PID: 50, State: "S", Cgroup: "/k8s.io/c1"})
			n.Daemon.Tasks[1].Status = "STOPPED"
		}, []string{"forgotten process: process 50"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := node()
			test.spoil(&n)
			found := suspicious(n)
			if len(found) != len(test.want) {
				t.Fatalf("%d findings, want %d: %v", len(found), len(test.want), found)
			}
			for _, want := range test.want {
				if !contains(found, want) {
					t.Errorf("no finding says %q: %v", want, found)
				}
			}
		})
	}
}
