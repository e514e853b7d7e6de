package filing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
)

// versions returns the release of the recorded run, how it was built, and which other
// releases are affected.
func versions(f Filing, r Recorded) string {
	return "containerd " + r.Release + ", built with `go build` from the Go module of the tag, so " +
		"`containerd --version` shows no commit. For the recorded run the functions of containerd and of the shim were " +
		"instrumented with trace points.\n\n" + affectedReleases(f.Bug.Releases)
}

// affectedReleases lists the releases with the bug, those without it, and untested ones.
func affectedReleases(releases affected.Releases) string {
	var bad, free, untested []string
	for _, name := range branches() {
		b, named := releases[name]
		state := releases.StateOf("v" + name + ".0")
		switch {
		case b.Has():
			bad = append(bad, span(b))
		case named && b.Unknown == "":
			free = append(free, cmp.Or(b.Held, name+" (by its source)"))
		case !named && state == affected.Bad:
			bad = append(bad, name)
		case !named && state == affected.Free:
			free = append(free, name)
		default:
			untested = append(untested, name)
		}
	}
	var parts []string
	for _, list := range []struct {
		head     string
		releases []string
	}{{"Affected", bad}, {"Not affected", free}, {"Not tested", untested}} {
		if len(list.releases) > 0 {
			parts = append(parts, list.head+": "+strings.Join(list.releases, ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}

// span returns the releases of a branch that are known to have a bug.
func span(b affected.Branch) string {
	text := b.Last()
	if first := cmp.Or(b.Since, b.Seen); first != "" && first != text {
		text = first + " to " + text
	}
	if b.Fixed != "" {
		text += " (fixed in " + b.Fixed + ")"
	}
	return text
}

// branches returns the branches of containerd that the catalogue knows, from
// affected.Oldest on, the oldest first.
func branches() []string {
	all := affected.Releases{}
	for _, b := range catalogue.Bugs() {
		for name := range b.Releases {
			all[name] = affected.Branch{}
		}
	}
	names := all.Branches()
	return names[max(0, slices.Index(names, affected.Oldest)):]
}
