package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/shimquake/shimquake/harness"
)

// programs are the programs in the commands of pages, each with a check of its words. A
// program without a check can only name existing files.
var programs = map[string]func(words []string) error{
	"shimquake": checkShimquake, "bin/shimquake": checkShimquake, "/path/to/bin/shimquake": checkShimquake,
	"/tmp/sq": checkShimquake,
	"make":    checkMake, "vagrant": checkVagrant,
	"go": nil, "git": nil, "cd": nil, "kubectl": nil, "echo": nil, "zcat": nil, "cat": nil, "sh": nil, "journalctl": nil,
	"jq":        nil, // TestRecipesOfThePages runs it
	"sha256sum": aRelease, "apt-get": aRelease, "dpkg": aRelease, "install": aRelease,
}

// aRelease checks a command that installs or removes a file of make dist (TestDist).
func aRelease(words []string) error {
	for _, w := range words {
		if strings.Contains(w, "shimquake") || w == "SHA256SUMS" {
			return nil
		}
	}
	return errors.New("it names no file of make dist")
}

// checkTyped returns the error in a command of a page.
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
	if name == "apt-get" { // a downloaded package, not a file of the checkout
		err = nil
	}
	if check != nil {
		err = errors.Join(err, check(c.words[1:]))
	}
	return err
}

// checkMake checks targets and variables against the Makefile.
func checkMake(words []string) error {
	text, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	if err != nil {
		return err
	}
	for _, w := range words {
		name, _, sets := strings.Cut(w, "=")
		known := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`)
		if sets { // the help of a target has the variables of its script
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

// capitals are placeholders in a path, for any name.
var capitals = regexp.MustCompile(`\b[A-Z][A-Z0-9]+\b|\*+|\{[^}]*\}`)

// checkFiles checks that the files that words name exist in the checkout.
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

// ofCheckout reports whether a name is a folder of the checkout, except out and bin.
func ofCheckout(name string) bool {
	info, err := os.Stat(filepath.Join(checkout, name))
	return err == nil && info.IsDir() && name != "" && name != "out" && name != "bin" && name != ".."
}

// checkFile checks that a file of the checkout exists.
func checkFile(name string) error {
	pattern := capitals.ReplaceAllString(strings.TrimSuffix(name, "/"), "*")
	found, err := filepath.Glob(filepath.Join(checkout, pattern))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s", name)
	}
	return err
}

// checkBlock returns the commands of a block, and its error by the rules of its language.
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
	case "diff":
		err = checkDiff(b.text)
	case "text":
		if typed.MatchString(b.text) {
			err = errors.New("commands belong in a sh or a console block")
		}
	default:
		err = fmt.Errorf("no rule covers a block of %q: sh, console, yaml, diff and text have one", b.lang)
	}
	return commands, err
}

// checkDiff reports lines of a change that its file does not have, in this order.
// "+++ FILE" begins the lines of a file, which begin with + or a space.
func checkDiff(text string) error {
	var name, rest string
	for line := range strings.Lines(text) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ "); ok {
			code, err := os.ReadFile(filepath.Join(checkout, file))
			if err != nil {
				return err
			}
			name, rest = file, oneSpace(string(code))
			continue
		}
		_, after, found := strings.Cut(rest, oneSpace(line[1:]))
		if name == "" || !found {
			return fmt.Errorf("%s does not have the line, or not in this order: %s", name, line)
		}
		rest = after
	}
	return nil
}

// oneSpace returns a text with one space between words, so that alignment does not
// matter.
func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

// typed matches lines that a reader would type.
var typed = regexp.MustCompile(`(?m)^\s*(\$|sudo|make|go|git|bin/shimquake|shimquake) `)

// checkCase parses a case or a plan.
func checkCase(b snippet) error {
	code := b.text
	if !strings.HasPrefix(code, "name:") {
		code = "name: a-plan\n" + code
	}
	_, err := harness.ParseCase("case.yaml", []byte(code))
	return err
}
