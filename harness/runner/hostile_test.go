package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// inWorld returns a Sabotage that runs a shell script in the world.
func inWorld(script string) func(context.Context, Scene) error {
	return func(ctx context.Context, s Scene) error {
		out := filepath.Join(s.World.Dir(), "script.log")
		p, err := s.World.Start(ctx, world.Params{Argv: []string{"/bin/sh", "-ec", script}, Dir: s.World.Dir(), Output: out})
		if err != nil {
			return err
		}
		e, err := p.Exited(ctx)
		if err == nil && e.Code() != 0 {
			text, _ := os.ReadFile(out)
			err = fmt.Errorf("the script ended with %d: %s", e.Code(), text)
		}
		return err
	}
}

// Root of a world mounts over its /proc. The inventory has its leaks all the same, and no
// file of the host is read.
func TestAWorldCannotHideItsLeaks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must.Succeed(t, os.WriteFile(secret, []byte("1 2 of-the-host"), 0o600))
	const leak = `sleep 1000 >/dev/null 2>&1 & p=$!; mkdir -p /tmp/leak /tmp/p /tmp/1/net
		cat /proc/1/mountinfo >/tmp/mountinfo; for f in stat status cmdline cgroup net/unix; do
			cat /proc/1/$f >/tmp/1/$f; done
		mount -n --bind /tmp/leak /tmp/leak
		`
	// Both files are of filesystems that never answer.
	const fuse = `mknod /tmp/fuse c 10 229; exec 3<>/tmp/fuse 4<>/tmp/fuse; o=rootmode=100644,user_id=0,group_id=0
		mount -i -n -t fuse -o fd=3,$o x log/containerd.log; mount -i -n -t fuse -o fd=4,$o x /etc/hostname
		sleep 1000 >/dev/null 2>&1 &`
	for name, hide := range map[string]string{
		"a folder over a process":          `mount -n --bind /tmp/p /proc/$p`,
		"a file over mountinfo":            `mount -n --bind /tmp/mountinfo /proc/1/mountinfo`,
		"a folder over init":               `cp /tmp/mountinfo /tmp/1; mount -n --bind /tmp/1 /proc/1`,
		"a FUSE over files":                fuse,
		"a FIFO over mountinfo":            `mkfifo /tmp/fifo; mount -n --bind /tmp/fifo /proc/1/mountinfo`,
		"a link to a file of the host":     `ln -s ` + secret + ` /tmp/1/mountinfo; mount -n --bind /tmp/1 /proc/1`,
		"a process that links to the host": `ln -s ` + secret + ` /tmp/p/stat; mount -n --bind /tmp/p /proc/$p`,
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := os.ReadFile("/proc/filesystems"); hide == fuse && !strings.Contains(string(text), "\tfuse\n") {
				t.Skip("no FUSE: ", err)
			}
			done := make(chan harness.Verdict, 1)
			go func() {
				defer close(done)
				done <- harmed(t, inWorld(leak+hide))
			}()
			select {
			case v, ok := <-done:
				if !ok { // skipped
					return
				}
				for _, want := range []string{"leak process: process ", "leak mount: tmpfs mount on /tmp/leak: "} {
					must.Contain(t, v.String(), want)
				}
				if text, err := json.Marshal(v); err != nil || strings.Contains(string(text), "of-the-host") {
					t.Errorf("a file of the host is in the verdict: %s, %v", text, err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the run waits for a file of the world")
			}
		})
	}
}
