package plan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/sweep/engine"
)

// CacheDir returns the folder of what was found out about a containerd on this machine:
// its plans, and histories of cases without a fault. It is named after the binaries and
// the kernel, and not after the build of shimquake.
func CacheDir(ctx context.Context, subject string) (string, error) {
	cache, err := containerd.CacheDir()
	if err != nil {
		return "", err
	}
	_, digest, err := Identify(ctx, subject)
	machine := runner.ThisMachine()
	return filepath.Join(cache, "subjects", fmt.Sprintf("%s-%s-%s", digest, machine.Kernel, machine.Cgroups)), err
}

// source is the source of this package, of which a plan is a function.
//
//go:embed *.go *.yaml
var source embed.FS

// Key returns a digest of what a plan is made from: the options, and this package with
// its workloads.
func (o Options) Key() string {
	h := sha256.New()
	files, _ := source.ReadDir(".") // an embedded folder can be read
	for _, f := range files {
		if text, _ := source.ReadFile(f.Name()); !strings.HasSuffix(f.Name(), "_test.go") {
			h.Write(text)
		}
	}
	h.Write([]byte(o.String()))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// planFile returns the name of the plan in the cache.
func (o Options) planFile() string { return filepath.Join(o.Cache, "plan-"+o.Key()+".json") }

// cached returns the plan of an earlier run.
func (o Options) cached() (p Plan, ok bool) {
	if o.Cache == "" || o.Fresh {
		return p, false
	}
	p, err := Read(o.planFile())
	p.Containerd = o.Containerd // the same binaries may have another name now
	return p.WithDigest(), err == nil
}

// keep writes a file of the cache, if there is one.
func (o Options) keep(file string, data []byte) error {
	if o.Cache == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = foreign.WriteFile(file, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the cache: %w", err)
	}
	return nil
}

// faultless returns the verdict of a case without a fault. The case runs only if no
// earlier run on this machine was acceptable by the rules of this build.
func (o Options) faultless(t *engine.Task, c harness.Case) (harness.Verdict, error) {
	named := c
	named.Containerd = "" // the same binaries may have another name now
	sum := sha256.Sum256([]byte(named.String()))
	file := filepath.Join(o.Cache, "faultless", fmt.Sprintf("%s-%x.json.gz", c.Name, sum[:4]))
	if o.Cache != "" && !o.Fresh {
		text, err := foreign.ReadFile(file, harness.MaxHistory)
		if err == nil {
			k, err := harness.Unpack(bytes.NewReader(text), file, harness.Part{Len: int64(len(text))})
			if err == nil {
				if v := rejudge.Kept(k); acceptable(v) {
					return v, nil
				}
			}
		}
	}
	v, err := t.Run(c)
	if err != nil || !acceptable(v) || v.History == nil {
		return v, err
	}
	packed, err := harness.Kept{Verdict: v, History: *v.History}.Pack()
	if err == nil {
		err = o.keep(file, packed)
	}
	return v, err
}

// acceptable reports whether a case without a fault held, or showed exactly the known
// bugs of the release.
func acceptable(v harness.Verdict) bool {
	return v.Outcome == harness.Held || v.Outcome == harness.Violated && catalogue.CompareWithKnown(v) == nil
}
