package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/shimquake/shimquake/audit"
)

const manifest = "../deploy/kubernetes/audit-daemonset.yaml"

func readManifest(t *testing.T) corev1.Container {
	t.Helper()
	f, err := os.Open(manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it is only read
	docs := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		var d appsv1.DaemonSet
		if err := docs.Decode(&d); err != nil {
			t.Fatal(err)
		}
		if d.Kind == "DaemonSet" {
			return d.Spec.Template.Spec.Containers[0]
		}
	}
}

// names are capabilities as words.
func names(all []corev1.Capability) (out []string) {
	for _, c := range all {
		out = append(out, string(c))
	}
	return out
}

// as runs the real audit with these capabilities alone, as the kernel gives them to the
// container of the manifest.
func (n *node) as(capabilities []string) (*audit.Report, int) {
	n.Helper()
	set := "-all"
	for _, c := range capabilities {
		set += ",+" + strings.ToLower(c)
	}
	cmd := exec.CommandContext(context.WithoutCancel(n.ctx), "setpriv", "--bounding-set="+set, "--inh-caps=-all",
		"--no-new-privs", buildShimquake(n), "audit", "--json", "--settle", "100ms",
		"--pid", strconv.Itoa(n.world.InitPID()))
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.Fatal(err)
	}
	n.T.Logf("with %v: %v\n%s%s", capabilities, err, out.String(), complaint.String())
	r := &audit.Report{}
	if out.Len() > 0 {
		n.must(json.Unmarshal(out.Bytes(), r))
	}
	return r, cmd.ProcessState.ExitCode()
}

// The DaemonSet has what the audit needs, and nothing that it does not need.
func TestTheManifestsPrivileges(t *testing.T) {
	c := readManifest(t)
	s := c.SecurityContext
	add := names(s.Capabilities.Add)
	if s.Privileged != nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		strings.Join(names(s.Capabilities.Drop), " ") != "ALL" || len(c.VolumeMounts) != 1 {
		t.Errorf("more than is needed: %+v", c)
	}
	command := auditFlags(t)
	for _, word := range c.Command[2:] {
		if strings.HasPrefix(word, "--") && !strings.Contains(command, word+" ") {
			t.Errorf("audit has no %s", word)
		}
	}
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.end(n.run("lost", "wait", "shutdown=ignore")))
	if r, status := n.as(add); status != 1 || len(r.Suspects) != 1 || len(r.Partial) != 0 {
		t.Errorf("exit status %d, %v; want the leaked shim", status, r)
	}
	for i := range add {
		less := append(append([]string{}, add[:i]...), add[i+1:]...)
		if _, status := n.as(less); status != 2 {
			t.Errorf("without %s it ends with %d: it is not needed, or a clean bill is given blindly",
				add[i], status)
		}
	}
}

// auditFlags is the usage of the real command.
func auditFlags(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../cmd/shimquake/audit.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, `, "`); ok && strings.Contains(line, "Var(&a.") {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, "--"+name+" ")
		}
	}
	return strings.Join(names, "")
}
