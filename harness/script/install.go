package script

import (
	"regexp"
	"strings"
)

// containerds matches the name of a containerd in a step: a release, bin:DIR or src:DIR.
var containerds = regexp.MustCompile(`^(v?\d+\.\d+\.\d+(-[\w.]+)?(\+\S+)?|(bin|src):\S+)$`)

// elsewhere is the word of an `install` step that sets Installation.Elsewhere.
const elsewhere = "elsewhere"

// Installation says which containerd an `install` step installs. Running processes keep
// their old programs.
type Installation struct {
	// Containerd is a release, bin:DIR or src:DIR.
	Containerd string
	// Elsewhere installs the programs in another folder and removes the old ones, as an
	// upgrade of k3s does. Otherwise the new programs replace the old ones, as an upgrade of
	// a package does.
	Elsewhere bool
}

// InstallationOf parses the argument of an `install` step.
func InstallationOf(arg string) Installation {
	name, where, _ := strings.Cut(arg, " ")
	return Installation{Containerd: name, Elsewhere: where == elsewhere}
}

// Installed returns the containerds that the steps of a script install, in the order of
// the steps.
func (s Script) Installed() (all []string) {
	for _, step := range s {
		if step.Verb == Install {
			all = append(all, InstallationOf(step.Arg).Containerd)
		}
	}
	return all
}
