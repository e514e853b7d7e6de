package plan

import (
	_ "embed" // the typed errors
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Words of --actions for typed errors. A caller may handle a typed error differently from
// any other error. For example, NotFound means success for a removal.
const (
	Code  = "code"  // a class of errors of errdefs and gRPC: error(NotFound)
	Errno = "errno" // an error of the operating system: error(ENOSPC)
)

// fails are the typed errors that a callee can return, and the evidence for them.
type fails struct {
	Who     string
	With    []string
	Because []string
}

//go:embed typed.yaml
var typedText []byte

// typedErrors has the errors of a shim's methods and of functions.
var typedErrors = func() (all struct{ Answers, Returns []fails }) {
	if err := yaml.UnmarshalWithOptions(typedText, &all, yaml.Strict()); err != nil {
		panic(fmt.Errorf("typed.yaml: %w", err))
	}
	return all
}()

// fails returns the entries for a hit: of a ttrpc method, or of a call.
func (p Hit) fails() []fails {
	list := typedErrors.Returns
	is := func(who string) bool { return p.Callee == who || strings.HasSuffix(p.Callee, "/"+who) }
	switch {
	case p.Moment == AtMethod && p.Point.Who == "containerd":
		list, is = typedErrors.Answers, func(who string) bool { return p.Point.What+":"+p.Point.Where == who }
	case p.Moment != term.AtCall:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(f fails) bool { return !is(f.Who) })
}

// typed returns the errors of the word [Code] or [Errno] that can happen at a hit.
func (p Hit) typed(word string) []string {
	var out []string
	for _, f := range p.fails() {
		for _, name := range f.With {
			if _, errno := (term.Clause{Arg: name}).Errno(); errno == (word == Errno) {
				out = append(out, "error("+name+")")
			}
		}
	}
	return out
}
