package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/shimquake/shimquake/must"
)

const config = `{
	"process": {"args": ["/bin/payload", "copy", "3", "/data/f", "-trigger", "/truth/go"],
		"env": ["A=b", "SHIMQUAKE_TRUTH=/truth/log"]},
	"root": {"path": "rootfs"},
	"mounts": [
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/truth", "type": "bind", "source": "/host/truth", "options": ["rbind", "rw"]},
		{"destination": "/truth/deep", "source": "/host/deep", "options": ["bind"]},
		{"destination": "/run", "type": "tmpfs", "source": "tmpfs"}
	],
	"annotations": {"io.kubernetes.cri.sandbox-id": "pod1", "shimquake.fakeshim": "events=none"}
}`

func read(t *testing.T, text string) *Spec {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o644))
	return must.Get(Read(dir))(t)
}

func TestPath(t *testing.T) {
	s := read(t, config)
	root := filepath.Join(s.bundle, "rootfs")
	for inside, want := range map[string]string{
		"/truth/log":    "/host/truth/log",
		"/truth":        "/host/truth",
		"/truthful/log": root + "/truthful/log",
		"/truth/deep/x": "/host/deep/x",
		"/data/f":       root + "/data/f",
		"/run/x":        root + "/run/x", // a tmpfs of the container is not mounted
		"/../../etc/x":  root + "/etc/x",
	} {
		must.Equal(t, s.Path(inside), want, "Path", inside)
	}
}

func TestSpec(t *testing.T) {
	t.Setenv("SHIMQUAKE_FAKESHIM", "events=twice,exit=9")
	s := read(t, config)
	m := must.Get(s.Mode(s.Process))(t)
	must.Equal(t, m.Path, filepath.Join(s.bundle, "rootfs/data/f"), "Mode")
	must.Equal(t, m.Trigger, "/host/truth/go", "Mode")
	must.Equal(t, s.Truth(s.Process), "/host/truth/log", "Truth")
	must.Equal(t, s.Group("c1"), "pod1", "Group")
	b := must.Get(s.Behaviour())(t)
	must.Equal(t, b.Events, "none", "Behaviour")
	must.Equal(t, b.Status("wait", 1), 9, "Behaviour")
}

func TestSpecErrors(t *testing.T) {
	s := read(t, `{"annotations": {"shimquake.fakeshim": "colour=red"}}`)
	must.FailWith(t, must.ErrorOf(s.Behaviour()), `unknown key "colour"`, "Behaviour")
	if _, err := s.Mode(&specs.Process{Args: []string{"sleep", "5"}}); err == nil ||
		!strings.Contains(err.Error(), `unknown mode "5"`) {
		t.Errorf("Mode = %v", err)
	}
	must.Fail(t, must.ErrorOf(s.Mode(&specs.Process{})), "a process without args has a mode")
	must.Equal(t, must.Get(s.Mode(&specs.Process{Args: []string{"/pause"}}))(t).Kind, "pause", "Mode of /pause")
	must.Equal(t, s.Group("c1"), "c1", "Group")
}
