package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of go test -json (go doc test2json); build-output and build-fail
// events name no test.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// eachEvent calls f with every event of r. A line that is not JSON becomes an output
// event, since a tool that go test runs may print one.
func eachEvent(r io.Reader, f func(event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "output", Output: line}
			}
			f(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

type testKey struct{ pkg, test string }

// readEvents makes a row for every test without subtests: a row of a table test counts,
// the table does not. It also makes one for every parent that failed by itself, and for
// every package that failed without a failed test. Such a package did not build,
// panicked, or timed out.
func readEvents(r io.Reader) ([]row, error) {
	var (
		ends   []event
		parent = map[testKey]bool{} // has subtests
		blamed = map[testKey]bool{} // a failed child has a row
		said   = map[testKey]string{}
	)
	err := eachEvent(r, func(e event) {
		key := testKey{e.Package, e.Test}
		switch e.Action {
		case "run":
			if i := strings.LastIndex(e.Test, "/"); i >= 0 {
				parent[testKey{e.Package, e.Test[:i]}] = true
			}
		case "output":
			if line := strings.TrimSpace(e.Output); line != "" && said[key] == "" && !isMarker(line) {
				said[key] = line
			}
		case "pass", "fail", "skip":
			ends = append(ends, e)
		}
	})
	var rows []row
	for _, e := range ends { // a subtest ends before its parent, and a test before its package
		key := testKey{e.Package, e.Test}
		r := row{suite: e.Package, name: e.Test, verdict: passed, seconds: e.Elapsed}
		switch {
		case e.Action == "fail":
			blame(blamed, key)
			if blamed[key] {
				continue
			}
			r.verdict, r.reason = failed, cmp.Or(said[key], "see the output above")
			if e.Test == "" {
				r.name = "the package builds and runs"
			}
		case e.Test == "" || parent[key]:
			continue
		case e.Action == "skip":
			r.verdict, r.reason = skipped, said[key]
		}
		rows = append(rows, r)
	}
	return rows, err
}

// blame marks the parents of key as explained: they failed because of key.
func blame(blamed map[testKey]bool, key testKey) {
	if key.test == "" {
		return
	}
	blamed[testKey{key.pkg, ""}] = true
	for i := strings.LastIndex(key.test, "/"); i >= 0; i = strings.LastIndex(key.test[:i], "/") {
		blamed[testKey{key.pkg, key.test[:i]}] = true
	}
}

// isMarker reports whether go test itself has written the line.
func isMarker(line string) bool {
	for _, prefix := range []string{"=== ", "--- ", "FAIL\t", "FAIL", "ok  \t", "PASS", "exit status "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// stream shows go test as without -json and without -v: the output of failed tests, and a
// line for each package. If verbose is set, it shows all output at once.
func stream(r io.Reader, verbose bool, out io.Writer) error {
	held := map[testKey][]string{}
	return eachEvent(r, func(e event) {
		key := testKey{e.Package, e.Test}
		switch e.Action {
		case "output":
			if verbose {
				put(out, "%s", e.Output)
				return
			}
			if e.Test == "" {
				if e.Output != "PASS\n" && !strings.HasSuffix(e.Output, "[no test files]\n") {
					put(out, "%s", e.Output)
				}
				return
			}
			held[key] = append(held[key], e.Output)
		case "build-output":
			put(out, "%s", e.Output)
		case "fail":
			put(out, "%s", strings.Join(held[key], ""))
			delete(held, key)
		case "pass", "skip":
			delete(held, key)
		}
	})
}
