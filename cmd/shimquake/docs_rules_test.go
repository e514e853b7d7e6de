package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
)

// programs are those that pages have people type, each with what must be true of its
// words. Of those without a check it is only the files that they name.
var programs = map[string]func(words []string) error{
	"shimquake": checkShimquake, "bin/shimquake": checkShimquake, "/path/to/bin/shimquake": checkShimquake,
	"/tmp/sq": checkShimquake,
	"make":    checkMake, "vagrant": checkVagrant,
	"go": nil, "git": nil, "cd": nil, "kubectl": nil, "echo": nil, "zcat": nil, "cat": nil, "sh": nil, "journalctl": nil,
}

// checkTyped says what is wrong with a command of a page.
func checkTyped(c command) error {
	name := c.words[0]
	if strings.HasPrefix(name, "scripts/") {
		return checkFiles(c.words)
	}
	check, ok := programs[name]
	if !ok {
		return fmt.Errorf("no rule covers the program %q: give it one in docs_rules_test.go", name)
	}
	err := checkFiles(c.words[1:])
	if check != nil {
		err = errors.Join(err, check(c.words[1:]))
	}
	return err
}

// checkShimquake holds the words against the command line's own tree, and the names
// against what there is.
func checkShimquake(words []string) error {
	c, rest, err := root().Find(words)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		return err
	}
	args := c.Flags().Args()
	if help, _ := c.Flags().GetBool("help"); help {
		return nil
	}
	if here, _ := c.Flags().GetBool("here"); here || c.Args == nil {
		return checkNames(c, args)
	}
	return errors.Join(c.ValidateArgs(args), checkNames(c, args))
}

// checkNames looks for the cases, bugs and releases that a command names.
func checkNames(c *cobra.Command, args []string) (err error) {
	for _, a := range args {
		if c.Name() == "build" {
			err = errors.Join(err, checkRelease(a))
		}
		if !isName(a) {
			continue
		}
		switch c.Name() {
		case "run", "bisect":
			_, nerr := catalogue.Find(a)
			err = errors.Join(err, nerr)
		case "show", "matrix", "repro":
			_, nerr := catalogue.FindBug(a)
			err = errors.Join(err, nerr)
		case "list":
			err = errors.Join(err, cobra.OnlyValidArgs(c, args))
		}
	}
	for _, name := range []string{"containerd", "good", "bad"} {
		if f := c.Flags().Lookup(name); f != nil {
			err = errors.Join(err, checkRelease(f.Value.String()))
		}
	}
	if releases, _ := c.Flags().GetStringSlice("releases"); c.Flags().Changed("releases") {
		for _, r := range releases {
			err = errors.Join(err, checkRelease(r))
		}
	}
	return errors.Join(err, checkSweep(c))
}

// checkSweep checks what a sweep is to plan.
func checkSweep(c *cobra.Command) error {
	if c.Flags().Lookup("workload") == nil {
		return nil
	}
	list := func(name string) []string {
		l, _ := c.Flags().GetStringSlice(name)
		return l
	}
	hits, _ := c.Flags().GetString("hits")
	o := plan.Options{Who: list("who"), Actions: list("actions"), Paths: list("path"), Workloads: list("workload"), Hits: hits}
	if shard, _ := c.Flags().GetString("shard"); shard != "" {
		if _, err := plan.ParseShard(shard); err != nil {
			return err
		}
	}
	return o.Check()
}

// isName says that a word is the name of something that is there: no file, and no
// placeholder, which is in capitals.
func isName(word string) bool {
	return !strings.ContainsAny(word, "./|…") && word != "-" && strings.ToUpper(word) != word || numbered.MatchString(word)
}

var (
	numbered = regexp.MustCompile(`^[0-9]+$`)
	release  = regexp.MustCompile(`^v[0-9]`)
)

// checkRelease says which release is unknown here. Others may be there, but a page names
// those that its readers can have without a network.
func checkRelease(name string) error {
	if !release.MatchString(name) || slices.Contains(containerd.Releases(), name) {
		return nil
	}
	for _, b := range catalogue.Bugs() {
		for _, of := range b.Releases {
			if slices.Contains([]string{of.Bad, of.Fixed, of.Since, of.Held}, name) {
				return nil
			}
		}
	}
	return fmt.Errorf("release %s is neither tested nor in the catalogue", name)
}

// checkMake looks for targets and variables in the Makefile.
func checkMake(words []string) error {
	text, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	if err != nil {
		return err
	}
	for _, w := range words {
		name, _, sets := strings.Cut(w, "=")
		known := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`)
		if sets { // some are of the script that a target runs; its help has them
			known = regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		}
		if !known.Match(text) {
			err = errors.Join(err, fmt.Errorf("the Makefile has no %s", name))
		}
	}
	return err
}

func checkVagrant(words []string) error {
	if len(words) < 2 || words[0] != "up" && words[0] != "ssh" || words[1] != "v1" && words[1] != "v2" {
		return fmt.Errorf("vagrant %s: the Vagrantfile has v1 and v2", strings.Join(words, " "))
	}
	return nil
}

// capitals are placeholders within a path: any name may stand there.
var capitals = regexp.MustCompile(`\b[A-Z][A-Z0-9]+\b|\*+|\{[^}]*\}`)

// checkFiles looks for files of the checkout that words name.
func checkFiles(words []string) (err error) {
	for _, w := range words {
		here := strings.HasPrefix(w, "./")
		w = strings.TrimSuffix(strings.TrimPrefix(w, "./"), "/...")
		if top, _, ok := strings.Cut(w, "/"); ok && ofCheckout(top) || here {
			err = errors.Join(err, checkFile(w))
		}
	}
	return err
}

// ofCheckout says whether a name is that of a folder of the checkout. out and bin are
// made.
func ofCheckout(name string) bool {
	info, err := os.Stat(filepath.Join(checkout, name))
	return err == nil && info.IsDir() && name != "" && name != "out" && name != "bin" && name != ".."
}

// checkFile looks for a file of the checkout.
func checkFile(name string) error {
	pattern := capitals.ReplaceAllString(strings.TrimSuffix(name, "/"), "*")
	found, err := filepath.Glob(filepath.Join(checkout, pattern))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s", name)
	}
	return err
}

// mustRun says whether scripts must run a command: what ends within seconds, and needs
// neither a network nor a release that a first run would have to build.
func mustRun(words []string) bool {
	c, rest, err := root().Find(words)
	if err != nil || c.ParseFlags(rest) != nil {
		return false // checkTyped says why
	}
	set := c.Flags().Changed
	switch c.CommandPath() {
	case "shimquake run":
		of, _ := c.Flags().GetString("containerd")
		return !set("count") && slices.Contains([]string{"", containerd.DefaultRelease, quickRelease}, of)
	case "shimquake repro":
		return set("read-only")
	case "shimquake sweep":
		return set("plan-only") && !set("containerd")
	case "shimquake audit":
		return !set("watch")
	case "shimquake list", "shimquake show", "shimquake judge", "shimquake report", "shimquake bundle",
		"shimquake check", "shimquake sweep report", "shimquake sweep compare", "shimquake sweep merge", "shimquake":
		return true
	}
	return false
}

// quickRelease is what tests run besides the newest release: QUICK_RELEASE of
// scripts/env.
const quickRelease = "v2.3.7"

// checkBlock says what is wrong with a block, by its language.
func checkBlock(b snippet) (commands []command, err error) {
	switch b.lang {
	case "sh":
		commands, err = commandsOf(b)
	case "console":
		typed, _ := console(b)
		if len(typed) == 0 {
			return nil, errors.New("a console block needs a line that begins with $")
		}
		for _, s := range typed {
			some, perr := commandsOf(s)
			commands, err = append(commands, some...), errors.Join(err, perr)
		}
	case "yaml":
		err = checkCase(b)
	case "text":
		if typed.MatchString(b.text) {
			err = errors.New("commands belong in a sh or a console block")
		}
	default:
		err = fmt.Errorf("no rule covers a block of %q: sh, console, yaml and text have one", b.lang)
	}
	return commands, err
}

// typed are lines that a reader would type.
var typed = regexp.MustCompile(`(?m)^\s*(\$|sudo|make|go|git|bin/shimquake|shimquake) `)

// checkCase reads a case, or a plan.
func checkCase(b snippet) error {
	code := b.text
	if !strings.HasPrefix(code, "name:") {
		code = "name: a-plan\n" + code
	}
	_, err := harness.ParseCase("case.yaml", []byte(code))
	return err
}
