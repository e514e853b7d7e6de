package statement

import (
	"slices"
	"strings"
	"testing"
)

// TestLine matches lines that containerd's releases and their clients print.
func TestLine(t *testing.T) {
	for name, tt := range map[string]struct {
		message, err string
		chain        []string // one function for each text
		codes        []string
		unknown      string
	}{
		"a wrapped error": {"failed to load shim /run/containerd/io.containerd.runtime.v2.task/k8s.io/ab4f",
			"failed to resolve runtime path: invalid custom binary path: stat /opt/shim: no such file or directory",
			[]string{"ShimManager.loadShims", "ShimManager.loadShim", "ShimManager.resolveRuntimePath", "wrapUserFile"},
			[]string{"ENOENT"}, ""},
		"a type's own text": {"Failed to run CRI service",
			`failed to recover state: failed to reserve container name "p_0": name "p_0" is reserved for "3beb"`,
			[]string{"initCRIService", "criService.Run", "criService.CreateContainer", "Registrar.Reserve"}, nil, ""},
		"by gRPC": {`StopContainer for "392ca8bf" failed`,
			`rpc error: code = DeadlineExceeded desc = an error occurs during waiting for container "392ca8bf" to be killed: ` +
				`wait container "392ca8bf": context deadline exceeded`,
			[]string{"instrumentedService.StopContainer", "criService.stopContainer", "criService.waitContainerStop"},
			[]string{"DeadlineExceeded", "DeadlineExceeded"}, ""},
		"another program's words": {"failed to delete task", "rpc error: code = Unknown desc = runc did not: sorry",
			[]string{"shimTask.delete"}, []string{"Unknown"}, "runc did not: sorry"},
		"a client's line": {`removing container "98fd" failed: rpc error: code = Unknown desc = failed to set removing ` +
			`state for container "98fd": container state is unknown, to stop first`, "",
			[]string{"criService.RemoveContainer", "setContainerRemoving"}, []string{"Unknown"},
			`removing container "98fd" failed`},
		"nothing of containerd": {"Started Session 12 of User root.", "", nil, nil, "Started Session 12 of User root."},
		"a format's beginning":  {"failed to load sh", "", nil, nil, "failed to load sh"},
		"nothing":               {"", "", nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := KnownTable().Line(tt.message, tt.err)
			if len(m.Chain) != len(tt.chain) {
				t.Fatalf("got %d texts, want %d: %s", len(m.Chain), len(tt.chain), formats(m))
			}
			for i, x := range m.Chain {
				if !slices.ContainsFunc(x.Places, func(s Statement) bool { return s.Func == tt.chain[i] }) {
					t.Errorf("text %d is %q of %s, not of %s", i, x.Format, x.Places[0].Func, tt.chain[i])
				}
			}
			if !slices.Equal(m.Codes, tt.codes) || m.Unknown != tt.unknown {
				t.Errorf("codes %q, unknown %q; want %q, %q", m.Codes, m.Unknown, tt.codes, tt.unknown)
			}
		})
	}
}

// TestReleases matches lines that only some releases log. The releases that log most of
// the lines win.
func TestReleases(t *testing.T) {
	all := func(messages ...string) (ms []Match) {
		for _, m := range messages {
			ms = append(ms, KnownTable().Line(m, ""))
		}
		return ms
	}
	const old, recent, usual = "cleaning up after dead shim", "Image verifier blocked pull", "starting containerd"
	for name, tt := range map[string]struct {
		messages    []string
		first, last string
	}{
		"old":                {[]string{old, usual}, "v1.6.8", "v1.7.35"},
		"recent":             {[]string{recent, usual}, "v2.0.14", "v2.4.2"},
		"two to one":         {[]string{old, old, recent}, "v1.6.8", "v1.7.35"},
		"no statement of it": {[]string{"hello"}, "", ""},
	} {
		got := Releases(all(tt.messages...))
		first, last := "", ""
		if len(got) > 0 {
			first, last = got[0], got[len(got)-1]
		}
		if first != tt.first || last != tt.last {
			t.Errorf("%s: %v, want %s to %s", name, got, tt.first, tt.last)
		}
	}
}

func formats(m Match) string {
	var all []string
	for _, x := range m.Chain {
		all = append(all, x.Format)
	}
	return strings.Join(all, " | ")
}

func TestMatchesAreCompared(t *testing.T) {
	line := KnownTable().Line
	asked := line("failed to load shim /run/x", "failed to resolve runtime path: invalid custom binary path: not found")
	for name, tt := range map[string]struct {
		message, err string
		holds        bool
		alike        int
	}{
		"the same of another shim": {"failed to load shim /run/y",
			"failed to resolve runtime path: invalid custom binary path: not found", true, 100},
		"another code": {"failed to load shim /run/x",
			"failed to resolve runtime path: invalid custom binary path: permission denied", false, 75},
		"another cause":   {"failed to load shim /run/y", "injected", true, 25},
		"within another":  {"failed to resolve runtime path: not found", "", false, 50},
		"something else":  {"cleaning up after shim disconnected", "", false, 0},
		"no statement":    {"Started Session 12 of User root.", "", false, 0},
		"an empty record": {"", "", false, 0},
	} {
		other := line(tt.message, tt.err)
		if holds, alike := asked.Holds(other), asked.Similarity(other); holds != tt.holds || alike != tt.alike {
			t.Errorf("%s: %v, %d hundredths; want %v, %d", name, holds, alike, tt.holds, tt.alike)
		}
	}
	if unknown := line("Started Session 12 of User root.", ""); unknown.Holds(unknown) {
		t.Error("Holds returned true for a text without a statement")
	}
}

// FuzzLine checks that matching also ends soon for many colons, or for many possible
// matches.
func FuzzLine(f *testing.F) {
	f.Add("failed to load shim /run/x", "failed to resolve runtime path: stat /x: no such file or directory")
	f.Add(strings.Repeat(": ", 2000), strings.Repeat("stat x: ", 500))
	f.Add("rpc error: code = Unknown desc = rpc error: code = Unknown desc = ", "\xff\x00%w")
	f.Fuzz(func(t *testing.T, message, err string) {
		m := KnownTable().Line(message, err)
		if m.Similarity(m) > 100 || m.Holds(m) != (len(m.Chain) > 0) {
			t.Errorf("%q, %q: %+v", message, err, m)
		}
	})
}

func BenchmarkTable(b *testing.B) {
	all := Known()
	for b.Loop() {
		NewTable(all)
	}
}

func BenchmarkLine(b *testing.B) {
	table := KnownTable()
	for b.Loop() {
		table.Line("failed to load shim /run/x", "failed to resolve runtime path: stat /x: no such file or directory")
	}
}
