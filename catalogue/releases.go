package catalogue

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/oracle/affected"
)

// ReleasesText returns the releases with the bug, without it, and untested ones as text.
func ReleasesText(r affected.Releases) string {
	var has, not, unknown notes
	var held, tested, older []string
	branches := r.Branches()
	if len(branches) > 0 && branches[0] != affected.Oldest {
		unknown.add("before "+branches[0], untested)
	}
	for _, name := range branches {
		b := r[name]
		if b.Has() {
			has.add(span(name, b), "")
		}
		if b.Seen != "" {
			older = append(older, name)
		}
		if b.Unknown != "" {
			unknown.add(name, b.Unknown)
		}
		if b.Held != "" && b.Since == "" {
			held, tested = append(held, name), append(tested, b.Held)
		}
		not.addFree(name, b)
	}
	if len(held) > 0 {
		not.add(and(held), "tested: "+strings.Join(tested, ", "))
	}
	if len(older) > 0 {
		unknown.add("earlier releases of "+and(older), untested)
	}
	var lines []string
	for _, list := range []struct {
		head     string
		releases notes
	}{{"affected", has}, {"not affected", not}, {"unknown", unknown}} {
		if len(list.releases) > 0 {
			lines = append(lines, list.head+": "+list.releases.String())
		}
	}
	if r.Open() {
		lines = append(lines, "no release has a fix")
	}
	return strings.Join(lines, "\n")
}

// untested is the note of releases on which no case ran.
const untested = "not tested"

// span returns the range of releases of a branch that are known to have the bug.
func span(name string, b affected.Branch) string {
	first := cmp.Or(b.Since, b.Seen, "v"+name+".0")
	switch last := b.Last(); {
	case first == last:
		return first
	case semver.Compare(first, last) > 0: // the last one is a candidate of the first one
		return "up to " + last
	default:
		return first + " to " + last
	}
}

// notes has releases, each with a note or "".
type notes [][2]string

func (n *notes) add(release, note string) { *n = append(*n, [2]string{release, note}) }

// addFree adds the releases of a branch that do not have the bug, with the evidence. It
// skips a branch of which a release was tested.
func (n *notes) addFree(name string, b affected.Branch) {
	switch {
	case b.Since != "" && b.Held != "":
		n.add("v"+name+".0 to "+b.Held, "")
	case b.Since != "":
		n.add(name+" before "+b.Since, b.Absent)
	case b.Absent != "":
		n.add(name, b.Absent)
	}
	if b.Fixed != "" {
		n.add(name+" from "+b.Fixed, "")
	}
}

// String returns "A, B and C (NOTE); D": neighbours with the same note share it.
func (n notes) String() string {
	var parts []string
	for i := 0; i < len(n); {
		note, group := n[i][1], []string{}
		for ; i < len(n) && n[i][1] == note; i++ {
			group = append(group, n[i][0])
		}
		if note == "" {
			parts = append(parts, strings.Join(group, ", "))
		} else {
			parts = append(parts, and(group)+" ("+note+")")
		}
	}
	return strings.Join(parts, "; ")
}

// and returns "A, B and C".
func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
