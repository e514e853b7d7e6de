package sweep

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle"
)

// Trait is what a finding has in common with those of other cases: what was left and why, without the ids, pids, paths and times that are of one
// case only. It is comparable.
type Trait struct {
	Invariant oracle.Invariant `json:"invariant"`
	Class     oracle.Class     `json:"class"`
	// What is the kind of thing; empty where the class says it.
	What string `json:"what,omitempty"`
	// Why is the reason, in the oracle's words.
	Why string `json:"why"`
}

func (t Trait) String() string {
	s := string(t.Invariant) + " " + string(t.Class)
	if t.What != "" {
		s += " (" + t.What + ")"
	}
	return s + ": " + t.Why
}

// traitOf takes from a finding what is of one case only.
func traitOf(f oracle.Finding) Trait {
	t := Trait{Invariant: f.Invariant, Class: f.Class, Why: plain(f.Reason)}
	switch f.Invariant {
	case oracle.Exit:
		t.What, t.Why = "by "+f.Details["observer"], f.Details["lie"] // its words say which codes, and who saw the true one
	case oracle.Event:
		t.What = plain(f.What)
		if f.Details["missing"] != "" {
			t.Why = "never arrived" // its words say when the client knew
		}
	case oracle.Liveness:
		t.What = f.What
	case oracle.Leak, oracle.Forgot:
		t.What = kindOf(f)
	}
	return t
}

// kindOf is the kind of thing that was left, where its class does not say it.
func kindOf(f oracle.Finding) string {
	first, _, _ := strings.Cut(f.What, " ")
	switch f.Class {
	case oracle.ClassBundle:
		if first == "work" {
			return "work directory"
		}
	case oracle.ClassMount:
		return first // its type
	case oracle.ClassProcess:
		argv := strings.Fields(f.Details["argv"])
		if len(argv) > 0 {
			return path.Base(argv[0])
		}
	}
	return ""
}

// variables are the parts of a text that are of one case only, and what stands for them.
var variables = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"}, // UUIDs
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "ID"},                                            // CRI's ids and hashed sockets
	{regexp.MustCompile(`\bchildren( \d+)+`), "children"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(h|m|s|ms|us|µs|ns)\b`), "TIME"},
	{regexp.MustCompile(`/var/lib/shimquake/worlds/[^/ "]+`), "WORLD"},
	{regexp.MustCompile(`\b[cb]\d+\b`), "ID"}, // the task client's ids
	{regexp.MustCompile(`\b(default|k8s\.io|moby|shimquake)/`), ""},
	{regexp.MustCompile(`\d+`), "N"},
}

// longest is how many bytes of a reason are compared: errors of clients can be long, and differ at their ends.
const longest = 240

func plain(text string) string {
	for _, v := range variables {
		text = v.pattern.ReplaceAllString(text, v.as)
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}

// companions come with something that is left: they are told with it and make no finding of their own.
var companions = map[oracle.Class][]oracle.Class{
	oracle.ClassShim: {oracle.ClassSocket, oracle.ClassBundle, oracle.ClassCgroup, oracle.ClassFIFO, oracle.ClassProcess, oracle.ClassMount,
		oracle.ClassRuncState, oracle.ClassTask, oracle.ClassContainer, oracle.ClassSnapshot, oracle.ClassCRIDir, oracle.ClassSandbox},
	oracle.ClassProcess:   {oracle.ClassCgroup, oracle.ClassBundle, oracle.ClassMount, oracle.ClassRuncState},
	oracle.ClassContainer: {oracle.ClassSnapshot},
	oracle.ClassSandbox:   {oracle.ClassSnapshot, oracle.ClassCRIDir},
	oracle.ClassBundle:    {oracle.ClassMount},
}

// traits are those of a case's findings: what names the finding, the gravest first, and what comes with that. The second use of an id that fails
// where something is left comes with it.
//
// shared says that containers share a shim, as those of a pod do; else only what is of the same id comes with it.
func traits(found []oracle.Finding, shared bool) (main, with []Trait) {
	var all []Trait
	for _, f := range found {
		if t := traitOf(f); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, byGravity)
	left := slices.ContainsFunc(all, func(t Trait) bool { return t.Invariant == oracle.Leak || t.Invariant == oracle.Forgot })
	for _, t := range all {
		comes := t.Invariant == oracle.Liveness && left && t.What == "using the id again"
		for _, o := range all {
			// What the client could not do, and what containerd has forgotten, are findings by themselves.
			if o.Invariant == oracle.Leak && t.Invariant == oracle.Leak && t.Class != o.Class && slices.Contains(companions[o.Class], t.Class) &&
				(shared || sameThing(found, o, t)) {
				comes = true
			}
		}
		if comes {
			with = append(with, t)
		} else {
			main = append(main, t)
		}
	}
	return main, with
}

// sameThing says whether all findings of the trait t are of ids of which there is one of the trait o, or of no id at all.
func sameThing(found []oracle.Finding, o, t Trait) bool {
	ids := map[string]bool{"": true}
	for _, f := range found {
		if traitOf(f) == o {
			ids[f.ID] = true
		}
	}
	return !slices.ContainsFunc(found, func(f oracle.Finding) bool { return traitOf(f) == t && !ids[f.ID] })
}

// families puts the traits of a case that have one cause together: what was left, whose exit codes were lies of one kind, which events were wrong
// alike. Each family is a finding of its own: a case may show several.
func families(main []Trait) [][]Trait {
	var out [][]Trait
	for _, t := range main {
		i := slices.IndexFunc(out, func(f []Trait) bool { return related(f[0], t) })
		if i < 0 {
			out = append(out, []Trait{t})
		} else {
			out[i] = append(out[i], t)
		}
	}
	return out
}

// related says whether two traits of one case belong to one finding. CRI keeps its own record of exits, so its lies have causes of their own.
func related(a, b Trait) bool {
	if a.Invariant != b.Invariant {
		return false
	}
	cri := func(t Trait) bool { return t.What == "by "+string(oracle.ByCRIStatus) }
	switch a.Invariant {
	case oracle.Leak:
		return true
	case oracle.Exit:
		return a.Why == b.Why && cri(a) == cri(b)
	case oracle.Event:
		return a.Why == b.Why
	}
	return a.What == b.What
}

// byGravity orders traits: by class as the oracle has them, then by their words.
func byGravity(a, b Trait) int {
	return cmp.Or(
		cmp.Compare(slices.Index(oracle.Classes, a.Class), slices.Index(oracle.Classes, b.Class)),
		strings.Compare(string(a.Invariant), string(b.Invariant)), strings.Compare(a.What, b.What), strings.Compare(a.Why, b.Why),
	)
}
