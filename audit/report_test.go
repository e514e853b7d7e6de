package audit_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/oracle/finding"
)

func TestMetrics(t *testing.T) {
	r := &audit.Report{
		Taken: time.Unix(7, 0), Shims: 3, Partial: []string{"x"},
		Daemons: []audit.Daemon{{Address: "/a", Version: "v2.3.7", Answered: true}, {Address: "/b\"\n\\"}},
		Suspects: []audit.Suspect{
			{Kind: finding.ClassShim, Sure: audit.Certain, Subject: finding.Subject{Namespace: "k8s.io"},
				Bug: "containerd#8981"},
			{Kind: finding.ClassShim, Sure: audit.Certain, Subject: finding.Subject{Namespace: "k8s.io"},
				Bug: "containerd#8981"},
			{Kind: finding.ClassSocket, Sure: audit.Certain},
		},
	}
	var b bytes.Buffer
	if err := r.Metrics(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`shimquake_audit_suspects{kind="shim",certainty="certain",namespace="k8s.io",bug="containerd#8981"} 2`,
		`shimquake_audit_suspects{kind="socket",certainty="certain",namespace="",bug=""} 1`,
		`shimquake_audit_suspects{kind="cgroup",certainty="certain",namespace="",bug=""} 0`,
		`shimquake_audit_containerd_answers{address="/a",version="v2.3.7"} 1`,
		`shimquake_audit_containerd_answers{address="/b\"\n\\",version=""} 0`,
		`shimquake_audit_shims 3`, `shimquake_audit_partial 1`, `shimquake_audit_timestamp_seconds 7`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(line, "} ")
		if !strings.HasPrefix(line, "#") && seen[name] {
			t.Errorf("twice: %s", line)
		}
		seen[name] = true
	}
}

// A bundle leaves the node, so it has no secrets of workloads, except on request.
func TestEvidenceHasNoSecrets(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.world.Signal(n.ctx, n.shim("c1"), 19))
	defer func() { n.must(n.world.Signal(n.ctx, n.shim("c1"), 18)) }()
	r := n.audit()
	if len(r.Suspects) != 1 {
		t.Fatal(r)
	}
	for _, workloads := range []bool{false, true} {
		var b bytes.Buffer
		n.must(r.Evidence(n.ctx, &b, audit.Options{}, workloads, nil))
		files := untar(t, &b)
		for _, want := range []string{"report.json", "report.txt", "node.json", "view-0/unix", "view-0/mountinfo"} {
			if files["shimquake-audit/"+want] == "" {
				t.Errorf("no %s", want)
			}
		}
		if !strings.Contains(files["shimquake-audit/report.txt"], "audited/c1") {
			t.Errorf("report.txt: %s", files["shimquake-audit/report.txt"])
		}
		var holds []string
		for name, text := range files {
			if strings.Contains(text, secret) {
				holds = append(holds, name)
			}
		}
		if (len(holds) > 0) != workloads {
			t.Errorf("with workloads %v, the secret is in %q", workloads, holds)
		}
	}
}

func untar(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}
