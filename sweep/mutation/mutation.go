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

// Release is the containerd whose source the mutations are edits of.
const Release = "v2.4.2"

// Mutation is a small edit of containerd's source that breaks it: data, a file each in
// mutations/.
type Mutation struct {
	ID string `yaml:"id"`
	// About says in a sentence what the broken containerd does.
	About string `yaml:"about"`
	// Harm is the kind of harm that the broken containerd does, one of Harms.
	Harm string `yaml:"harm"`
	// Suffers is one sentence of at most 25 words that says who is harmed in production, and
	// how.
	Suffers string `yaml:"suffers"`
	// Resembles names the upstream issues, or the state before a fix, that it is like.
	Resembles string `yaml:"resembles"`
	Edits     []Edit `yaml:"edits"`
	// Plain is what the cases without a fault that its sweep begins with say of it: Held, or
	// Broken where no fault is needed to see it.
	Plain string `yaml:"plain"`
	// Masked is, where nothing can be found, why: something else of containerd repairs what
	// the mutation breaks, so that nothing is left and no wrong exit status is reported.
	// These are negative controls: a sweep that finds one is wrong. Empty for all others.
	Masked string `yaml:"masked,omitempty"`
	// Sweep is the part of the sweep that must find it, or in which there is nothing to
	// find.
	Sweep Scope `yaml:"sweep"`
}

// Harms are the kinds of finding that Shimquake looks for. A mutation that does none of
// them is the business of containerd's own tests.
var Harms = []string{
	"leak",      // something outlives the container or the sandbox that it was made for
	"exit",      // an exit is wrong, missing, doubled or late, for any client
	"lifecycle", // a call hangs, is refused or accepted wrongly, or harms another container
	"io",        // output or input is lost around an exit, an exec or a restart
	"recovery",  // a restart, reboot, upgrade or downgrade of containerd harms what runs
}

// mostWords is how many words a sentence has at most.
const mostWords = 25

// What cases without a fault say of a mutation.
const (
	Held   = "held"
	Broken = "broken" // violated, or invalid because the workload fails by itself
	Raced  = "raced"  // the one or the other: a race decides
)

// Edit replaces a text that stands once in a file by another.
type Edit struct {
	File string `yaml:"file"` // relative to the module's folder
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// Scope is a part of the sweep, wide enough that it is not aimed at the edit: whole
// paths, and all points on them, or those whose names match Points where the others find
// in the untouched source what no default sweep comes to.
type Scope struct {
	Workloads []string `yaml:"workloads"`
	Who       []string `yaml:"who"`
	Paths     []string `yaml:"paths"`
	Actions   []string `yaml:"actions"`
	Points    string   `yaml:"points,omitempty"`
}

// ErrEdit is an edit whose text does not stand exactly once in its file: the mutation
// belongs to another release.
var ErrEdit = errors.New("the mutation does not fit the source")

//go:embed mutations/*.yaml
var files embed.FS

// Mutations are all of them, by id. A bad file is found by the tests.
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

// parse reads and checks one file.
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
// other end of a sentence in it.
func isSentence(text string) bool {
	return strings.HasSuffix(text, ".") && !strings.Contains(text, ". ") && strings.Contains(text, " ")
}

// Apply makes the edits in the copy of the module that stands in dir.
func (m Mutation) Apply(dir string) error {
	texts, err := m.Texts(dir)
	for file, text := range texts {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return err
}

// Texts are the files that the edits change, as they are after it: by their names within
// the module that stands in dir, which is only read.
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

// Packages are the folders of the Go packages that the edits change.
func (m Mutation) Packages() []string {
	var dirs []string
	for _, e := range m.Edits {
		dirs = append(dirs, "./"+path.Dir(e.File))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
