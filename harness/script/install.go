package script

import (
	"regexp"
	"strings"
)

// containerds are the forms in which a step can name a containerd.
var containerds = regexp.MustCompile(`^(v?\d+\.\d+\.\d+(-[\w.]+)?|(bin|src):\S+)$`)

// elsewhere is where the programs are installed, if not in the place of the old ones.
const elsewhere = "elsewhere"

// Installation is the containerd of an `install` step. Running processes are not touched.
type Installation struct {
	// Containerd is a release, bin:DIR or src:DIR.
	Containerd string
	// Elsewhere has its programs be in another folder, and the old ones be gone, as after
	// an upgrade of k3s. Else they take the place of the old ones, as packages do it.
	Elsewhere bool
}

// InstallationOf reads the argument of an `install` step.
func InstallationOf(arg string) Installation {
	name, where, _ := strings.Cut(arg, " ")
	return Installation{Containerd: name, Elsewhere: where == elsewhere}
}

// Installed are the containerds that the steps of a script install, in their order.
func (s Script) Installed() (all []string) {
	for _, step := range s {
		if step.Verb == Install {
			all = append(all, InstallationOf(step.Arg).Containerd)
		}
	}
	return all
}
