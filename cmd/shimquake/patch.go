package main

import (
	"path/filepath"

	"github.com/spf13/pflag"
)

// patches are the values of the option --patch, as the end of a containerd's name:
// "+/root/a.patch+/root/b.patch".
type patches string

func (p *patches) String() string { return string(*p) }

func (p *patches) Type() string { return "file" }

func (p *patches) Set(file string) error {
	name, err := filepath.Abs(file)
	*p += patches("+" + name)
	return err
}

func (p *patches) register(fl *pflag.FlagSet) {
	fl.Var(p, "patch",
		"apply the patch in this file to the source of containerd (repeatable); "+
			"a containerd's name may have it, too: v2.4.2+FILE")
}

// on adds the patches to the name of a containerd.
func (p *patches) on(name *string) { *name += string(*p) }
