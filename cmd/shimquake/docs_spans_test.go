package main

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// goFile is a Go file that a sentence names, with or without its folder.
var goFile = regexp.MustCompile(`^[\w/.*-]+\.go$`)

// checkSpan checks code in a sentence: a command, or a file of the checkout.
func checkSpan(s snippet, names map[string][]string) error {
	words := withoutSudo(strings.Fields(s.text))
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "shimquake", "bin/shimquake", "make":
		if c, rest, err := root().Find(words[1:]); len(words) == 1 || err == nil && len(rest) == 0 && c.HasParent() {
			return nil // a sentence may name a command without what it takes
		}
		commands, err := commandsOf(s)
		for i := 0; i < len(commands) && err == nil; i++ {
			err = checkTyped(commands[i])
		}
		return err
	}
	if len(words) == 1 && goFile.MatchString(words[0]) && !strings.Contains(words[0], "*") {
		for _, file := range names[path.Base(words[0])] {
			if strings.HasSuffix("/"+file, "/"+capitals.ReplaceAllString(words[0], "*")) || capitals.MatchString(words[0]) {
				return nil
			}
		}
		if capitals.MatchString(words[0]) {
			return nil // a name that is yet to be chosen
		}
		return fmt.Errorf("there is no %s", words[0])
	}
	return checkFiles(words)
}

// namesOfFiles are the files of the checkout by their last names.
func namesOfFiles(t *testing.T) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	must.Succeed(t, filepath.WalkDir(checkout, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "out" || d.Name() == ".git") {
			return fs.SkipDir
		}
		names[d.Name()] = append(names[d.Name()], strings.TrimPrefix(file, checkout+"/"))
		return err
	}))
	return names
}
