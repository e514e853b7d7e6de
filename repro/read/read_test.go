package read

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/statement"
)

const (
	shimA = "4b1d0ce57a0f9c2386de4417bb92c05a7fe1963d80ab54ec6f20d9137c58ae61"
	psA   = "root  21877  1  0 Oct02 ?  00:03:11 /usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id " + shimA +
		" -address /run/containerd/containerd.sock\n"
	noTasks = "# ctr -n k8s.io t ls\nTASK    PID    STATUS\n"
	leaked  = `time="2025-01-08T11:02:41.1Z" level=error msg="failed to shutdown shim task and the shim might be ` +
		`leaked" ` +
		`error="context canceled" id=job-1 namespace=ci`
)

// TestText reads the forms in which leaks are reported, and their distortions by mails,
// terminals and journals.
func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Kind
		not  []Kind
	}{
		"a shim that ctr does not list": {psA + noTasks, []Kind{OrphanShim}, nil},
		"both within a sentence": {"it is this: `" + strings.TrimSpace(psA) + "`, and `ctr: container \"" + shimA +
			"\" in namespace \"k8s.io\": not found`; the disk was full",
			[]Kind{OrphanShim}, []Kind{SlowDisk, FullDisk}},
		"a shim that ctr lists": {psA + noTasks + shimA + " 21901 RUNNING\n", nil, []Kind{OrphanShim}},
		"a shim without a list": {psA, nil, []Kind{OrphanShim}},
		"a list that grep has cut": {psA + "# ctr -n k8s.io t ls | grep x\nTASK PID STATUS\n", nil,
			[]Kind{OrphanShim}},
		"a shim that ctr info does not know": {psA + `ctr: container "` + shimA + `" in namespace "k8s.io": not found`,
			[]Kind{OrphanShim}, nil},
		"a shim with 13 digits in crictl": {psA + noTasks + "# crictl pods\nPOD ID CREATED STATE NAME\n" +
			shimA[:13] + " 2d Ready x\n", nil, []Kind{OrphanShim}},
		"windows' ends of lines": {strings.ReplaceAll(psA+noTasks, "\n", "\r\n"), []Kind{OrphanShim}, nil},
		"a shim that crictl pods lacks": {psA + "# crictl pods\nPOD ID CREATED STATE NAME\n0011223344556 2d " +
			"Ready x\n", []Kind{ShimWithoutPod}, []Kind{OrphanShim}},
		"a shim that is not asked about": {psA, []Kind{ShimNotAsked}, nil},
		"a ps whose last column is another one": {
			"# ps -eo pid,ppid,comm,stat\nPID PPID COMMAND STAT\n5 1 containerd-shim S\n", nil, nil},
		"colours": {"\x1b[1;31m" + psA + "\x1b[0m" + noTasks, []Kind{OrphanShim}, nil},
		"a quoted mail with fences": {"> ```\n> " + strings.ReplaceAll(psA+noTasks, "\n", "\n> ") + "```",
			[]Kind{OrphanShim}, nil},
		"a shim broken at its arguments": {strings.ReplaceAll(psA, " -id", "\n-id") + noTasks, []Kind{OrphanShim}, nil},
		"an id broken in its midst": {strings.ReplaceAll(psA, shimA, shimA[:40]+"\n"+shimA[40:]) + noTasks,
			[]Kind{OrphanShim}, nil},
		"blanks of a web page": {strings.ReplaceAll(psA, " ", "\u00a0") + noTasks, []Kind{OrphanShim}, nil},
		"docker's state on a line": {"$ docker inspect -f '{{json .State}}' ledger\n" +
			`{"Status":"running","Running":true,"Pid":30118,"ExitCode":0}` + "\n$ ps -p 30118\n    PID TTY   TIME CMD\n# x",
			[]Kind{StillRunning}, nil},
		"containerd knows of the end, and docker does not": {"$ docker inspect ledger\n" +
			`{"Status":"running","Running":true,"Pid":30118,"ExitCode":0}` + "\n$ ps -p 30118\n    PID TTY   TIME CMD\n" +
			"$ ctr -n moby t ls\nTASK PID STATUS\nledger 30118 STOPPED\n", []Kind{EventMissing, StillRunning},
			[]Kind{TaskNoProcess}},
		"kubelet's file is no place of containerd's": {`E1119 02:41:07.338211    1203 kuberuntime_manager.go:1170] ` +
			`"CreatePodSandbox for pod failed" err="failed to reserve sandbox name \"a\": name \"a\" is reserved for \"b\""`,
			[]Kind{SandboxNameTaken}, []Kind{NamedFunction}},
		"a ticket of their own": {"PROD ticket #88213, see containerd#7496", []Kind{NamedIssue}, nil},
		"a line of logrus":      {leaked, []Kind{LoggedMessage, ClientGaveUp}, nil},
		"the journal's": {"Jan 08 11:02:41 n1 containerd[81]: " + leaked,
			[]Kind{LoggedMessage, ClientGaveUp}, nil},
		"the journal's of another language": {"8月 02 21:17:43 n1 containerd[81]: " + leaked, []Kind{ClientGaveUp}, nil},
		"the journal's JSON": {`{"MESSAGE":"failed to reserve sandbox name \"a\": name \"a\" is reserved for ` +
			`\"b\"","_COMM":"containerd"}`, []Kind{SandboxNameTaken}, nil},
		"containerd's JSON": {`{"level":"error","msg":"StopPodSandbox for \"x\" failed","error":"context canceled",` +
			`"time":"t"}`, []Kind{RemovalFails}, nil},
		"docker's JSON around it": {`{"log":"` + strings.ReplaceAll(leaked, `"`,
			`\"`) + `\n","stream":"stderr"}`, []Kind{ClientGaveUp}, nil},
		"a message broken in its midst": {strings.Replace(leaked, "shim task", "shim\n task", 1),
			[]Kind{ClientGaveUp}, nil},
		"what info says of a removal": {`time="t" level=info msg="StopContainer for x with timeout 30 (s) ` +
			`failed over"`, nil, []Kind{RemovalFails}},
		"UNKNOWN": {"TASK PID STATUS\nx 0 UNKNOWN\n", []Kind{UnknownTask}, nil},
		"RUNNING without a process": {"# ctr t ls\nTASK PID STATUS\nx 77 RUNNING\n# ps 77\n    PID TTY " +
			"STAT TIME COMMAND\n", []Kind{TaskNoProcess}, nil},
		"RUNNING with its process": {"# ctr t ls\nTASK PID STATUS\nx 77 RUNNING\n# ps 77\n    PID TTY " +
			"STAT TIME COMMAND\n 77 ? S 0:00 sleep\n", nil, []Kind{TaskNoProcess}},
		"a kill without a process": {"TASK PID STATUS\nx 77 STOPPED\nbash: kill: (77) - No such process\n",
			[]Kind{TaskNoProcess}, nil},
		"a socket, and no shim": {"$ ls /run/containerd/s\n" + shimA + "\n$ pgrep -c containerd-shim\n0\n",
			[]Kind{SocketLeft}, nil},
		"a socket, and a shim": {"$ ls /run/containerd/s\n" + shimA + "\n$ pgrep -c containerd-shim\n1\n",
			nil, []Kind{SocketLeft}},
		"a pod without an address": {"$ crictl inspectp x\n{\n  \"network\": {\n    \"ip\": \"\"\n",
			[]Kind{PodWithoutIP}, nil},
		"a pod with one": {"$ crictl inspectp x\n{\n    \"ip\": \"10.0.0.3\"\n", nil, []Kind{PodWithoutIP}},
		"StartError": {"{\n \"id\": \"x\",\n \"state\": \"CONTAINER_EXITED\",\n " +
			"\"exitCode\": 128,\n \"reason\": \"StartError\"\n}\n", []Kind{StartError}, nil},
		"a removal that is refused": {
			"rpc error: code = Unknown desc = failed to delete containerd container: cannot delete running " +
				"task x: failed precondition",
			[]Kind{RemovalFails}, nil},
		"a reserved name": {`failed to reserve sandbox name "web_default_1_0": name ` +
			`"web_default_1_0" is reserved for "abc"`, []Kind{SandboxNameTaken}, []Kind{ContainerNameTaken}},
		"two statuses, by docker": {"2025 container die " + shimA + " (exitCode=7, name=b)\n2025 " +
			"container die " + shimA + " (exitCode=137, name=b)\n", []Kind{StatusChanged, Status137}, nil},
		"one status twice, by two events": {"x ci /tasks/exit {\"container_id\":\"a\",\"pid\":7,\"exit_status\":" +
			"7}\nx ci /tasks/delete {\"container_id\":\"a\",\"pid\":7,\"exit_status\":7}\n", nil, []Kind{StatusChanged,
			ExitTwice}},
		"an exit without a pid": {"x ci /tasks/exit {\"container_id\":\"a\",\"exit_status\":137}\n",
			[]Kind{EventWithoutPID}, nil},
		"docker says running after an exit": {"\"Id\": \"" + shimA + "\",\n\"Status\": \"running\",\nx container " +
			"die " + shimA + " (exitCode=1)\n", []Kind{StillRunning}, nil},
		"numbers that grow":   {"# pgrep -c containerd-shim\n41\n58\n77\n", []Kind{GrowingShims}, nil},
		"numbers that do not": {"# pgrep -c containerd-shim\n41\n41\n40\n", nil, []Kind{GrowingShims}},
		"a shim with a child": {"# ps axo pid,ppid,args\n PID PPID COMMAND\n 5 1 " +
			"/usr/bin/containerd-shim-runc-v2 -namespace a -id b\n 6 5 sleep 1\n", nil, []Kind{ChildlessShim}},
		"a shim without one": {"# ps axo pid,ppid,args\n PID PPID COMMAND\n 5 1 " +
			"/usr/bin/containerd-shim-runc-v2 -namespace a -id b\n 6 1 sleep 1\n", []Kind{ChildlessShim}, nil},
		"a shim among shims alone": {"# ps axo pid,ppid,args |" +
			" grep shim\n PID PPID COMMAND\n 5 1 /usr/bin/containerd-shim-runc-v2 -namespace a -id b\n", nil,
			[]Kind{ChildlessShim}},
		"a bundle that is half removed": {"# ls -a /run/containerd/io.containerd.runtime.v2.task/ci\n.job-0000" +
			"01\n", []Kind{HiddenBundle}, nil},
		"a bundle of an unknown container": {"# ls /run/containerd/io.containerd.runtime.v2.task/ci\njob-1\n# " +
			"ctr -n ci t ls\nTASK PID STATUS\n", []Kind{BundleLeft}, nil},
		"a cgroup of an unknown container": {"$ ls -d /sys/fs/cgroup/systemd/system.slice/*\n/x/cri-containerd-" + shimA +
			".scope\n" + noTasks, []Kind{CgroupLeft}, nil},
		"a row of systemd-cgls": {"  │ ├─cri-containerd-" + shimA + ".scope\n" + noTasks + shimA + " 7 RUNNING\n", nil,
			[]Kind{CgroupLeft}},
		"a mount of findmnt": {"├─/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + shimA + "/rootfs overlay " +
			"overlay rw\n" + noTasks, []Kind{MountLeft}, []Kind{BundleLeft}},
		"a prompt of a login shell": {psA + "-bash-4.2# crictl pods |grep " + shimA[:6] + "\n-bash-4.2# date\n",
			[]Kind{OrphanShim}, nil},
		"kubelet's message without a header": {`kubelet: "Kill container failed" err="rpc error: code = DeadlineExceeded ` +
			`desc = context deadline exceeded" pod="a/b"`, []Kind{RemovalFails, ClientGaveUp}, nil},
		"CRI's pid of no process": {"$ crictl inspect " + shimA[:13] + " | jq .info.pid\n551902\n$ ps -p 551902\n    " +
			"PID TTY TIME CMD\n", []Kind{TaskNoProcess}, nil},
		"an issue": {"like https://github.com/containerd/containerd/issues/7496",
			[]Kind{NamedIssue}, nil},
		"a function": {"github.com/containerd/containerd/runtime/v2.(*binary).Start(0xc000)",
			[]Kind{NamedFunction}, nil},
		"an image": {"Error: ErrImagePull", []Kind{ImagePull}, nil},
		"an event of Kubernetes": {
			`  Warning  Failed  5m (x9 over 6m58s)  kubelet  Error: failed to reserve container name ` +
				`"a_0": name "a_0" is reserved for "b"`, []Kind{ContainerNameTaken}, []Kind{SandboxNameTaken}},
		"an event of kubectl get events": {`2m  Warning  FailedKillPod  pod/a  error killing pod`,
			[]Kind{RemovalFails}, nil},
		"sentences": {"containerd was restarted, a shim was left behind, the disk is full and slow, no space left, 255 " +
			"instead of 0, no TaskExit event", nil, Kinds()},
		"a sentence with a code": {"it says context deadline exceeded", nil, []Kind{ClientGaveUp}},
		"a typed restart":        {"# systemctl restart k3s", []Kind{ContainerdStarted}, []Kind{ContainerdDied}},
		"a typed kill":           {"$ sudo kill -9 $(pidof containerd)", []Kind{ContainerdDied}, []Kind{ShimDied}},
		"a typed kill of a shim": {"$ sudo pkill -9 -f containerd-shim", []Kind{ShimDied}, []Kind{ContainerdDied}},
		"a task behind a grep":   {"$ ctr t ls | grep x\nx  77  CREATED\n", []Kind{CreatedTask}, nil},
		"UNKNOWN, by CRI": {"98fdeabb7879c  5c0a2f8d9b1e4  3 days ago  Unknown  batch  0  67e5ab1c0aa91  batch-1",
			[]Kind{CRIUnknown}, []Kind{UnknownTask}},
		"a pod that is NotReady": {"b35ab3a3202e6  3 days ago  NotReady  billing-5f8d9  prod  0  (default)",
			[]Kind{PodNotReady}, nil},
		"a zombie": {"root 12 0.0 0.0 1 1 ? Sl Jan22 8:21 /usr/bin/containerd-shim-runc-v2 -namespace a -id x\n" +
			"$ ps aux\nnobody 13 0.7 0.0 0 0 ? Zsl Jan22 141:02 [x] <defunct>", []Kind{Zombie}, []Kind{KernelWait}},
		"a process in state D": {"$ ps aux\n1001 13 0.0 0.2 812000 90100 ? Dl Jan22 0:10 node x", []Kind{KernelWait}, nil},
		"a fatal error": {`time="t" level=fatal msg="Failed to run CRI service" error="failed to recover state: failed ` +
			`to reserve container name \"p\": name \"p\" is reserved for \"q\""`,
			[]Kind{ContainerdEnds}, []Kind{ContainerNameTaken, BootFails}},
		"a bundle that is in the way": {"Error response from daemon: failed to create task for container: failed to start " +
			"shim: mkdir /run/containerd/io.containerd.runtime.v2.task/moby/x: file exists", []Kind{IDInUse}, nil},
		"a start that takes too long": {"Jun 07 10:12:00 n systemd[1]: containerd.service: Failed with result 'timeout'.",
			[]Kind{BootFails}, []Kind{ContainerdDied}},
		"a shutdown that waits": {"[ 198.2] systemd-shutdown[1]: Waiting for process: containerd-shim",
			[]Kind{HoldsShutdown, HostShutdown}, nil},
		"an id behind a grep that finds nothing": {psA + "$ ctr -n k8s.io t ls | grep " + shimA[:13] + "\n$ date\n",
			[]Kind{OrphanShim}, nil},
		"the unit's name and JSON": {`start.sh[77]: {"error":"context canceled","level":"error","msg":"x"}`,
			[]Kind{LoggedMessage, ClientGaveUp}, nil},
		"an error within a status": {
			"{\n \"message\": \"failed to create containerd task: failed to get task pid: context " +
				"canceled: unknown\",", []Kind{LoggedMessage}, nil},
		"runc's state": {"$ ls /run/containerd/runc/k8s.io/" + shimA + "\nstate.json\n", []Kind{RuncLeft}, nil},
		"nerdctl":      {shimA[:12] + `  r/pause:3.9  "/pause"  2 days ago  Unknown  k8s://a/b`, []Kind{UnknownTask}, nil},
		"Created, by CRI": {"98fdeabb7879c  5c0a2f8d9b1e4  3 days ago  Created  batch  0  67e5ab1c0aa91  batch-1",
			[]Kind{CRICreated}, []Kind{CRIUnknown}},
		"runtime v1": {`runtime_type = "io.containerd.runtime.v1.linux"`, []Kind{RuntimeV1}, nil},
		"two codes of one call": {`ctr: rpc error: code = FailedPrecondition desc = cannot delete running task x: failed ` +
			`precondition`, []Kind{RemovalFails}, nil},
		"dmesg": {"[812991.3] Out of memory: Killed process 90133 (containerd-shim) total-vm:1kB",
			[]Kind{ShimDied}, nil},
		"Kubernetes' words on a line": {"Last State: Terminated  Reason: Unknown  Exit Code: 255 for pods",
			[]Kind{Status255}, nil},
		"systemd": {"x 1 systemd[1]: containerd.service: Main process exited, " +
			"code=killed, status=9/KILL", []Kind{ContainerdDied, ContainerdStarted}, nil},
		"the kernel": {"Out of memory: Killed process 7 (containerd-shim)", []Kind{ShimDied},
			[]Kind{ContainerdDied}},
	} {
		r := Text(c.text)
		for _, w := range c.want {
			if !r.Has(w) {
				t.Errorf("%s: no %s in %+v", name, w, r.Seen)
			}
		}
		for _, w := range c.not {
			if r.Has(w) {
				t.Errorf("%s: unexpected %s", name, w)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"containerd github.com/containerd/containerd v1.7.2 0cae528dd6":                         "v1.7.2",
		"containerd github.com/containerd/containerd/v2 v2.4.2 abc":                             "v2.4.2",
		"containerd github.com/containerd/containerd/v2 2.4.2 unknown":                          "v2.4.2",
		"containerd containerd.io 1.6.21 3dce8eb055cbb6872793272b4f20ed16117344f8":              "v1.6.21",
		"ii  containerd.io  1.6.21-1  amd64  An open container runtime":                         "v1.6.21",
		"ii  containerd     1.6.23-0ubuntu1~22.04.1 amd64        daemon":                        "v1.6.23",
		"containerd.io-1.6.33-3.1.el9.x86_64":                                                   "v1.6.33",
		"RuntimeVersion:  v2.1.4":                                                               "v2.1.4",
		"wk-2 Ready <none> 88d v1.33.1 10.0.9.2 Debian 6.1.0 containerd://1.7.20":               "v1.7.20",
		"$ ctr version\nClient:\n  Version:  v2.3.7\n":                                          "v2.3.7",
		"Server:\n containerd:\n  Version:          1.7.13\n runc:\n  Version:          1.1.12": "v1.7.13",
		`time="t" level=info msg="starting containerd" revision=88c version=v1.6.36`:            "v1.6.36",
		"we see it since containerd 1.7.20 came":                                                "v1.7.20",
		"we went from containerd 1.7.1 to it\nRuntimeVersion: v1.7.2":                           "v1.7.2",
		"Kubernetes 1.29.3 on Ubuntu":                                                           "",
		"$ k3s ctr version\nClient:\n  Version:  v2.0.5-k3s2\n":                                 "v2.0.5",
		"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1":                "v1.6.20",
		"runc version 1.1.12":                                                              "",
		"containerd \nrevision=0197261a \nversion=1.6.7\n":                                 "v1.6.7",
		"Upgrade: containerd.io:amd64 (1.7.18-1, 1.7.19-1)\ncontainerd 1.7.18":             "v1.7.19",
		"We upgraded from containerd 1.7.18 to containerd 1.7.27, and":                     "v1.7.27",
		"containerd 1.6.8 to 1.6.12 have it":                                               "v1.6.12",
		start("2.2.3-k3s1"):                                                                "v2.2.3",
		start("1.7.1") + start("1.7.2") + leaked + "\n" + start("1.7.3"):                   "v1.7.2",
		"containerd github.com/containerd/containerd v1.7.9 x\n" + start("1.7.2") + leaked: "v1.7.2",
	} {
		if got := Text(text).Version(); got != want {
			t.Errorf("%q: version %q, want %q", text, got, want)
		}
	}
}

// start returns the first line of containerd's log.
func start(version string) string {
	return `time="t" level=info msg="starting containerd" revision=88c version=v` + version + "\n"
}

func TestTheNamespaceNamesTheClient(t *testing.T) {
	for text, want := range map[string]Client{
		psA:                                   Kubelet,
		"# ctr -n moby t ls\nTASK PID STATUS": Dockerd,
		"like docker rm\n# ctr -n ci t ls\n":  Ctr,
		"docker ps shows it":                  Dockerd,
		"nothing":                             "",
	} {
		if got := Text(text).Client; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Each line is understood, or reported as not understood.
func TestNothingIsDropped(t *testing.T) {
	r := Text("one\n\n" + psA + strings.Repeat("what is this\n", 40))
	if r.Lines != 42 || r.Understood != 1 || r.Others != 41 || len(r.Other) != maxOther || r.Other[0] != (Line{1,
		"one"}) {
		t.Errorf("%+v", r)
	}
}

func TestFactsSayWhichLinesGaveThem(t *testing.T) {
	r := Text("hello\n" + psA + noTasks)
	i := slices.IndexFunc(r.Seen, func(o Observation) bool { return o.What == OrphanShim })
	if i < 0 {
		t.Fatalf("%+v", r.Seen)
	}
	o := r.Seen[i]
	if !slices.Equal(o.Lines, []int{2, 4}) || o.ID != shimA || o.PID != 21877 ||
		o.Facts[fact.Task] != fact.None ||
		o.Class() != finding.ClassShim {
		t.Errorf("%+v", o)
	}
}

func TestWhatIsTooLongIsCounted(t *testing.T) {
	began := time.Now()
	r := Text(strings.Repeat("x", longestLine+7) + "\n" + strings.Repeat(psA, 1+MaxBytes/len(psA)))
	if r.Cut < 7 || r.Lines < 1000 {
		t.Errorf("%d bytes cut, %d lines", r.Cut, r.Lines)
	}
	if took := time.Since(began); took > 2*time.Minute { // on a busy machine, too
		t.Errorf("it took %s", took)
	}
}

func TestEveryWhatHasASort(t *testing.T) {
	all := slices.Concat(slices.Collect(maps.Values(made)), slices.Collect(maps.Values(ofCodes)))
	for _, s := range slices.Concat(ofTheSystem, ofClients, ofCommands) {
		all = append(all, s.what)
	}
	for _, w := range all {
		if _, ok := kinds[w]; !ok {
			t.Errorf("%s is not among the kinds", w)
		}
	}
}

// containerd has a statement for each format.
func TestMadeIsOfStatements(t *testing.T) {
	formats := map[string]bool{}
	for _, s := range statement.Known() {
		formats[s.Format] = true
	}
	for f := range made {
		if !formats[f] {
			t.Errorf("no release has %q", f)
		}
	}
}

// The end of a pod's UUID does not count as the id of a container.
func TestUUIDIsNoID(t *testing.T) {
	if got := firstID("of 0b8f3c51-4f0e-4a43-9d07-51b1d2a3e9aa by " + shimA); got != shimA {
		t.Errorf("got %q", got)
	}
}
