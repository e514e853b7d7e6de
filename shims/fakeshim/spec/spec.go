// Package spec reads the needed parts of a bundle's config.json
// (github.com/opencontainers/runtime-spec).
package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/shimquake/shimquake/fixtures/payload/mode"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Spec is a container's specification. The fake shim uses a part of it.
type Spec struct {
	specs.Spec
	bundle string
}

// Read reads the config.json of a bundle.
func Read(bundle string) (*Spec, error) {
	data, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, fmt.Errorf("read the bundle's specification: %w", err)
	}
	s := &Spec{Spec: specs.Spec{Process: &specs.Process{}, Root: &specs.Root{}}, bundle: bundle}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(bundle, "config.json"), err)
	}
	return s, nil
}

// groups are the annotations by which several containers share one of containerd's runc
// shims.
var groups = []string{"io.containerd.runc.v2.group", "io.kubernetes.cri.sandbox-id"}

// Group returns the id of the container whose shim serves this one. It is id itself
// unless an annotation sets another one.
func (s *Spec) Group(id string) string {
	for _, key := range groups {
		if group, ok := s.Annotations[key]; ok {
			return group
		}
	}
	return id
}

// Words returns the words of the environment and then of the bundle's annotation.
func (s *Spec) Words() string {
	return behaviour.Join(os.Getenv(behaviour.Env), s.Annotations[behaviour.Annotation])
}

// Behaviour returns the behaviour of Words.
func (s *Spec) Behaviour() (behaviour.Behaviour, error) {
	b, err := behaviour.Parse(s.Words())
	if err != nil {
		return b, fmt.Errorf("$%s or annotation %s: %w", behaviour.Env, behaviour.Annotation, err)
	}
	return b, nil
}

// Mode returns the mode of a process, with the paths of the container turned into paths
// of this machine. The program's own name is ignored; a program "pause" without words is
// a pause container.
func (s *Spec) Mode(p *specs.Process) (mode.Mode, error) {
	if len(p.Args) == 0 {
		return mode.Mode{}, errors.New("the process has no args")
	}
	words := p.Args[1:]
	if len(words) == 0 && filepath.Base(p.Args[0]) == "pause" {
		words = []string{"pause"}
	}
	m, err := mode.Parse(words)
	if err != nil {
		return m, fmt.Errorf("a fake shim runs a payload's words, not %q: %w", p.Args, err)
	}
	if m.Path != "" {
		m.Path = s.Path(m.Path)
	}
	if m.Trigger != "" {
		m.Trigger = s.Path(m.Trigger)
	}
	return m, nil
}

// Truth returns the path on this machine of the truth file in the process's environment,
// or "".
func (s *Spec) Truth(p *specs.Process) string {
	for _, entry := range p.Env {
		if path, ok := strings.CutPrefix(entry, mode.TruthEnv+"="); ok && path != "" {
			return s.Path(path)
		}
	}
	return ""
}

// Path turns an absolute path in the container into a path of this machine. The result is
// beneath the source of the closest bind mount. If there is none, it is beneath the root
// filesystem, which the fake shim does not mount.
func (s *Spec) Path(inside string) string {
	inside = filepath.Clean("/" + inside)
	best, found := "", false
	path := filepath.Join(s.root(), inside)
	for _, m := range s.Mounts {
		at := filepath.Clean("/" + m.Destination)
		rest, below := strings.CutPrefix(inside, strings.TrimSuffix(at, "/"))
		if !isBind(m) || !below || rest != "" && rest[0] != '/' || found && len(at) < len(best) {
			continue
		}
		best, found = at, true
		path = filepath.Join(m.Source, rest)
	}
	return path
}

func isBind(m specs.Mount) bool {
	return m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind")
}

func (s *Spec) root() string {
	if filepath.IsAbs(s.Root.Path) {
		return s.Root.Path
	}
	return filepath.Join(s.bundle, s.Root.Path)
}
