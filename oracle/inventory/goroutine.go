package inventory

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// goroutines are the goroutines of a profile.
type goroutines struct {
	held []Held
	// nameless is the number of goroutines that have not begun, so that their function is
	// unknown.
	nameless int
}

// lookItself is the goroutine that containerd's HTTP server starts for each request, also
// for the request of this profile.
const lookItself = "net/http.(*connReader).backgroundRead"

// notBegun returns how many goroutines have not begun, without the one of the profile's
// own request.
func (g goroutines) notBegun() int {
	if slices.ContainsFunc(g.held, func(h Held) bool { return h.Root == lookItself }) {
		return g.nameless
	}
	return max(0, g.nameless-1)
}

// parseGoroutines parses a goroutine profile in its text form (runtime/pprof, debug=1).
// For each stack the profile has the number of goroutines, and the functions, the
// innermost first.
//
//	goroutine profile: total 34
//	2 @ 0x43ddee 0x40a6c5
//	# labels: {"key":"value"}
//	#	0x8a1	net/http.(*conn).serve+0x1f4	/usr/lib/go/src/net/http/server.go:1991
//
// The profile leaves out functions of package runtime at the inner end. So a goroutine
// that has not begun may have no function.
func parseGoroutines(r io.Reader) (g goroutines, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	const head = "goroutine profile: total "
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), head) {
		return g, fmt.Errorf("not a goroutine profile: the first line is %q", cut(lines.Text()))
	}
	total, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), head))
	if err != nil {
		return g, fmt.Errorf("goroutine profile: %w", err)
	}
	counts, stacks := map[Held]int{}, map[Held]string{}
	n, stack, sum := 0, []string(nil), 0
	end := func() {
		sum += n
		if len(stack) == 0 {
			g.nameless += n
		} else {
			h := goroutine(stack)
			counts[h] += n
			stacks[h] = stackText(stack)
		}
		n, stack = 0, nil
	}
	for lines.Scan() {
		line := lines.Text()
		if f, ok := frame(line); ok && n > 0 {
			stack = append(stack, f)
			continue
		}
		if number, _, ok := strings.Cut(line, " @"); ok && !strings.HasPrefix(line, "#") {
			end()
			if n, err = strconv.Atoi(number); err != nil || n < 1 {
				return g, fmt.Errorf("goroutine profile: no number of goroutines in the line %q", cut(line))
			}
		}
	}
	end()
	if err := lines.Err(); err != nil {
		return g, fmt.Errorf("goroutine profile: %w", err)
	}
	if sum != total {
		return g, fmt.Errorf("the goroutine profile is incomplete: its first line says %d goroutines, and it has %d",
			total, sum)
	}
	g.held = counted(counts)
	for i, h := range g.held {
		h.Count = 0
		g.held[i].Stack = stacks[h]
	}
	return g, nil
}

// cut returns the beginning of a line, for an error.
func cut(line string) string { return line[:min(len(line), 80)] }

// frame returns the function in a line of a stack: #, address, function+offset, file.
func frame(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#\t")
	if !ok {
		return "", false
	}
	_, name, ok := strings.Cut(rest, "\t")
	name, _, _ = strings.Cut(name, "+0x")
	return strings.TrimSpace(name), ok
}

// numbered matches the suffix of a function without a name, or of a wrapper. The compiler
// makes it, and it changes when the source changes.
var numbered = regexp.MustCompile(`(\.(func|gowrap|deferwrap)?[0-9]+|-fm|-range[0-9]+)+$`)

// The prefixes of containerd's functions, and of its generated functions.
const (
	containerdModule = "github.com/containerd/containerd/"
	generated        = containerdModule + "api/"
)

// short returns a function's name without the parts that change when the source changes.
func short(function string) string {
	name, containerds := strings.CutPrefix(numbered.ReplaceAllString(function, ""), containerdModule)
	if containerds {
		return strings.TrimPrefix(name, "v2/")
	}
	return name
}

// goroutine returns the Held under which a stack is counted.
func goroutine(stack []string) Held {
	root := short(stack[len(stack)-1])
	h := Held{Kind: fact.AGoroutine, Of: root, Root: root}
	own := slices.IndexFunc(stack, func(f string) bool {
		return strings.HasPrefix(f, containerdModule) && !strings.HasPrefix(f, generated)
	})
	if own >= 0 {
		h.Of = short(stack[own])
	}
	return h
}

// stackText returns the functions of a stack in one line, for a person.
func stackText(stack []string) string {
	names := make([]string, len(stack))
	for i, f := range stack {
		names[i] = strings.TrimPrefix(f, containerdModule)
	}
	return strings.Join(names, " < ")
}
