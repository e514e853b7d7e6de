package kubernetes

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/shimquake/shimquake/must"
)

func TestEveryManifestIsWhatTheAPIKnows(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		all, err := Read(f)
		if err != nil {
			t.Error(err)
		}
		for _, o := range all {
			if j, ok := o.(*batchv1.Job); ok {
				checkJob(t, f, j)
			}
		}
	}
}

// checkJob checks what holds of each of the sweep's jobs.
func checkJob(t *testing.T, file string, j *batchv1.Job) {
	t.Helper()
	pod := j.Spec.Template.Spec
	c := pod.Containers[0]
	if pod.HostPID || pod.HostNetwork || pod.HostIPC || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: more of the node, or of the cluster, than a world needs", file)
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil || v.PersistentVolumeClaim.ClaimName != "shimquake-sweep" {
			t.Errorf("%s: volume %s is not that of the results", file, v.Name)
		}
	}
	must.Equal(t, env(c, "NIGHT"), c.VolumeMounts[0].MountPath, file, "results go to")
	makefile := must.Get(os.ReadFile("../../Makefile"))(t)
	if len(c.Command) != 2 || c.Command[0] != "make" || !strings.Contains(string(makefile), "\n"+c.Command[1]+": ## ") {
		t.Errorf("%s: %v is no target of the Makefile", file, c.Command)
	}
	if j.Namespace != "shimquake" || j.Spec.ActiveDeadlineSeconds == nil || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s: no namespace, end, or claim to a processor", file)
	}
}

func env(c corev1.Container, name string) string {
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	return c.Env[i].Value
}

// A shard that no pod has is lost: the pods must be as many as the plan is split into.
func TestEveryShardHasAPod(t *testing.T) {
	j := must.Get(Find[batchv1.Job]("sweep-shards.yaml"))(t)
	s := j.Spec
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || s.BackoffLimitPerIndex == nil {
		t.Error("its pods have no index, or one that fails ends all")
	}
	if env(s.Template.Spec.Containers[0], "SHARDS") != strconv.Itoa(int(*s.Completions)) {
		t.Errorf("%d pods of another number of shards", *s.Completions)
	}
	if *s.MaxFailedIndexes < *s.Completions {
		t.Error("lost shards end the others")
	}
}

// The image has the Go and the containerd that the checkout and the plan name.
func TestImage(t *testing.T) {
	read := func(name string) string {
		return must.Read(t, name)
	}
	group := func(pattern, text string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s", pattern)
		}
		return m[1]
	}
	docker := read("Dockerfile")
	if g, w := group(`ARG BASE=golang:([0-9.]+)-`, docker), group(`(?m)^go ([0-9.]+)$`, read("../../go.mod")); g != w {
		t.Errorf("the image has Go %s, go.mod %s", g, w)
	}
	plan := must.Get(Find[batchv1.Job]("sweep-plan.yaml"))(t)
	if g, w := group(`ARG CONTAINERD=(\S+)`, docker), env(plan.Spec.Template.Spec.Containers[0], "CONTAINERD"); g != w {
		t.Errorf("the image has containerd %s, the plan %s", g, w)
	}
}

func TestWhatTheAPIDoesNotKnowIsRefused(t *testing.T) {
	whole := must.Get(os.ReadFile("sweep-shards.yaml"))(t)
	for says, change := range map[string][2]string{
		"completionModus":        {"completionMode", "completionModus"},
		"runPrivileged":          {"privileged: true", "runPrivileged: true"},
		`no kind "Jobb"`:         {"kind: Job", "kind: Jobb"},
		"cannot unmarshal":       {"completions: 8", "completions: eight"},
		`key "parallelism" alre`: {"completions: 8", "parallelism: 8"},
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		text := strings.Replace(string(whole), change[0], change[1], 1)
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o644))
		must.FailWith(t, must.ErrorOf(Read(file)), says)
	}
	must.Fail(t, must.ErrorOf(Read("Dockerfile")), "a Dockerfile is no manifest")
}
