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
	// nameless is the number of goroutines that have not begun, whose function is
	// unknown.
	nameless int
}

// lookItself is the goroutine that containerd's server starts for each request, also for
// the request of this profile.
const lookItself = "net/http.(*connReader).backgroundRead"

// notBegun returns how many have not begun, except for the request's own.
func (g goroutines) notBegun() int {
	if slices.ContainsFunc(g.held, func(h Held) bool { return h.Root == lookItself }) {
		return g.nameless
	}
	return max(0, g.nameless-1)
}

// parseGoroutines parses a goroutine profile in its text form (runtime/pprof, debug=1).
// For each stack it has the number of goroutines, and the functions, the innermost first.
//
//	goroutine profile: total 34
//	2 @ 0x43ddee 0x40a6c5
//	# labels: {"key":"value"}
//	#	0x8a1	net/http.(*conn).serve+0x1f4	/usr/lib/go/src/net/http/server.go:1991
//
// It leaves out functions of package runtime at the inner end. A goroutine that has not
// begun may have no function there.
func parseGoroutines(r io.Reader) (g goroutines, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	const head = "goroutine profile: total "
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), head) {
		return g, fmt.Errorf("no goroutine profile: it begins with %q", cut(lines.Text()))
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
				return g, fmt.Errorf("goroutine profile: how many are %q", cut(line))
			}
		}
	}
	end()
	if err := lines.Err(); err != nil {
		return g, fmt.Errorf("goroutine profile: %w", err)
	}
	if sum != total {
		return g, fmt.Errorf("the goroutine profile tells of %d, and %d are in it", total, sum)
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

// numbered matches the suffix of a function that the compiler has made: a function
// without a name, or a wrapper. It changes with each edit.
var numbered = regexp.MustCompile(`(\.(func|gowrap|deferwrap)?[0-9]+|-fm|-range[0-9]+)+$`)

// The prefixes of containerd's own functions, and of the generated ones.
const (
	containerdModule = "github.com/containerd/containerd/"
	generated        = containerdModule + "api/"
)

// short returns a function's name without the parts that change with each edit.
func short(function string) string {
	name, containerds := strings.CutPrefix(numbered.ReplaceAllString(function, ""), containerdModule)
	if containerds {
		return strings.TrimPrefix(name, "v2/")
	}
	return name
}

// goroutine returns the kind under which a stack is counted.
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

// stackText returns the functions of a stack in a line, for a person. Numbers of the
// compiler do not matter here.
func stackText(stack []string) string {
	names := make([]string, len(stack))
	for i, f := range stack {
		names[i] = strings.TrimPrefix(f, containerdModule)
	}
	return strings.Join(names, " < ")
}
