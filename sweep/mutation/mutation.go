package mutation

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/spelling"
)

// Release is the containerd whose source the mutations edit.
const Release = "v2.4.2"

// Mutation is a small edit of containerd's source that breaks it, from a file in
// mutations/.
type Mutation struct {
	ID string `yaml:"id"`
	// About is a sentence about the broken containerd.
	About string `yaml:"about"`
	// Harm is the kind of harm, one of Harms.
	Harm string `yaml:"harm"`
	// Suffers is one sentence of at most 25 words about the harm in production.
	Suffers string `yaml:"suffers"`
	// Resembles names the upstream issues, or the state before a fix, that it is like.
	Resembles string `yaml:"resembles"`
	Edits     []Edit `yaml:"edits"`
	// Plain is the expected outcome of the sweep's first cases, which have no fault:
	// Held, or Broken if the bug shows without a fault.
	Plain string `yaml:"plain"`
	// Masked is the reason why the mutation cannot be found: another part of containerd
	// repairs the damage. Then nothing is left, and no wrong exit status is reported.
	// These are negative controls: a sweep that finds one is wrong. Empty for all others.
	Masked string `yaml:"masked,omitempty"`
	// Sweep is the part of the sweep that must find it, or that must find nothing.
	Sweep Scope `yaml:"sweep"`
}

// Harms are the kinds of harm that Shimquake looks for. All other bugs belong to
// containerd's own tests.
var Harms = []string{
	"leak",      // a resource outlives its container or sandbox.
	"exit",      // an exit is wrong, missing, doubled or late, for any client.
	"lifecycle", // a call hangs, is refused or accepted wrongly, or harms another container.
	"io",        // output or input is lost around an exit, an exec or a restart.
	"recovery",  // a restart, reboot, upgrade or downgrade harms running containers
}

// mostWords is the largest number of words of a sentence.
const mostWords = 25

// The outcomes of cases without a fault.
const (
	Held   = "held"
	Broken = "broken" // violated, or invalid because the workload fails by itself
	Raced  = "raced"  // a race decides between the two
)

// Edit replaces a text that occurs once in a file.
type Edit struct {
	File string `yaml:"file"` // relative to the module's folder
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// Scope is a part of the sweep, wide enough that it is not aimed at the edit. It has
// whole paths with all of their points. With Points it has only the points with matching
// names, if the other points show bugs of the untouched source that no default sweep
// finds.
type Scope struct {
	Workloads []string `yaml:"workloads"`
	Who       []string `yaml:"who"`
	Paths     []string `yaml:"paths"`
	Actions   []string `yaml:"actions"`
	Points    string   `yaml:"points,omitempty"`
	// Hits are the hits of each point that are broken, as the option --hits of the sweep has
	// them. Default: the first one.
	Hits string `yaml:"hits,omitempty"`
}

// ErrEdit reports an edit whose text does not occur exactly once in its file: the
// mutation belongs to another release.
var ErrEdit = errors.New("the mutation does not fit the source")

//go:embed mutations/*.yaml
var files embed.FS

// Mutations returns all mutations, by id. The tests find an invalid file.
func Mutations() ([]Mutation, error) {
	names, err := fs.Glob(files, "mutations/*.yaml")
	if err != nil {
		return nil, err
	}
	all := make([]Mutation, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, err := parse(text)
		if err == nil && m.ID != strings.TrimSuffix(path.Base(name), ".yaml") {
			err = fmt.Errorf("its id is %q: name the file after it", m.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// parse parses and checks one file.
func parse(text []byte) (Mutation, error) {
	var m Mutation
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
		return m, err
	}
	if m.ID == "" || m.About == "" || m.Harm == "" || m.Suffers == "" || m.Resembles == "" || len(m.Edits) == 0 {
		return m, errors.New("a mutation needs id, about, harm, suffers, resembles and edits")
	}
	if !slices.Contains(Harms, m.Harm) {
		return m, spelling.Unknown("harm", m.Harm, Harms)
	}
	if n := len(strings.Fields(m.Suffers)); n > mostWords || !isSentence(m.Suffers) {
		return m, fmt.Errorf("suffers has %d words: write one sentence of at most %d words that ends with a period: %q",
			n, mostWords, m.Suffers)
	}
	if !slices.Contains([]string{Held, Broken, Raced}, m.Plain) {
		return m, fmt.Errorf("plain is %q: write %s, %s or %s", m.Plain, Held, Broken, Raced)
	}
	for _, e := range m.Edits {
		if !filepath.IsLocal(e.File) || e.Old == "" || e.Old == e.New {
			return m, fmt.Errorf("edit of %q: it needs a file of the module, and a text to replace by another", e.File)
		}
	}
	if s := m.Sweep; len(s.Workloads)*len(s.Who)*len(s.Paths)*len(s.Actions) == 0 {
		return m, errors.New("sweep needs workloads, who, paths and actions")
	}
	if _, err := regexp.Compile(m.Sweep.Points); err != nil {
		return m, fmt.Errorf("sweep's points: %w", err)
	}
	return m, nil
}

// isSentence reports whether a text is one sentence: it ends with a period, and has no
// other end of a sentence.
func isSentence(text string) bool {
	return strings.HasSuffix(text, ".") && !strings.Contains(text, ". ") && strings.Contains(text, " ")
}

// Apply makes the edits in the copy of the module in dir.
func (m Mutation) Apply(dir string) error {
	texts, err := m.Texts(dir)
	for file, text := range texts {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return err
}

// Texts returns the files after the edits, by their names within the module in dir, which
// is only read.
func (m Mutation) Texts(dir string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, again := texts[e.File]
		if !again {
			read, err := os.ReadFile(filepath.Join(dir, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutation %s: %w: %w", m.ID, ErrEdit, err)
			}
			text = string(read)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutation %s: %w: %s has %q %d times, not once", m.ID, ErrEdit, e.File, e.Old, n)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return texts, nil
}

// Packages returns the folders of the Go packages that the edits change.
func (m Mutation) Packages() []string {
	var dirs []string
	for _, e := range m.Edits {
		dirs = append(dirs, "./"+path.Dir(e.File))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
