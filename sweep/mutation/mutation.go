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

// Release is the containerd release whose source the mutations edit.
const Release = "v2.4.2"

// Mutation is a small edit of containerd's source that breaks it, from a file in
// mutations/.
type Mutation struct {
	ID string `yaml:"id"`
	// About is a sentence about the broken containerd.
	About string `yaml:"about"`
	// Harm is the kind of harm, one of Harms.
	Harm string `yaml:"harm"`
	// Suffers is one sentence of at most 25 words that says what goes wrong in
	// production.
	Suffers string `yaml:"suffers"`
	// Resembles names similar upstream issues, or the fix that the mutation reverts.
	Resembles string `yaml:"resembles"`
	Edits     []Edit `yaml:"edits"`
	// Plain is the expected outcome of the sweep's first cases, which have no fault. It
	// is Held, Broken if the bug shows without a fault, or Raced.
	Plain string `yaml:"plain"`
	// Masked is the reason why a sweep must not find the mutation. Another part of
	// containerd repairs the damage, so nothing leaks and no exit status is wrong. Such
	// mutations are negative controls. Masked is empty for all others.
	Masked string `yaml:"masked,omitempty"`
	// Sweep is the part of the sweep that must find the mutation, or nothing if Masked is
	// set.
	Sweep Scope `yaml:"sweep"`
}

// Harms are the kinds of harm that Shimquake looks for. Other bugs are left to
// containerd's own tests.
var Harms = []string{
	"leak",      // a resource outlives its container or sandbox.
	"exit",      // an exit is wrong, missing, doubled or late, for any client.
	"lifecycle", // a call hangs, is refused or accepted wrongly, or harms another container.
	"io",        // output or input is lost around an exit, an exec or a restart.
	"recovery",  // a restart, reboot, upgrade or downgrade harms running containers
}

// maxWords is the largest number of words of a sentence.
const maxWords = 25

// The outcomes of cases without a fault.
const (
	Held   = "held"
	Broken = "broken" // violated, or invalid because the workload fails by itself
	Raced  = "raced"  // either of the two, by chance
)

// Edit replaces a text that occurs once in a file.
type Edit struct {
	File string `yaml:"file"` // relative to the module's folder
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// Scope is a part of the sweep. It is not aimed at the edit, because it has whole paths
// with all of their points. Points restricts it to points with matching names. That is
// for scopes whose other points show bugs of the unmodified source that no default sweep
// finds.
type Scope struct {
	Workloads []string `yaml:"workloads"`
	Who       []string `yaml:"who"`
	Paths     []string `yaml:"paths"`
	Actions   []string `yaml:"actions"`
	Points    string   `yaml:"points,omitempty"`
	// Hits selects the hits of each point, as the option --hits of the sweep does.
	// Default: the first hit.
	Hits string `yaml:"hits,omitempty"`
}

// ErrEdit reports an edit whose text does not occur exactly once in its file, because the
// mutation was written for another release.
var ErrEdit = errors.New("the mutation does not fit the source")

//go:embed mutations/*.yaml
var files embed.FS

// Mutations returns all mutations, ordered by id.
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
			err = fmt.Errorf("its id is %q: rename the file to this id", m.ID)
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
	if n := len(strings.Fields(m.Suffers)); n > maxWords || !isSentence(m.Suffers) {
		return m, fmt.Errorf("suffers has %d words: write one sentence of at most %d words that ends with a period: %q",
			n, maxWords, m.Suffers)
	}
	if !slices.Contains([]string{Held, Broken, Raced}, m.Plain) {
		return m, fmt.Errorf("plain is %q: write %s, %s or %s", m.Plain, Held, Broken, Raced)
	}
	for _, e := range m.Edits {
		if !filepath.IsLocal(e.File) || e.Old == "" || e.Old == e.New {
			return m, fmt.Errorf("edit of %q: it needs a file of the module (file), an old text, "+
				"and a different new text", e.File)
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

// isSentence reports whether a text is one sentence: it ends with a period, and no other
// sentence ends in it.
func isSentence(text string) bool {
	return strings.HasSuffix(text, ".") && !strings.Contains(text, ". ") && strings.Contains(text, " ")
}

// Apply makes the edits in the copy of the module's source in dir.
func (m Mutation) Apply(dir string) error {
	texts, err := m.Texts(dir)
	for file, text := range texts {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return err
}

// Texts returns the edited files by their names within the module. It reads the module's
// source in dir, and does not change it.
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
